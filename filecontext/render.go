package filecontext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Render returns the file as shown to the model: the path, followed by the lines in a code fence. Equal entries have equal
// renderings, different texts different ones.
func (e Entry) Render() string {
	return Fence(e.heading(), e.body())
}

// heading returns the path with notes on the text below: its range of lines and a missing final newline.
func (e Entry) heading() string {
	return headingOf(e.Path, cutLines(e.Text, e.Range), e.Visible(), e.Lines, e.Lossy)
}

// The notes at the end of a heading.
const (
	noLineEnd = " (no line end at the end)"
	notUTF8   = " (bytes that are not UTF-8 are shown as U+FFFD; the file cannot be edited)"
)

func headingOf(path, text string, lines Range, of int, lossy bool) string {
	heading := Printable(path)
	if !lines.IsWhole() {
		heading += fmt.Sprintf(" (lines %d to %d of %d)", lines.Start, lines.End, of)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		heading += noLineEnd
	}
	if lossy {
		heading += notUTF8
	}
	return heading
}

// RenderLines returns lines of a file, whose text is given, as Render does. The zero Range is the whole file.
func RenderLines(path, text string, lines Range, of int, lossy bool) string {
	return Fence(headingOf(path, text, lines, of, lossy), text)
}

// RenderedLines returns the text that RenderLines rendered.
func RenderedLines(rendered string) string {
	start, end := Unfence(rendered)
	heading, _, _ := strings.Cut(rendered, "\n")
	if strings.HasSuffix(strings.TrimSuffix(heading, notUTF8), noLineEnd) {
		return strings.TrimSuffix(rendered[start:end], "\n")
	}
	return rendered[start:end]
}

// body returns the visible lines, with numbers if LineNumbers is set.
func (e Entry) body() string {
	text := cutLines(e.Text, e.Range)
	if e.LineNumbers {
		return numberLines(text, max(e.Range.Start, 1))
	}
	return text
}

// Fence returns a heading followed by text in a code fence longer than any in text.
func Fence(heading, text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	fence := strings.Repeat("`", max(3, longestTicks(text)+1))
	return heading + "\n" + fence + "\n" + text + fence + "\n"
}

// Unfence returns where the text is in the result of Fence, with the newline that Fence adds if the text has none.
func Unfence(fenced string) (start, end int) {
	_, rest, _ := strings.Cut(fenced, "\n")
	opening, rest, _ := strings.Cut(rest, "\n")
	start = len(fenced) - len(rest)
	return start, max(start, len(fenced)-len(opening)-1)
}

// longestTicks returns the length of the longest run of backticks in text.
func longestTicks(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// numberLines prefixes each line with its number and a tab.
func numberLines(text string, first int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strconv.Itoa(first))
		b.WriteByte('\t')
		b.WriteString(line)
		first++
	}
	return b.String()
}

// Printable returns a path for use in a line of text. It quotes paths with unprintable characters, so that a file name
// cannot start a new line and inject text.
func Printable(path string) string {
	for _, c := range path {
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			return strconv.Quote(path)
		}
	}
	return path
}
