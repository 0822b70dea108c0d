package outline

import "strings"

// A grammar describes how to read the outline of a language from its syntax trees. Lists are separated by spaces.
type grammar struct {
	index uint32 // in shim.c
	// rules are keyed by lists of kinds of nodes. A node without a rule is not searched.
	rules map[string]rule
	// dropped are the kinds of nodes that signatures omit, in addition to comments.
	dropped string
	// names are the kinds of nodes that are names of definitions.
	names string
	// locals are the places, as "kind.field" of the parent, of names that are not uses, because they are parameters or
	// variables. "kind." is a child without a field.
	locals string
	// prefix precedes each part of a text that is parsed on its own.
	prefix string
	// opens and closes enclose the body of a definition. They are empty if syntax errors hide no definition that a part
	// starts with.
	opens, closes string
}

// A rule describes a kind of node.
type rule struct {
	// kind is the symbol's, "" if the node is none. A func inside a type is a method.
	kind string
	// name is the field with the name, "name" by default.
	name string
	// body are fields, of which the signature omits the first that a node has, "body" by default.
	body string
	// within: the body, or the node if it is no symbol, contains definitions.
	within bool
	// wrap: signatures of definitions inside start here (`export`, `template`).
	wrap bool
	// read replaces all of this.
	read func(x *extraction, n int, at place)
}

var within = rule{within: true}

// kinds are the names of a grammar's kinds of nodes and fields, by number, and the grammar's rules for them.
type kinds struct {
	kind, field   []string
	rule          []*rule // nil without a rule
	dropped, name []bool
	local         map[local]bool
}

// local is a place of names that are no uses.
type local struct{ parent, field string }

// bind relates a grammar to the numbers that the module has for its kinds and fields.
func (g *grammar) bind(kind, field []string) *kinds {
	rules := map[string]*rule{"ERROR": &within}
	for names, r := range g.rules {
		for _, name := range strings.Fields(names) {
			rules[name] = &r
		}
	}
	k := &kinds{
		kind: kind, field: field,
		rule:    make([]*rule, len(kind)),
		dropped: among(kind, "comment line_comment block_comment "+g.dropped),
		name:    among(kind, g.names),
		local:   make(map[local]bool),
	}
	for i, name := range kind {
		k.rule[i] = rules[name]
	}
	for _, place := range strings.Fields(g.locals) {
		parent, field, _ := strings.Cut(place, ".")
		k.local[local{parent, field}] = true
	}
	return k
}

// among reports for each kind whether it is in a list.
func among(kind []string, list string) []bool {
	wanted := make(map[string]bool)
	for _, name := range strings.Fields(list) {
		wanted[name] = true
	}
	in := make([]bool, len(kind))
	for i, name := range kind {
		in[i] = wanted[name]
	}
	return in
}
