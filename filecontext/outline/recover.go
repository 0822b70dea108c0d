package outline

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxParts is the number of parts up to which a text with syntax errors is parsed in parts.
const maxParts = 2_000

// outlineTree reads the outline of a text. A syntax error can hide all that follows it, so a text with errors is also
// parsed in parts, which start where definitions usually do, and the outline with more symbols is returned.
func outlineTree(b *builder, g *grammar, parse parse) (*builder, error) {
	t, err := parse(b.text)
	if err != nil {
		return nil, err
	}
	extract(b, t, 0)
	starts := parts(b.text)
	if !t.partial || len(starts) < 2 || len(starts) > maxParts {
		return b, nil
	}

	inParts := newBuilder(b.out.Language, b.text)
	inParts.out.Partial = true
	for i, start := range starts {
		end := len(b.text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if err := outlinePart(inParts, g, parse, start, end); err != nil {
			return nil, err
		}
	}
	if len(inParts.out.Symbols) > len(b.out.Symbols) {
		return inParts, nil
	}
	return b, nil
}

// outlinePart adds a part of a text. If an error hides the definition that the part starts with, it is read without its
// body, and the symbols found in the part become its members.
func outlinePart(b *builder, g *grammar, parse parse, start, end int) error {
	part, prefix := b.text[start:end], g.prefix
	if start == 0 {
		prefix = ""
	}
	first := len(b.out.Symbols)
	t, err := parse(prefix + part)
	if err != nil {
		return err
	}
	extract(b, t, start-len(prefix))
	open := strings.Index(part, g.opens)
	if !t.partial || g.opens == "" || open < 0 || definesUntil(b.out.Symbols[first:], b.line(start+open)) {
		return nil
	}

	inside := slices.Clone(b.out.Symbols[first:])
	b.out.Symbols = b.out.Symbols[:first]
	header, err := parse(prefix + part[:open] + g.opens + g.closes)
	if err != nil {
		return err
	}
	if !header.partial {
		extract(b, header, start-len(prefix))
	}
	if len(b.out.Symbols) == first+1 {
		around := &b.out.Symbols[first]
		around.EndLine = max(around.Line, b.line(start+len(strings.TrimRight(part, " \t\r\n"))-1))
		for i := range inside {
			inside[i].Depth++
			if inside[i].Kind == "func" && isType(around.Kind) {
				inside[i].Kind = "method"
			}
		}
	}
	b.out.Symbols = append(b.out.Symbols, inside...)
	b.out.Symbols = b.out.Symbols[:min(len(b.out.Symbols), MaxSymbols)]
	return nil
}

// definesUntil reports whether a symbol that is in no other starts in a line or above.
func definesUntil(symbols []Symbol, line int) bool {
	return slices.ContainsFunc(symbols, func(s Symbol) bool { return s.Depth == 0 && s.Line <= line })
}

// parts returns the offsets of lines that start definitions, and 0: those that are not indented, after an empty line or
// the end of a definition.
func parts(text string) []int {
	starts := []int{0}
	offset, ended := 0, false
	for line := range strings.Lines(text) {
		if ended && offset > 0 && startsDefinition(line) {
			starts = append(starts, offset)
		}
		trimmed := strings.TrimSpace(line)
		ended = trimmed == "" || strings.HasSuffix(trimmed, "}") || strings.HasSuffix(trimmed, ";") || trimmed == "end"
		offset += len(line)
	}
	return starts
}

func startsDefinition(line string) bool {
	c := line[0]
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '@' || c == '#' || c == '[' || c == '/' || c >= utf8.RuneSelf
}
