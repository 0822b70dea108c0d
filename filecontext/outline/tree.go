package outline

import "iter"

// A tree is a syntax tree as the module returns it: named nodes in the order of the text, a parent before its children.
// A node is named by its index; none is the index of no node.
type tree struct {
	text    string
	nodes   []node
	names   *kinds
	partial bool
}

type node struct {
	kind, field uint16
	start, end  int32 // offsets in the text
	depth       int32
	after       int32 // index of the first node that is not inside
	parent      int32
}

const (
	none      = -1
	errorKind = 0xffff // of a node with text that the grammar does not have
)

// link computes parents and ends of subtrees.
func (t *tree) link() {
	var open []int32 // ancestors of the current node
	for i := range t.nodes {
		n := &t.nodes[i]
		n.parent = none
		for len(open) > 0 && t.nodes[open[len(open)-1]].depth >= n.depth {
			t.nodes[open[len(open)-1]].after = int32(i)
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			n.parent = open[len(open)-1]
		}
		open = append(open, int32(i))
	}
	for _, i := range open {
		t.nodes[i].after = int32(len(t.nodes))
	}
}

// children yields the named children of a node.
func (t *tree) children(parent int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if parent == none {
			return
		}
		for i := parent + 1; i < int(t.nodes[parent].after); i = int(t.nodes[i].after) {
			if !yield(i) {
				return
			}
		}
	}
}

// kind returns the name of a node's kind, "ERROR" for text that the grammar does not have, and "" for none.
func (t *tree) kind(i int) string {
	switch {
	case i == none:
		return ""
	case t.nodes[i].kind == errorKind:
		return "ERROR"
	case int(t.nodes[i].kind) < len(t.names.kind):
		return t.names.kind[t.nodes[i].kind]
	}
	return ""
}

// fieldName returns the field of its parent that a node is, or "".
func (t *tree) fieldName(i int) string {
	if f := int(t.nodes[i].field); f < len(t.names.field) {
		return t.names.field[f]
	}
	return ""
}

// field returns the first child in a field, or none.
func (t *tree) field(parent int, name string) int {
	for i := range t.children(parent) {
		if t.fieldName(i) == name {
			return i
		}
	}
	return none
}

// child returns the first child of one of the kinds, or none.
func (t *tree) child(parent int, kinds ...string) int {
	for i := range t.children(parent) {
		for _, kind := range kinds {
			if t.kind(i) == kind {
				return i
			}
		}
	}
	return none
}

// content returns the text of a node, "" for none.
func (t *tree) content(i int) string {
	if i == none {
		return ""
	}
	n := t.nodes[i]
	return t.text[n.start:max(n.start, n.end)]
}

func (t *tree) start(i int) int { return int(t.nodes[i].start) }
func (t *tree) end(i int) int   { return int(t.nodes[i].end) }
