package change

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiffWork bounds the product of the lines that differ on each side, which is the work of the worst case. Above it, all
// lines between the first and the last difference count as changed.
const maxDiffWork = 4_000_000

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

// diff returns the replacements of whole lines that make after of before.
func diff(before, after string) []span {
	start := wholeLines(before, after, commonPrefix(before, after))
	end := commonEnd(before[start:], after[start:])
	old, text := before[start:len(before)-end], after[start:len(after)-end]
	switch {
	case old == "" && text == "":
		return nil
	case countLines(old)*countLines(text) > maxDiffWork:
		return []span{{start, start + len(old), text}}
	}
	var spans []span
	for _, e := range udiff.Lines(old, text) {
		spans = append(spans, span{start + e.Start, start + e.End, e.New})
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
