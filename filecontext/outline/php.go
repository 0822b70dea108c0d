package outline

import "strings"

func phpGrammar() *grammar {
	return &grammar{
		opens: "{", closes: "}",
		rules: map[string]rule{
			"namespace_definition":                   {read: phpNamespace},
			"namespace_use_declaration":              {read: phpUse},
			"class_declaration":                      {kind: "class", within: true},
			"interface_declaration":                  {kind: "interface", within: true},
			"trait_declaration":                      {kind: "trait", within: true},
			"enum_declaration":                       {kind: "enum", within: true},
			"function_definition method_declaration": {kind: "func"},
			"const_declaration":                      {read: phpConstant},
			"expression_statement":                   {read: phpRequire},
			"compound_statement if_statement else_clause else_if_clause colon_block": within,
		},
		prefix:  "<?php ",
		dropped: "attribute_list",
		names:   "name",
		locals:  "variable_name. namespace_name.",
	}
}

func phpNamespace(x *extraction, n int, at place) {
	body := x.field(n, "body")
	x.symbol("namespace", x.content(x.field(n, "name")), n, body, at)
	if body != none {
		x.members("namespace", n, body, at)
	}
}

// phpUse adds one import for each name, joined with the prefix of a group.
func phpUse(x *extraction, n int, _ place) {
	prefix := ""
	clauses := n
	if group := x.child(n, "namespace_use_group"); group != none {
		prefix = x.content(x.child(n, "namespace_name")) + `\`
		clauses = group
	}
	for clause := range x.children(clauses) {
		if kind := x.kind(clause); kind != "namespace_use_clause" && kind != "namespace_use_group_clause" {
			continue
		}
		if name := x.child(clause, "qualified_name", "name", "namespace_name"); name != none {
			x.addImport(prefix+strings.TrimPrefix(x.content(name), `\`), clause)
		}
	}
}

func phpConstant(x *extraction, n int, at place) {
	for element := range x.children(n) {
		if x.kind(element) == "const_element" {
			x.variable("const", x.content(x.child(element, "name")), n, none, at)
		}
	}
}

// phpRequire adds an import for a file that is included by a constant path.
func phpRequire(x *extraction, n int, _ place) {
	call := x.child(n, "require_once_expression", "require_expression", "include_once_expression", "include_expression")
	if call == none {
		return
	}
	for i := call + 1; i < int(x.nodes[call].after); i++ {
		switch x.kind(i) {
		case "variable_name":
			return
		case "string", "encapsed_string":
			path := unquoted(x.content(i))
			if strings.Contains(x.content(call), "__DIR__") {
				path = "./" + strings.TrimPrefix(path, "/")
			}
			if !strings.ContainsAny(path, "${") {
				x.addImport(path, n)
			}
			return
		}
	}
}
