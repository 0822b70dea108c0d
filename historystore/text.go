package historystore

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// searchableBytes bounds what search sees of one message; the rest of a longer text is not found.
const searchableBytes = 128 << 10

// The marks around a match inside of the database. searchable keeps them out of texts.
const (
	markStart = '\x02'
	markEnd   = '\x03'
)

// softBreak (a zero-width space) ends a word for the index without being seen.
const softBreak = '\u200b'

// searchable returns the text that the index gets: valid UTF-8 without control characters and with a soft break around each
// character of a script that writes no spaces, so that each of them is a word.
func searchable(text string) string {
	var out strings.Builder
	out.Grow(min(len(text), searchableBytes))
	wordBefore := false
	for _, r := range text {
		if r == softBreak {
			continue
		}
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			r = ' '
		}
		if out.Len()+utf8.RuneLen(r)+utf8.RuneLen(softBreak) > searchableBytes {
			break
		}
		word := isWord(r)
		if out.Len() > 0 && (word || wordBefore) {
			out.WriteRune(softBreak)
		}
		out.WriteRune(r)
		wordBefore = word
	}
	return out.String()
}

// isWord tells whether a character is a word by itself.
func isWord(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
