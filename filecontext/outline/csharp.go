package outline

import "strings"

func csharpGrammar() *grammar {
	return &grammar{
		opens: "{", closes: "}",
		rules: map[string]rule{
			"using_directive":                   {read: csharpUsing},
			"namespace_declaration":             {kind: "namespace", within: true},
			"file_scoped_namespace_declaration": {kind: "namespace"},
			"class_declaration":                 {kind: "class", within: true},
			"struct_declaration":                {kind: "struct", within: true},
			"interface_declaration":             {kind: "interface", within: true},
			"record_declaration":                {kind: "record", within: true},
			"enum_declaration":                  {kind: "enum"},
			"delegate_declaration":              {kind: "type"},
			"method_declaration constructor_declaration destructor_declaration local_function_statement": {kind: "func"},
			"operator_declaration conversion_operator_declaration":                                       {read: csharpOperator},
			"indexer_declaration":                       {read: csharpIndexer},
			"property_declaration":                      {kind: "property", body: "accessors value"},
			"event_declaration":                         {kind: "property", body: "accessors value"},
			"field_declaration event_field_declaration": {read: csharpField},
			"declaration_list global_statement preproc_if preproc_else preproc_elif preproc_region": within,
		},
		dropped: "attribute_list constructor_initializer",
		names:   "identifier",
		locals: `parameter.name variable_declarator.name variable_declarator. type_parameter.name type_parameter.
			foreach_statement.left catch_declaration.name declaration_pattern.name declaration_expression.name
			implicit_parameter. using_directive.name file_scoped_namespace_declaration.name
			namespace_declaration.name`,
	}
}

// csharpUsing adds an import; the name of an alias is no part of it.
func csharpUsing(x *extraction, n int, _ place) {
	path := ""
	for child := range x.children(n) {
		if x.fieldName(child) != "name" {
			path = x.content(child)
		}
	}
	if path == "" {
		path = x.content(x.field(n, "name"))
	}
	x.addImport(path, n)
}

// csharpOperator names an operator by its sign or, for a conversion, its type.
func csharpOperator(x *extraction, n int, at place) {
	_, name, _ := strings.Cut(x.content(n), "operator")
	name, _, _ = strings.Cut(name, "(")
	x.symbol("func", "operator "+strings.TrimSpace(name), n, x.field(n, "body"), at)
}

func csharpIndexer(x *extraction, n int, at place) {
	x.symbol("property", "this", n, x.field(n, "accessors"), at)
}

// csharpField adds constants and events; other fields are part of their type.
func csharpField(x *extraction, n int, at place) {
	kind := "const"
	if x.kind(n) == "event_field_declaration" {
		kind = "property"
	} else if !csharpConstant(x, n) {
		return
	}
	for d := range x.children(x.child(n, "variable_declaration")) {
		if x.kind(d) != "variable_declarator" {
			continue
		}
		name := x.field(d, "name")
		if name == none {
			name = x.child(d, "identifier")
		}
		x.variable(kind, x.content(name), n, none, at)
	}
}

func csharpConstant(x *extraction, n int) bool {
	var modifiers strings.Builder
	for child := range x.children(n) {
		if x.kind(child) == "modifier" {
			modifiers.WriteString(x.content(child) + " ")
		}
	}
	m := " " + modifiers.String()
	return strings.Contains(m, " const ") || strings.Contains(m, " static ") && strings.Contains(m, " readonly ")
}
