package outline

// scriptGrammar is that of JavaScript, TypeScript and TSX.
func scriptGrammar() *grammar {
	return &grammar{
		opens: "{", closes: "}",
		rules: map[string]rule{
			"import_statement":                             {read: scriptImport},
			"export_statement":                             {read: scriptExport},
			"ambient_declaration":                          {within: true, wrap: true},
			"class_declaration abstract_class_declaration": {kind: "class", within: true},
			"interface_declaration":                        {kind: "interface", within: true},
			"enum_declaration":                             {kind: "enum"},
			"type_alias_declaration":                       {kind: "type", body: "none"},
			"internal_module module":                       {read: scriptNamespace},
			"function_declaration generator_function_declaration function_signature": {kind: "func"},
			"method_definition method_signature abstract_method_signature":           {kind: "func"},
			"public_field_definition field_definition":                               {read: scriptField},
			"lexical_declaration variable_declaration":                               {read: scriptVariables},
			"expression_statement":                                                   {read: scriptStatement},
			"statement_block":                                                        within,
		},
		dropped: "decorator",
		names:   "identifier type_identifier property_identifier shorthand_property_identifier",
		locals: `variable_declarator.name required_parameter.pattern optional_parameter.pattern formal_parameters.
			arrow_function.parameter type_parameter.name pair.key object_pattern. array_pattern.
			catch_clause.parameter for_in_statement.left rest_pattern. property_signature.name
			public_field_definition.name field_definition.property import_specifier.alias namespace_import.`,
	}
}

func scriptNamespace(x *extraction, n int, at place) {
	body := x.field(n, "body")
	x.symbol("namespace", unquoted(x.content(x.field(n, "name"))), n, body, at)
	x.members("namespace", n, body, at)
}

func scriptImport(x *extraction, n int, _ place) {
	source := x.field(n, "source")
	if source == none { // import x = require("y")
		source = x.field(x.child(n, "import_require_clause"), "source")
	}
	x.addImport(unquoted(x.content(source)), n)
}

// scriptExport visits exported definitions, adds the import of `export … from`, and names the default export.
func scriptExport(x *extraction, n int, at place) {
	if source := x.field(n, "source"); source != none {
		x.addImport(unquoted(x.content(source)), n)
		return
	}
	if at.wrapper == none {
		at.wrapper = n
	}
	switch value := x.field(n, "value"); x.kind(value) {
	case "":
		x.inside(n, at)
	case "arrow_function", "function_expression", "generator_function":
		x.symbol("func", "default", value, x.field(value, "body"), at)
	case "class":
		x.symbol("class", "default", value, x.field(value, "body"), at)
		x.members("class", value, x.field(value, "body"), at)
	default:
		x.variable("const", "default", n, value, at)
	}
}

// scriptField adds a field that has a function as its value.
func scriptField(x *extraction, n int, at place) {
	value := x.field(n, "value")
	if kind := x.kind(value); kind != "arrow_function" && kind != "function_expression" {
		return
	}
	name := x.field(n, "name")
	if name == none {
		name = x.field(n, "property")
	}
	x.symbol("func", x.content(name), n, x.field(value, "body"), at)
}

// scriptVariables adds the variables of a file or a namespace.
func scriptVariables(x *extraction, n int, at place) {
	if at.wrapper == none {
		at.wrapper = n
	}
	kind := "var"
	if x.content(x.field(n, "kind")) == "const" || hasWord(x.content(n), "const") {
		kind = "const"
	}
	count := 0
	for d := range x.children(n) {
		if x.kind(d) != "variable_declarator" {
			continue
		}
		if count++; count > 1 {
			at.wrapper = none // only the first has the keyword before it
		}
		scriptVariable(x, kind, d, at)
	}
}

func scriptVariable(x *extraction, kind string, d int, at place) {
	value := x.field(d, "value")
	name := x.field(d, "name")
	if x.kind(value) == "call_expression" && x.content(x.field(value, "function")) == "require" {
		scriptRequire(x, value)
		return
	}
	if x.kind(name) != "identifier" {
		return // names taken out of an object
	}
	switch x.kind(value) {
	case "arrow_function", "function_expression", "generator_function":
		x.symbol("func", x.content(name), d, x.field(value, "body"), at)
	case "class":
		x.symbol("class", x.content(name), d, x.field(value, "body"), at)
		x.members("class", value, x.field(value, "body"), at)
	default:
		x.variable(kind, x.content(name), d, value, at)
	}
}

func scriptRequire(x *extraction, call int) {
	if file := x.child(x.field(call, "arguments"), "string"); file != none {
		x.addImport(unquoted(x.content(file)), call)
	}
}

// scriptStatement reads the statements of scripts without modules: require("x"), and exports.name = function.
func scriptStatement(x *extraction, n int, at place) {
	switch e := x.child(n, "call_expression", "assignment_expression", "internal_module"); x.kind(e) {
	case "internal_module":
		x.visit(e, at)
	case "call_expression":
		if x.content(x.field(e, "function")) == "require" {
			scriptRequire(x, e)
		}
	case "assignment_expression":
		left, right := x.field(e, "left"), x.field(e, "right")
		if x.kind(left) != "member_expression" {
			return
		}
		switch x.kind(right) {
		case "arrow_function", "function_expression", "generator_function":
			x.symbol("func", x.content(left), e, x.field(right, "body"), at)
		case "class":
			x.symbol("class", x.content(left), e, x.field(right, "body"), at)
			x.members("class", right, x.field(right, "body"), at)
		}
	}
}

// hasWord reports whether a text starts with a word.
func hasWord(text, word string) bool {
	return len(text) > len(word) && text[:len(word)] == word && (text[len(word)] == ' ' || text[len(word)] == '\t' || text[len(word)] == '\n' || text[len(word)] == '\r')
}
