package content

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/history"
)

// The limits of a title in characters.
const (
	maxTitle = 60
	MaxTitle = 200 // that a user gives
)

// Title returns a title for a session from its first prompt: the first line with words, shortened at the end of a word. A
// prompt without words is named after its attachments.
func Title(m *history.Message) string {
	for line := range strings.Lines(m.PlainText()) {
		if title := TidyTitle(line, maxTitle); strings.IndexFunc(title, isWord) >= 0 {
			return title
		}
	}
	for i := range m.Blocks {
		if title := TidyTitle(m.Blocks[i].Name, maxTitle); title != "" {
			return title
		}
	}
	return "Untitled"
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// TidyTitle folds white space and control characters and shortens text to limit characters.
func TidyTitle(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError
	}), " ")
	text = strings.TrimLeft(text, "#>*- ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	short := string([]rune(text)[:limit-1])
	if i := strings.LastIndexByte(short, ' '); i > len(short)/2 {
		short = short[:i]
	}
	return strings.TrimRight(short, " ,;:.-") + "…"
}
