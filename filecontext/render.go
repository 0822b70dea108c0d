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
	heading := Printable(e.Path)
	if lines := e.Visible(); !lines.IsWhole() {
		heading += fmt.Sprintf(" (lines %d to %d of %d)", lines.Start, lines.End, e.Lines)
	}
	if text := cutLines(e.Text, e.Range); text != "" && !strings.HasSuffix(text, "\n") {
		heading += " (no line end at the end)"
	}
	if e.Lossy {
		heading += " (bytes that are not UTF-8 are shown as U+FFFD; the file cannot be edited)"
	}
	return heading
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
