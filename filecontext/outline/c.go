package outline

import "strings"

// cGrammar is that of C and C++.
func cGrammar() *grammar {
	return &grammar{
		opens: "{", closes: "}",
		rules: map[string]rule{
			"preproc_include":      {read: cInclude},
			"preproc_def":          {read: cMacro},
			"preproc_function_def": {kind: "macro", body: "value"},
			"preproc_if preproc_ifdef preproc_else preproc_elif preproc_elifdef linkage_specification declaration_list field_declaration_list": within,
			"namespace_definition": {read: cNamespace},
			"template_declaration": {within: true, wrap: true},
			"class_specifier struct_specifier union_specifier enum_specifier": {read: cType},
			"type_definition":               {read: cTypedef},
			"alias_declaration":             {kind: "type", body: "none"},
			"concept_definition":            {kind: "type", body: "none"},
			"function_definition":           {read: cFunction},
			"declaration field_declaration": {read: cDeclaration},
		},
		dropped: "attribute_declaration field_initializer_list default_method_clause",
		names:   "identifier type_identifier field_identifier namespace_identifier",
		locals: `parameter_declaration.declarator pointer_declarator.declarator init_declarator.declarator
			optional_parameter_declaration.declarator reference_declarator. type_parameter_declaration.
			declaration.declarator field_declaration.declarator array_declarator.declarator field_designator.
			for_range_loop.declarator preproc_params. preproc_def.name enumerator.name
			structured_binding_declarator.`,
	}
}

// cInclude adds a header; those of the system keep their angle brackets.
func cInclude(x *extraction, n int, _ place) {
	x.addImport(unquoted(x.content(x.field(n, "path"))), n)
}

// cMacro adds a constant of the preprocessor. One without a value only guards an include.
func cMacro(x *extraction, n int, at place) {
	if value := x.field(n, "value"); value != none {
		x.variable("macro", x.content(x.field(n, "name")), n, value, at)
	}
}

func cNamespace(x *extraction, n int, at place) {
	name, body := x.content(x.field(n, "name")), x.field(n, "body")
	if name == "" { // its content is visible in the whole file
		x.inside(body, at)
		return
	}
	x.symbol("namespace", name, n, body, at)
	x.members("namespace", n, body, at)
}

// cType adds a type that is defined here, not only named.
func cType(x *extraction, n int, at place) {
	body := x.field(n, "body")
	name := x.field(n, "name")
	if body == none || name == none {
		return
	}
	cTypeNamed(x, x.content(name), n, n, body, at)
}

func cTypeNamed(x *extraction, name string, n, of, body int, at place) {
	kind := strings.TrimSuffix(x.kind(of), "_specifier")
	x.symbol(kind, name, n, body, at)
	if kind != "enum" {
		x.members(kind, of, body, at)
	}
}

// cTypedef adds a name for a type. A type without a name of its own that is defined here gets this one.
func cTypedef(x *extraction, n int, at place) {
	of := x.field(n, "type")
	body := x.field(of, "body")
	named := false
	if body != none && x.field(of, "name") != none {
		x.visit(of, at)
		named = true
	}
	for d := range x.children(n) {
		if x.fieldName(d) != "declarator" {
			continue
		}
		name := x.content(cDeclared(x, d).name)
		switch {
		case body == none:
			x.symbol("type", name, n, none, at)
		case named:
			signature, start := x.signature(n, x.start(body), at)
			x.add("type", name, signature+" "+x.content(d), start, x.end(n), at.depth)
		default:
			cTypeNamed(x, name, n, of, body, at)
			named = true
		}
	}
}

// declared is the result of reading a declarator.
type declared struct {
	name     int // node, or none
	function bool
}

// cDeclared finds the name in a declarator, below pointers, arrays and parameters.
func cDeclared(x *extraction, d int) declared {
	function := false
	for d != none {
		switch x.kind(d) {
		case "identifier", "field_identifier", "type_identifier", "primitive_type", "qualified_identifier", "destructor_name", "operator_name", "operator_cast", "template_function", "template_method", "template_type":
			return declared{d, function || x.kind(d) == "operator_cast"}
		case "function_declarator", "abstract_function_declarator":
			function = true
		case "parenthesized_declarator":
			function = false // a pointer to a function is a variable
		case "pointer_declarator", "reference_declarator", "array_declarator", "init_declarator", "attributed_declarator":
		default:
			return declared{none, false}
		}
		next := x.field(d, "declarator")
		if next == none {
			next = x.firstDeclarator(d)
		}
		d = next
	}
	return declared{none, false}
}

// firstDeclarator returns the first child that can be a declarator; some kinds have it in no field.
func (x *extraction) firstDeclarator(n int) int {
	for i := range x.children(n) {
		if kind := x.kind(i); strings.HasSuffix(kind, "declarator") || strings.HasSuffix(kind, "identifier") || kind == "operator_name" || kind == "destructor_name" {
			return i
		}
	}
	return none
}

func cFunction(x *extraction, n int, at place) {
	d := cDeclared(x, x.field(n, "declarator"))
	name := cName(x, d.name)
	kind := "func"
	if at.member || strings.Contains(name, "::") {
		kind = "method"
	}
	if of := x.field(n, "type"); x.field(of, "body") != none {
		x.visit(of, at)
	}
	x.symbol(kind, name, n, x.field(n, "body"), at)
}

// cName returns a name without the parentheses of `operator bool()`.
func cName(x *extraction, name int) string {
	text := x.content(name)
	if i := strings.Index(text, "("); i > 0 && !strings.HasSuffix(text[:i], "operator") {
		return text[:i]
	}
	return text
}

// cDeclaration adds prototypes, the types that a declaration defines, and variables outside of types.
func cDeclaration(x *extraction, n int, at place) {
	if of := x.field(n, "type"); x.field(of, "body") != none {
		x.visit(of, place{depth: at.depth, nesting: at.nesting + 1, member: at.member, wrapper: at.wrapper})
	}
	for d := range x.children(n) {
		if x.fieldName(d) != "declarator" {
			continue
		}
		found := cDeclared(x, d)
		name := cName(x, found.name)
		switch {
		case name == "":
		case found.function:
			kind := "func"
			if at.member {
				kind = "method"
			}
			x.symbol(kind, name, n, none, at)
		case !at.member:
			kind := "var"
			if words := " " + x.content(x.child(n, "type_qualifier")) + " "; strings.Contains(words, " const ") || strings.Contains(words, " constexpr ") {
				kind = "const"
			}
			x.variable(kind, name, n, x.field(d, "value"), at)
		}
	}
}
