package outline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A builder collects an outline within the limits.
type builder struct {
	text    string
	lines   []int // offset of the start of each line
	out     Outline
	uses    map[string]bool
	defined map[string]bool // names that are no uses
}

func newBuilder(language, text string) *builder {
	b := &builder{text: text, uses: make(map[string]bool), defined: make(map[string]bool)}
	b.out.Language = language
	b.lines = append(b.lines, 0)
	for i := range len(text) {
		if text[i] == '\n' {
			b.lines = append(b.lines, i+1)
		}
	}
	return b
}

// line returns the number of the line that contains an offset, counted from 1.
func (b *builder) line(offset int) int {
	n, found := slices.BinarySearch(b.lines, min(max(offset, 0), len(b.text)))
	if found {
		n++
	}
	return n
}

// add adds a symbol that extends from the offset start up to end, exclusive.
func (b *builder) add(kind, name, signature string, start, end, depth int) {
	name = oneLine(name, MaxName)
	if name == "" {
		return
	}
	b.defined[name] = true
	if i := strings.LastIndexAny(name, ":."); i >= 0 {
		b.defined[name[i+1:]] = true
	}
	if b.full() {
		return
	}
	first := b.line(start)
	b.out.Symbols = append(b.out.Symbols, Symbol{
		Kind: kind, Name: name, Signature: oneLine(signature, MaxSignature),
		Line: first, EndLine: max(first, b.line(end-1)), Depth: depth,
	})
}

// full reports whether no symbol can be added any more.
func (b *builder) full() bool {
	if len(b.out.Symbols) < MaxSymbols {
		return false
	}
	b.out.Partial = true
	return true
}

func (b *builder) addImport(path string, offset int, names ...string) {
	path = oneLine(path, MaxName)
	if path == "" {
		return
	}
	if len(b.out.Imports) >= MaxImports || len(names) > MaxImports {
		b.out.Partial = true
		return
	}
	for i, name := range names {
		names[i] = oneLine(name, MaxName)
	}
	b.out.Imports = append(b.out.Imports, Import{Path: path, Names: names, Line: b.line(offset)})
}

// use adds a name that the text mentions, unless it has only one byte or is too long.
func (b *builder) use(name string) {
	if len(name) < 2 || len(name) > MaxName || b.uses[name] || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return
	}
	if len(b.uses) >= MaxUses {
		b.out.Partial = true
		return
	}
	b.uses[strings.Clone(name)] = true
}

func (b *builder) outline() *Outline {
	for name := range b.defined {
		delete(b.uses, name)
	}
	b.out.Uses = slices.Sorted(maps.Keys(b.uses))
	// The name for a type can start before the definition of the type, which was found first.
	slices.SortStableFunc(b.out.Imports, func(i, j Import) int { return cmp.Compare(i.Line, j.Line) })
	slices.SortStableFunc(b.out.Symbols, func(s, t Symbol) int { return cmp.Compare(s.Line, t.Line) })
	return &b.out
}

// unprintable reports runes that would break a line, hide text or reorder it.
func unprintable(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r)
}

// oneLine returns a text as one printable line of at most limit bytes. White space and unprintable runes become one
// space; the result shares no memory with the text.
func oneLine(text string, limit int) string {
	var line strings.Builder
	gap := false
	for _, r := range text {
		if unicode.IsSpace(r) || unprintable(r) {
			gap = line.Len() > 0
			continue
		}
		need := utf8.RuneLen(r)
		if gap {
			need++
		}
		if line.Len()+need > limit-len("…") {
			line.WriteString("…")
			break
		}
		if gap {
			line.WriteByte(' ')
			gap = false
		}
		line.WriteRune(r)
	}
	return line.String()
}
