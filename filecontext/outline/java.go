package outline

import "strings"

func javaGrammar() *grammar {
	return &grammar{
		opens: "{", closes: "}",
		rules: map[string]rule{
			"package_declaration":                    {read: javaPackage},
			"import_declaration":                     {read: javaImport},
			"class_declaration":                      {kind: "class", within: true},
			"interface_declaration":                  {kind: "interface", within: true},
			"annotation_type_declaration":            {kind: "interface", within: true},
			"enum_declaration":                       {kind: "enum", within: true},
			"record_declaration":                     {kind: "record", within: true},
			"method_declaration":                     {kind: "func"},
			"constructor_declaration":                {kind: "func"},
			"compact_constructor_declaration":        {kind: "func"},
			"annotation_type_element_declaration":    {kind: "func"},
			"enum_body_declarations":                 within,
			"field_declaration constant_declaration": {read: javaField},
		},
		dropped: "annotation marker_annotation",
		names:   "identifier type_identifier",
		locals: `formal_parameter.name spread_parameter. catch_formal_parameter.name variable_declarator.name
			inferred_parameters. lambda_expression.parameters type_parameter. enhanced_for_statement.name
			resource.name package_declaration. instanceof_expression.name`,
	}
}

func javaPackage(x *extraction, n int, at place) {
	x.symbol("package", x.content(x.child(n, "scoped_identifier", "identifier")), n, none, at)
}

func javaImport(x *extraction, n int, _ place) {
	path := x.content(x.child(n, "scoped_identifier", "identifier"))
	if x.child(n, "asterisk") != none {
		path += ".*"
	}
	x.addImport(path, n)
}

// javaField adds constants; other fields are part of their class.
func javaField(x *extraction, n int, at place) {
	modifiers := " " + strings.Join(strings.Fields(x.content(x.child(n, "modifiers"))), " ") + " "
	if x.kind(n) == "field_declaration" && !(strings.Contains(modifiers, " static ") && strings.Contains(modifiers, " final ")) {
		return
	}
	for d := range x.children(n) {
		if x.kind(d) == "variable_declarator" {
			x.variable("const", x.content(x.field(d, "name")), n, x.field(d, "value"), at)
		}
	}
}
