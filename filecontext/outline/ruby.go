package outline

import "strings"

func rubyGrammar() *grammar {
	return &grammar{
		opens: "\n", closes: "end",
		rules: map[string]rule{
			"module":                  {read: rubyType},
			"class":                   {read: rubyType},
			"singleton_class":         within,
			"method singleton_method": {read: rubyMethod},
			"alias":                   {kind: "method"},
			"call":                    {read: rubyCall},
			"assignment":              {read: rubyConstant},
			"body_statement begin then if unless else elsif": within,
		},
		names: "identifier constant",
		locals: `method_parameters. block_parameters. lambda_parameters. optional_parameter.name keyword_parameter.name
			splat_parameter.name hash_splat_parameter.name block_parameter.name assignment.left
			operator_assignment.left left_assignment_list. exception_variable. for.pattern`,
	}
}

func rubyType(x *extraction, n int, at place) {
	kind, name, body := x.kind(n), x.field(n, "name"), x.field(n, "body")
	last := name
	if super := x.field(n, "superclass"); super != none {
		last = super
	}
	if last == none {
		return
	}
	x.symbolUntil(kind, x.content(name), n, x.end(last), at)
	x.members(kind, n, body, at)
}

func rubyMethod(x *extraction, n int, at place) {
	name, body := x.content(x.field(n, "name")), x.field(n, "body")
	kind := "func"
	if at.depth > 0 { // a module has methods as well
		kind = "method"
	}
	if object := x.field(n, "object"); object != none {
		name = x.content(object) + "." + name
	}
	x.symbol(kind, name, n, body, at)
}

// rubyCall reads the calls that load files or define methods.
func rubyCall(x *extraction, n int, at place) {
	arguments := x.field(n, "arguments")
	method := x.content(x.field(n, "method"))
	switch method {
	case "require", "require_relative", "load", "autoload":
		if file := x.lastChild(arguments, "string"); file != none {
			path := unquoted(x.content(file))
			if method == "require_relative" && !strings.HasPrefix(path, ".") {
				path = "./" + path
			}
			x.addImport(path, n)
		}
	case "attr_accessor", "attr_reader", "attr_writer":
		for name := range x.children(arguments) {
			if x.kind(name) == "simple_symbol" {
				x.add("property", strings.TrimPrefix(x.content(name), ":"), method+" "+x.content(name), x.start(name), x.end(name), at.depth)
			}
		}
	case "define_method":
		if name := x.child(arguments, "simple_symbol"); name != none {
			x.symbol("method", strings.TrimPrefix(x.content(name), ":"), n, x.field(n, "block"), at)
		}
	case "private", "protected", "public", "module_function", "private_class_method", "memoize":
		at.wrapper = n
		x.inside(arguments, at)
	}
}

// lastChild returns the last child of a kind, or none.
func (t *tree) lastChild(parent int, kind string) int {
	last := none
	for i := range t.children(parent) {
		if t.kind(i) == kind {
			last = i
		}
	}
	return last
}

func rubyConstant(x *extraction, n int, at place) {
	left := x.field(n, "left")
	if kind := x.kind(left); kind != "constant" && kind != "scope_resolution" {
		return
	}
	x.variable("const", x.content(left), n, x.field(n, "right"), at)
}
