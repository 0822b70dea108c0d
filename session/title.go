package session

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/history"
)

// maxTitle bounds a title in characters.
const (
	maxTitle     = 60
	maxUserTitle = 200
)

// titleOf makes a title from a session's first prompt, by rule: its first line with words, cut at a
// word's end. A prompt without words is named after what it holds.
func titleOf(m *history.Message) string {
	for line := range strings.Lines(m.PlainText()) {
		if title := tidyTitle(line, maxTitle); strings.IndexFunc(title, isWord) >= 0 {
			return title
		}
	}
	for i := range m.Blocks {
		if title := tidyTitle(m.Blocks[i].Name, maxTitle); title != "" {
			return title
		}
	}
	return "Untitled"
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// tidyTitle folds white space and control characters and cuts text to limit characters.
func tidyTitle(text string, limit int) string {
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
