package change

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Hunk is lines that differ between two versions of a text. Lines are counted from 1; a side without lines starts at the line
// before which they would be.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
}

// Hunks returns the lines in which two texts differ, in order. A line ends with LF.
func Hunks(before, after string) (hunks []Hunk) {
	line, shift, at := 1, 0, 0
	for _, s := range diff(before, after) {
		line += strings.Count(before[at:s.start], "\n")
		at = s.start
		h := Hunk{line, countLines(before[s.start:s.end]), line + shift, countLines(s.text)}
		shift += h.NewLines - h.OldLines
		hunks = append(hunks, h)
	}
	return hunks
}

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// diff returns the replacements of whole lines that make after of before. udiff looks for about a hundred differences and takes
// what is between the others as one, so that its work is bounded.
func diff(before, after string) (spans []span) {
	start := wholeLines(before, after, commonPrefix(before, after))
	end := commonEnd(before[start:], after[start:])
	old, text := before[start:len(before)-end], after[start:len(after)-end]
	for _, e := range udiff.Lines(old, text) {
		spans = append(spans, span{start + e.Start, start + e.End, e.New}.byLine(before)...)
	}
	return spans
}

// byLine returns the span as those of its lines that differ, if it has as many lines as it replaces.
func (s span) byLine(before string) (spans []span) {
	old, lines := slices.Collect(strings.Lines(before[s.start:s.end])), slices.Collect(strings.Lines(s.text))
	if len(old) != len(lines) {
		return []span{s}
	}
	at, text := s.start, 0 // of the line, in before and in the text of s
	for i, line := range lines {
		end := at + len(old[i])
		if n := len(spans) - 1; n >= 0 && spans[n].end == at && line != old[i] {
			spans[n].end, spans[n].text = end, s.text[text-len(spans[n].text):text+len(line)]
		} else if line != old[i] {
			spans = append(spans, span{at, end, line})
		}
		at, text = end, text+len(line)
	}
	return spans
}

// wholeLines returns the length of the whole lines in a common start of n bytes.
func wholeLines(a, b string, n int) int {
	if n == len(a) && n == len(b) {
		return n
	}
	return strings.LastIndexByte(a[:n], '\n') + 1
}

// commonEnd returns the length of the whole lines that two texts have in common at their end.
func commonEnd(a, b string) int {
	n := commonSuffix(a, b)
	starts := func(text string) bool { return n == len(text) || text[len(text)-n-1] == '\n' }
	for n > 0 && !(starts(a) && starts(b)) {
		next := strings.IndexByte(a[len(a)-n:], '\n')
		if next < 0 {
			return 0
		}
		n -= next + 1
	}
	return n
}

// Rewritten returns the text with other content in the encoding of t. Lines that stay keep their line ends; a byte order mark
// at the start of content is ignored.
func (t *Text) Rewritten(content string) Text {
	content = unixEnds(strings.TrimPrefix(content, byteOrderMark))
	return t.replaced(diff(t.unix, content))
}
