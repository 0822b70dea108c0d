package outline

import "strings"

func rustGrammar() *grammar {
	return &grammar{
		opens: "{", closes: "}",
		rules: map[string]rule{
			"use_declaration":                       {read: rustUse},
			"extern_crate_declaration":              {read: rustCrate},
			"mod_item":                              {read: rustModule},
			"struct_item":                           {kind: "struct"},
			"union_item":                            {kind: "union"},
			"enum_item":                             {kind: "enum"},
			"trait_item":                            {kind: "trait", within: true},
			"impl_item":                             {read: rustImpl},
			"function_item function_signature_item": {kind: "func"},
			"const_item static_item":                {read: rustConstant},
			"type_item associated_type":             {kind: "type"},
			"macro_definition":                      {read: rustMacro},
			"foreign_mod_item declaration_list":     within,
		},
		dropped: "attribute_item inner_attribute_item",
		names:   "identifier type_identifier field_identifier",
		locals: `parameter.pattern let_declaration.pattern closure_parameters. type_parameters. type_parameter.name
			for_expression.pattern tuple_pattern. match_pattern. ref_pattern. mut_pattern. field_declaration.name
			captured_pattern. self_parameter. let_condition.pattern use_as_clause.alias`,
	}
}

func rustUse(x *extraction, n int, at place) {
	rustPaths(x, x.field(n, "argument"), "", n, at.nesting)
}

// rustPaths adds one import for each path of a use declaration.
func rustPaths(x *extraction, n int, prefix string, declaration, nesting int) {
	if nesting > maxNesting || len(prefix) > MaxName {
		x.b.out.Partial = true
		return
	}
	switch x.kind(n) {
	case "":
	case "scoped_use_list":
		if path := x.content(x.field(n, "path")); path != "" {
			prefix += path + "::"
		}
		rustPaths(x, x.field(n, "list"), prefix, declaration, nesting+1)
	case "use_list":
		for child := range x.children(n) {
			rustPaths(x, child, prefix, declaration, nesting+1)
		}
	case "use_as_clause":
		rustPaths(x, x.field(n, "path"), prefix, declaration, nesting+1)
	case "self":
		x.addImport(strings.TrimSuffix(prefix, "::"), declaration)
	case "line_comment", "block_comment":
	default:
		x.addImport(prefix+x.content(n), declaration)
	}
}

func rustCrate(x *extraction, n int, _ place) {
	x.addImport(x.content(x.field(n, "name")), n)
}

// rustModule adds a module. One without a body is another file, so it is an import too.
func rustModule(x *extraction, n int, at place) {
	name, body := x.content(x.field(n, "name")), x.field(n, "body")
	x.symbol("module", name, n, body, at)
	if body == none {
		x.addImport("self::"+name, n)
		return
	}
	x.members("module", n, body, at)
}

// rustImpl adds an implementation, named by its type, or by its trait and its type.
func rustImpl(x *extraction, n int, at place) {
	name := rustType(x, x.field(n, "type"))
	if trait := x.field(n, "trait"); trait != none {
		name = rustType(x, trait) + " for " + name
	}
	body := x.field(n, "body")
	x.symbol("impl", name, n, body, at)
	x.members("impl", n, body, at)
}

// rustType returns the name of a type without its arguments.
func rustType(x *extraction, n int) string {
	if x.kind(n) == "generic_type" {
		n = x.field(n, "type")
	}
	return x.content(n)
}

func rustConstant(x *extraction, n int, at place) {
	kind := "const"
	if x.kind(n) == "static_item" {
		kind = "var"
	}
	x.variable(kind, x.content(x.field(n, "name")), n, x.field(n, "value"), at)
}

func rustMacro(x *extraction, n int, at place) {
	x.symbol("macro", x.content(x.field(n, "name")), n, x.child(n, "macro_rule"), at)
}
