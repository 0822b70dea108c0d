package reads

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"strata/filecontext"
	"strata/history"
)

// The limits of the note on a changed file.
const (
	maxDiffWork   = 4_000_000 // product of the lines that differ on each side, the work of the worst case
	maxDiffTokens = 2000
	maxDiffShare  = 0.25 // of the tokens of the file
	maxNamed      = 8    // ranges of lines that a note names
)

// Passage is lines of an earlier version of a file that the model has been shown, with LF as line ends.
type Passage struct {
	Lines history.Lines
	Text  string
	Whole bool // it is the whole file
}

// Changed returns the line that tells that a file has changed since a passage of it was shown, with the path and the changed
// lines. It is "" if the passage is still the same at the same place. The diff is "" unless the passage was the whole file and
// the diff is short; of a file of the user's choice, whatever its length. now is the present text with LF as line ends.
func Changed(path string, shown Passage, now string, chosen bool, count func(text string) int) (line, diff string) {
	if shown.Whole {
		return changedWhole(path, shown.Text, now, chosen, count)
	}
	name := filecontext.Printable(path)
	lines := strings.SplitAfter(now, "\n")
	part := strings.SplitAfter(strings.TrimSuffix(shown.Text, "\n"), "\n")
	if isAt(lines, part, shown.Lines.Start) {
		return "", ""
	}
	if at := places(lines, part); len(at) == 1 {
		return fmt.Sprintf("%s has changed since it was read: lines %d to %d are now lines %d to %d, unchanged.\n", name,
			shown.Lines.Start, shown.Lines.End, at[0], at[0]+len(part)-1), ""
	}
	return fmt.Sprintf("%s has changed since it was read, lines %d to %d too.\n", name, shown.Lines.Start, shown.Lines.End), ""
}

// places returns the numbers of the first lines of the first two places where a part is among lines.
func places(lines, part []string) (at []int) {
	for first := 1; first+len(part) <= len(lines)+1 && len(at) < 2; first++ {
		if isAt(lines, part, first) {
			at = append(at, first)
		}
	}
	return at
}

// isAt reports whether a part is among lines, from the line with number first on. The last line of a text has no line end.
func isAt(lines, part []string, first int) bool {
	same := func(a, b string) bool { return strings.TrimSuffix(a, "\n") == strings.TrimSuffix(b, "\n") }
	return first >= 1 && first+len(part) <= len(lines)+1 && slices.EqualFunc(lines[first-1:first-1+len(part)], part, same)
}

func changedWhole(path, before, now string, chosen bool, count func(string) int) (line, diff string) {
	if before == now {
		return "", ""
	}
	name := filecontext.Printable(path)
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(now, "\n")
	head := commonStart(a, b)
	a, b = a[head:], b[head:]
	tail := commonEnd(a, b)
	if (len(a)-tail)*(len(b)-tail) > maxDiffWork {
		return fmt.Sprintf("%s has changed since it was read: %s.\n", name, span(head+1, head+len(b)-tail)), ""
	}
	edits := udiff.Lines(before, now)
	line = fmt.Sprintf("%s has changed since it was read: %s.\n", name, changedLines(now, edits))
	diff, err := udiff.ToUnified(name, name, before, edits, udiff.DefaultContextLines)
	if err != nil {
		return line, ""
	}
	size := count(diff)
	if !chosen && (size > maxDiffTokens || float64(size) > maxDiffShare*float64(count(now))) {
		return line, ""
	}
	return line, filecontext.Fence("Changes to "+name, diff)
}

func commonStart(a, b []string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b []string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// changedLines names the lines of the present text that edits made.
func changedLines(now string, edits []udiff.Edit) string {
	var spans []string
	at, line, shift := 0, 1, 0 // the line of the byte at, in the present text
	for _, e := range edits {
		start := e.Start + shift
		line += strings.Count(now[at:start], "\n")
		at = start
		spans = append(spans, span(line, line+countLines(e.New)-1))
		shift += len(e.New) - (e.End - e.Start)
	}
	spans = slices.Compact(spans)
	if more := len(spans) - maxNamed; more > 0 {
		spans = append(spans[:maxNamed], fmt.Sprintf("%d more places", more))
	}
	return strings.Join(spans, ", ")
}

// span names changed lines; last is before first if lines were only removed.
func span(first, last int) string {
	switch {
	case last < first:
		return fmt.Sprintf("lines removed before line %d", first)
	case last == first:
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

func countLines(text string) (n int) {
	for range strings.Lines(text) {
		n++
	}
	return n
}
