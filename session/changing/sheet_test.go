//go:build unix

package changing

import (
	"fmt"
	"slices"
	"strings"
)

// sheet is the text of a file as the property test thinks of it: characters, one of which is a line end, whatever its bytes.
// It has nothing of the code that it checks.
type sheet struct {
	code  string // of codes
	marks []mark
}

// mark is a character.
type mark struct {
	char rune   // '\n' for every line end
	end  string // of a line end: its characters
	line int    // where it was before edits; 0 for a new one
}

// codes are the ways to encode a text, by the bytes before it.
var codes = map[string]string{"utf-8": "", "utf-8 with mark": "\xef\xbb\xbf", "utf-16 le": "\xff\xfe", "utf-16 be": "\xfe\xff"}

var codeNames = []string{"utf-8", "utf-8", "utf-8", "utf-8 with mark", "utf-16 le", "utf-16 be"}

// sheetOf returns the sheet of a text.
func sheetOf(code, text string) *sheet {
	s := &sheet{code: code}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		switch {
		case runes[i] == '\r' && i+1 < len(runes) && runes[i+1] == '\n':
			s.marks = append(s.marks, mark{char: '\n', end: "\r\n"})
			i++
		case runes[i] == '\r' || runes[i] == '\n':
			s.marks = append(s.marks, mark{char: '\n', end: string(runes[i])})
		default:
			s.marks = append(s.marks, mark{char: runes[i]})
		}
	}
	return s
}

// written returns the text with the line ends of the file.
func (s *sheet) written() string {
	var b strings.Builder
	for _, m := range s.marks {
		if m.end != "" {
			b.WriteString(m.end)
		} else {
			b.WriteRune(m.char)
		}
	}
	return b.String()
}

// bytes returns the file.
func (s *sheet) bytes() string {
	text := s.written()
	if !strings.HasPrefix(s.code, "utf-16") {
		return codes[s.code] + text
	}
	var b strings.Builder
	b.WriteString(codes[s.code])
	unit := func(u rune) {
		high, low := byte(u>>8), byte(u)
		if s.code == "utf-16 le" {
			high, low = low, high
		}
		b.WriteByte(high)
		b.WriteByte(low)
	}
	for _, c := range text {
		if c >= 0x10000 {
			unit(0xd800 + (c-0x10000)>>10)
			unit(0xdc00 + (c-0x10000)&0x3ff)
			continue
		}
		unit(c)
	}
	return b.String()
}

// decoded16 is the reverse of bytes for UTF-16.
func decoded16(code, data string) string {
	var units []rune
	for i := 2; i+1 < len(data); i += 2 {
		high, low := rune(data[i]), rune(data[i+1])
		if code == "utf-16 le" {
			high, low = low, high
		}
		units = append(units, high<<8|low)
	}
	var b strings.Builder
	for i := 0; i < len(units); i++ {
		if c := units[i]; c >= 0xd800 && c < 0xdc00 && i+1 < len(units) {
			b.WriteRune(0x10000 + (c-0xd800)<<10 + units[i+1] - 0xdc00)
			i++
			continue
		}
		b.WriteRune(units[i])
	}
	return b.String()
}

// sheetIn returns the sheet of a file whose code is known.
func sheetIn(code, data string) *sheet {
	if strings.HasPrefix(code, "utf-16") {
		return sheetOf(code, decoded16(code, data))
	}
	return sheetOf(code, strings.TrimPrefix(data, codes[code]))
}

// lines returns the lines as the model is shown them: a lone CR ends none.
func (s *sheet) lines() (lines []string) {
	var line strings.Builder
	for _, m := range s.marks {
		switch m.end {
		case "":
			line.WriteRune(m.char)
		case "\r":
			line.WriteString("\r")
		default:
			line.WriteString("\n")
			lines = append(lines, line.String())
			line.Reset()
		}
	}
	if line.Len() > 0 {
		lines = append(lines, line.String())
	}
	return lines
}

// shown returns the text as the model is shown it.
func (s *sheet) shown() string { return strings.Join(s.lines(), "") }

// chars returns the characters of a text.
func chars(text string) []rune {
	var all []rune
	for _, m := range sheetOf("", text).marks {
		all = append(all, m.char)
	}
	return all
}

func (s *sheet) chars() []rune {
	all := make([]rune, len(s.marks))
	for i, m := range s.marks {
		all[i] = m.char
	}
	return all
}

// ends returns the different line ends.
func (s *sheet) ends() (ends []string) {
	for _, m := range s.marks {
		if m.end != "" && !slices.Contains(ends, m.end) {
			ends = append(ends, m.end)
		}
	}
	return ends
}

// replacing is one edit of edit_file.
type replacing struct {
	old, text string
	all       bool
}

// edited returns the file after edits, and the numbers of the lines that they cover; or what must be said of an edit that is
// not possible.
func (s *sheet) edited(edits []replacing) (after *sheet, covered []int, fault string) {
	work := &sheet{code: s.code, marks: slices.Clone(s.marks)}
	line := 1
	for i := range work.marks {
		work.marks[i].line = line
		if end := work.marks[i].end; end == "\n" || end == "\r\n" {
			line++
		}
	}
	touched := make(map[int]bool)
	for i, e := range edits {
		if fault := work.edit(e, touched); fault != "" {
			return nil, nil, fmt.Sprintf("edits[%d]: %s", i, fault)
		}
	}
	if slices.Equal(work.chars(), s.chars()) {
		return nil, nil, fmt.Sprintf("edits[%d]: the edits leave the file as it is", len(edits)-1)
	}
	joined := slices.Clone(work.marks)
	for i := 1; i < len(joined); i++ {
		if joined[i].end == "\n" && work.marks[i-1].end == "\r" {
			joined[i].end = "\r\n" // or two line ends would be one
		}
	}
	work.marks = joined
	delete(touched, 0)
	for line := range touched {
		covered = append(covered, line)
	}
	slices.Sort(covered)
	return work, covered, ""
}

func (s *sheet) edit(e replacing, touched map[int]bool) (fault string) {
	old, text := chars(e.old), chars(e.text)
	switch {
	case len(old) == 0:
		return "old_text is empty"
	case slices.Equal(old, text):
		return "old_text and new_text are the same"
	}
	var places []int
	all := s.chars()
	for at := 0; at+len(old) <= len(all); at++ {
		if !slices.Equal(all[at:at+len(old)], old) {
			continue
		}
		places = append(places, at)
		if e.all {
			at += len(old) - 1
		}
	}
	switch {
	case len(places) == 0:
		return "old_text does not occur in the file"
	case len(places) > 1 && !e.all:
		return fmt.Sprintf("old_text occurs %d times", len(places))
	}
	var next []mark
	done := 0
	for _, at := range places {
		for _, m := range s.marks[s.lineStart(at):s.lineEnd(at+len(old))] {
			touched[m.line] = true
		}
		next = append(append(next, s.marks[done:at]...), s.replaced(at, at+len(old), text)...)
		done = at + len(old)
	}
	s.marks = append(next, s.marks[done:]...)
	return ""
}

// lineStart returns where the line of a mark starts, and lineEnd where the line of the mark before at ends.
func (s *sheet) lineStart(at int) int {
	for at > 0 && s.marks[at-1].end == "" {
		at--
	}
	return at
}

func (s *sheet) lineEnd(at int) int {
	for at < len(s.marks) && s.marks[at-1].end == "" {
		at++
	}
	return at
}

// replaced returns what is in place of some marks if their characters are replaced by a text. What both have at their start and
// end stays; as many line ends as before stay what they were; others are like the next one, or else the one before.
func (s *sheet) replaced(start, end int, text []rune) []mark {
	var head, tail []mark
	for start < end && len(text) > 0 && s.marks[start].char == text[0] {
		head = append(head, s.marks[start])
		start, text = start+1, text[1:]
	}
	for start < end && len(text) > 0 && s.marks[end-1].char == text[len(text)-1] {
		tail = append([]mark{s.marks[end-1]}, tail...)
		end, text = end-1, text[:len(text)-1]
	}
	var had []string
	for _, m := range s.marks[start:end] {
		if m.end != "" {
			had = append(had, m.end)
		}
	}
	like, needs := s.endNear(start), 0
	for _, c := range text {
		if c == '\n' {
			needs++
		}
	}
	for _, c := range text {
		m := mark{char: c}
		if c == '\n' {
			m.end = like
			if len(had) == needs {
				m.end = had[0]
				had, needs = had[1:], needs-1
			}
		}
		head = append(head, m)
	}
	return append(head, tail...)
}

// endNear returns the first line end from a place on, or else the last one before it.
func (s *sheet) endNear(at int) string {
	for _, m := range s.marks[at:] {
		if m.end != "" {
			return m.end
		}
	}
	for _, m := range slices.Backward(s.marks[:at]) {
		if m.end != "" {
			return m.end
		}
	}
	return "\n"
}
