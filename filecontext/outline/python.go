package outline

import "strings"

func pythonGrammar() *grammar {
	return &grammar{
		rules: map[string]rule{
			"import_statement":      {read: pythonImport},
			"import_from_statement": {read: pythonFrom},
			"class_definition":      {kind: "class", within: true},
			"function_definition":   {kind: "func"},
			"decorated_definition":  within,
			"expression_statement":  {read: pythonAssignment},
			"type_alias_statement":  {read: pythonType},
			// Definitions under a condition of the module or the class.
			"block if_statement elif_clause else_clause try_statement except_clause finally_clause with_statement": within,
		},
		names: "identifier",
		locals: `parameters. typed_parameter. default_parameter.name typed_default_parameter.name lambda_parameters.
			assignment.left for_statement.left for_in_clause.left as_pattern_target. keyword_argument.name
			pattern_list. tuple_pattern. list_splat_pattern. dictionary_splat_pattern. named_expression.name`,
	}
}

func pythonType(x *extraction, n int, at place) {
	name, _, _ := strings.Cut(x.content(x.field(n, "left")), "[")
	x.symbol("type", name, n, x.field(n, "right"), at)
}

func pythonImport(x *extraction, n int, _ place) {
	for child := range x.children(n) {
		if x.kind(child) == "aliased_import" {
			child = x.field(child, "name")
		}
		x.addImport(x.content(child), n)
	}
}

func pythonFrom(x *extraction, n int, _ place) {
	var names []string
	for child := range x.children(n) {
		if x.fieldName(child) != "name" {
			continue
		}
		if x.kind(child) == "aliased_import" {
			child = x.field(child, "name")
		}
		if len(names) <= MaxImports {
			names = append(names, x.content(child))
		}
	}
	x.addImport(x.content(x.field(n, "module_name")), n, names...)
}

// pythonAssignment adds the variables of a module; those of a class are its attributes.
func pythonAssignment(x *extraction, n int, at place) {
	assignment := x.child(n, "assignment")
	left := x.field(assignment, "left")
	if at.member || x.kind(left) != "identifier" {
		return
	}
	name, kind := x.content(left), "var"
	if strings.ToUpper(name) == name {
		kind = "const"
	}
	x.variable(kind, name, assignment, x.field(assignment, "right"), at)
}
