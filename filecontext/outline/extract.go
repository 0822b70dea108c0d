package outline

import (
	"cmp"
	"strings"
	"sync"
)

// An extraction reads an outline from a syntax tree.
type extraction struct {
	*tree
	b     *builder
	shift int // offset in the file minus offset in the parsed text
}

// A place is the position of a node in the search for definitions.
type place struct {
	depth   int  // number of symbols around it
	nesting int  // number of nodes around it that were searched
	member  bool // the symbol around it is a type
	wrapper int  // the node where signatures start, if not none
}

// extract adds the symbols, imports and uses of a tree to an outline; shift is the offset of the parsed text in the file.
func extract(b *builder, t *tree, shift int) {
	x := &extraction{tree: t, b: b, shift: shift}
	b.out.Partial = b.out.Partial || t.partial
	if len(t.nodes) == 0 {
		return
	}
	x.inside(0, place{wrapper: none})
	for i, n := range t.nodes {
		if n.kind == errorKind || !t.names.name[n.kind] || n.parent == none {
			continue
		}
		if t.names.local[local{t.kind(int(n.parent)), t.fieldName(i)}] {
			b.defined[strings.Clone(t.content(i))] = true
		} else {
			b.use(t.content(i))
		}
	}
}

// inside visits the children of a node.
func (x *extraction) inside(n int, at place) {
	if at.nesting++; at.nesting > maxNesting {
		x.b.out.Partial = true
		return
	}
	for child := range x.children(n) {
		x.visit(child, at)
	}
}

func (x *extraction) visit(n int, at place) {
	r := x.rule(n)
	switch {
	case r == nil:
	case r.read != nil:
		r.read(x, n, at)
	case r.kind != "":
		x.define(n, r, at)
	default:
		if !r.wrap {
			at.wrapper = none
		} else if at.wrapper == none {
			at.wrapper = n
		}
		x.inside(n, at)
	}
}

func (x *extraction) rule(n int) *rule {
	if k := x.nodes[n].kind; k != errorKind {
		return x.names.rule[k]
	}
	return &within
}

// define adds the symbol of a node and those inside.
func (x *extraction) define(n int, r *rule, at place) {
	body := none
	for _, field := range strings.Fields(cmp.Or(r.body, "body")) {
		if body == none {
			body = x.field(n, field)
		}
	}
	x.symbol(r.kind, x.content(x.field(n, cmp.Or(r.name, "name"))), n, body, at)
	if r.within {
		x.members(r.kind, n, body, at)
	}
}

// members visits the definitions in the body of a symbol, or in the symbol itself if syntax errors hide its body.
func (x *extraction) members(kind string, n, body int, at place) {
	if body == none {
		body = n
	}
	x.inside(body, place{depth: at.depth + 1, nesting: at.nesting, member: isType(kind), wrapper: none})
}

// isType reports kinds whose functions are methods.
func isType(kind string) bool {
	switch kind {
	case "class", "enum", "impl", "interface", "record", "struct", "trait", "union":
		return true
	}
	return false
}

// symbol adds a symbol whose signature ends before its body.
func (x *extraction) symbol(kind, name string, n, body int, at place) {
	end := x.end(n)
	if body != none {
		end = x.start(body)
	}
	x.symbolUntil(kind, name, n, end, at)
}

// symbolUntil adds a symbol whose signature ends at an offset.
func (x *extraction) symbolUntil(kind, name string, n, end int, at place) {
	if kind == "func" && at.member {
		kind = "method"
	}
	if x.partial && isStatement(name) || x.b.full() {
		return
	}
	signature, start := x.signature(n, end, at)
	x.add(kind, name, signature, start, x.end(n), at.depth)
}

// isStatement reports keywords that look like names of functions after a syntax error.
func isStatement(name string) bool {
	return name == "if" || name == "for" || name == "while" || name == "switch"
}

func (x *extraction) add(kind, name, signature string, start, end, depth int) {
	x.b.add(kind, name, signature, start+x.shift, end+x.shift, depth)
}

func (x *extraction) addImport(path string, n int, names ...string) {
	x.b.addImport(path, x.start(n)+x.shift, names...)
}

// variable adds a constant or a variable. The signature omits a long value.
func (x *extraction) variable(kind, name string, n, value int, at place) {
	if v := x.content(value); len(v) <= 60 && !strings.ContainsAny(v, "\r\n") {
		value = none
	}
	x.symbol(kind, name, n, value, at)
}

// maxSearched limits the text of a signature with its comments and annotations, in bytes.
const maxSearched = 64 << 10

// signature returns the text of a definition up to an offset, without comments and annotations, and where it starts.
func (x *extraction) signature(n, end int, at place) (string, int) {
	first := n
	if at.wrapper != none {
		first = at.wrapper
	}
	var text strings.Builder
	from, start := x.start(first), -1
	piece := func(to int) {
		if from >= to {
			return
		}
		s := x.text[from:to]
		if rest := strings.TrimLeft(s, " \t\r\n\f"); start < 0 && rest != "" {
			start = to - len(rest)
		}
		text.WriteString(s)
		text.WriteByte(' ')
	}
	end = min(end, from+maxSearched)
	for i := first + 1; i < int(x.nodes[n].after) && x.start(i) < end && text.Len() < 8*MaxSignature; i++ {
		k := x.nodes[i].kind
		if k == errorKind {
			end = max(x.start(i), x.start(n))
			break
		}
		if x.names.dropped[k] {
			piece(x.start(i))
			from = max(from, x.end(i))
		}
	}
	piece(min(end, from+8*MaxSignature))
	if start < 0 {
		start = x.start(n)
	}
	return trimSignature(text.String()), start
}

// trimSignature returns a signature on one line without a trailing brace, colon, semicolon or equals sign.
func trimSignature(s string) string {
	s = tidy().Replace(oneLine(s, 8*MaxSignature))
	return strings.TrimRight(s, " {;:,=\\")
}

// tidy removes the gaps that line breaks and annotations leave in parentheses.
var tidy = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("( ", "(", ", )", ")", " )", ")", "[ ", "[", " ]", "]")
})

// unquoted returns the text of a string without its quotes.
func unquoted(s string) string { return strings.Trim(s, "\"'`") }
