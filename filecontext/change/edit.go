package change

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"strata/filecontext"
)

// Edit replaces a text. Texts are compared with LF as line ends, whatever the file has.
type Edit struct {
	OldText    string `json:"old_text"` // must occur exactly once, unless ReplaceAll is set
	NewText    string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all"`
}

// The bounds of edits.
const (
	MaxEdits = 100     // of one change
	maxNamed = 8       // lines that an error names
	maxQuote = 2 << 10 // bytes of lines that an error shows
)

// EditError is an edit that cannot be made.
type EditError struct {
	Index   int    // of the edit
	Problem string // a sentence, perhaps with lines of the file below it
}

func (e *EditError) Error() string { return fmt.Sprintf("edits[%d]: %s", e.Index, e.Problem) }

// Edited returns the text after edits, each made in the text that the edits before it left, and the lines of t that their old
// texts cover, as filecontext counts lines. The error is an *EditError.
func (t *Text) Edited(edits []Edit) (after Text, covered []filecontext.Range, err error) {
	if len(edits) == 0 || len(edits) > MaxEdits {
		return Text{}, nil, &EditError{Index: len(edits), Problem: fmt.Sprintf("a change has 1 to %d edits", MaxEdits)}
	}
	d := newDraft(t)
	for i := range edits {
		if problem := d.edit(&edits[i]); problem != "" {
			if i > 0 && d.text.unix != t.unix {
				problem += " (line numbers are those after the edits before it)"
			}
			return Text{}, nil, &EditError{Index: i, Problem: problem}
		}
	}
	if d.text.unix == t.unix {
		return Text{}, nil, &EditError{Index: len(edits) - 1, Problem: "the edits leave the file as it is"}
	}
	return d.text, d.ranges(), nil
}

// draft is a text while edits are made.
type draft struct {
	text    Text
	origins []int        // for each line of text, its number in the file; 0 for a new one
	covered map[int]bool // numbers of the lines that were replaced, in whole or in part
}

func newDraft(t *Text) *draft {
	d := &draft{text: *t, origins: make([]int, len(t.ends)+1), covered: make(map[int]bool)}
	number := 1
	for i := range d.origins {
		d.origins[i] = number
		if i < len(t.ends) && t.ends[i] != cr { // filecontext counts no line at a lone CR
			number++
		}
	}
	if t.unix == "" || strings.HasSuffix(t.unix, "\n") {
		d.origins[len(d.origins)-1] = 0 // after the last line end there is no line
	}
	return d
}

// edit makes one edit. It returns why it cannot.
func (d *draft) edit(e *Edit) (problem string) {
	old, text := unixEnds(e.OldText), unixEnds(e.NewText)
	switch {
	case old == "":
		return "old_text is empty; write_file makes a file or replaces all of it"
	case !utf8.ValidString(text):
		return "new_text is not UTF-8"
	case old == text:
		return "old_text and new_text are the same"
	}
	places := placesOf(d.text.unix, old, e.ReplaceAll)
	switch {
	case len(places) == 0:
		return d.miss(old)
	case len(places) > 1 && !e.ReplaceAll:
		return d.ambiguous(places)
	}
	spans := make([]span, len(places))
	for i, at := range places {
		spans[i] = span{at, at + len(old), text}
	}
	d.replace(spans)
	return ""
}

// placesOf returns where old is in a text. To be replaced, places must not overlap; to be counted, they may.
func placesOf(text, old string, replace bool) (places []int) {
	step := 1
	if replace {
		step = len(old)
	}
	for at := 0; ; {
		next := strings.Index(text[at:], old)
		if next < 0 {
			return places
		}
		places = append(places, at+next)
		at += next + step
	}
}

// replace makes the spans the present text, and notes which lines they cover.
func (d *draft) replace(spans []span) {
	origins := make([]int, 0, len(d.origins))
	at, line, kept := 0, 0, 0
	for _, s := range spans {
		line += strings.Count(d.text.unix[at:s.start], "\n")
		old := d.text.unix[s.start:s.end]
		last := line + strings.Count(old[:len(old)-1], "\n")
		for _, number := range d.origins[line : last+1] {
			d.covered[number] = true
		}
		next := line + strings.Count(old, "\n") // the line in which the span ends
		origins = append(origins, d.origins[kept:line]...)
		origins = append(origins, make([]int, strings.Count(s.text, "\n"))...)
		at, line, kept = s.end, next, next
	}
	d.origins = append(origins, d.origins[kept:]...)
	d.text = d.text.replaced(spans)
}

// ranges returns the lines of the file that were covered.
func (d *draft) ranges() (ranges []filecontext.Range) {
	delete(d.covered, 0)
	numbers := make([]int, 0, len(d.covered))
	for number := range d.covered {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		if n := len(ranges) - 1; n >= 0 && ranges[n].End+1 == number {
			ranges[n].End = number
			continue
		}
		ranges = append(ranges, filecontext.Range{Start: number, End: number})
	}
	return ranges
}

// number returns the number of the line of a byte of the present text, as filecontext counts lines.
func (d *draft) number(at int) int {
	number := 1
	for _, end := range d.text.ends[:strings.Count(d.text.unix[:at], "\n")] {
		if end != cr {
			number++
		}
	}
	return number
}

func (d *draft) ambiguous(places []int) string {
	var lines []string
	for _, at := range places[:min(len(places), maxNamed)] {
		lines = append(lines, fmt.Sprint(d.number(at)))
	}
	more := ""
	if len(places) > maxNamed {
		more = " and more"
	}
	return fmt.Sprintf("old_text occurs %d times, at lines %s%s; add lines around it to make it unique, or set replace_all", len(places),
		strings.Join(lines, ", "), more)
}

// miss tells that old does not occur, and where the file is most like it.
func (d *draft) miss(old string) string {
	start, end, found := nearest(d.text.unix, old)
	if !found {
		return "old_text does not occur in the file, nor anything like it; read the file again"
	}
	first, last := d.number(start), d.number(max(end-1, start))
	hint := ""
	if sameWords(d.text.unix[start:end], old) {
		hint = ", which differ only in white space"
	}
	where := fmt.Sprintf("lines %d to %d", first, last)
	if first == last {
		where = fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("old_text does not occur in the file. The nearest place is %s%s:\n%s", where, hint, quoted(d.text.unix[start:end]))
}

func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// quoted returns lines for an error.
func quoted(text string) string {
	cut := ""
	if len(text) > maxQuote {
		text, cut = strings.ToValidUTF8(text[:maxQuote], ""), "…\n"
	}
	return filecontext.Fence("", strings.TrimSuffix(text, "\n")+"\n"+cut)[1:]
}
