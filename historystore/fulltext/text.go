package fulltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextBytes is the maximum indexed text of a message, in bytes. The rest of a longer text is not found.
const TextBytes = 128 << 10

// The marks around a match in results of the database. Searchable removes them from texts.
const (
	MarkStart = '\x02'
	MarkEnd   = '\x03'
)

// softBreak (a zero-width space) separates words in the index and is invisible.
const softBreak = '\u200b'

// Searchable returns the text to index: valid UTF-8 without control characters, with a soft break around each character
// of a script without spaces, so that each of these characters is a word.
func Searchable(text string) string {
	var out strings.Builder
	out.Grow(min(len(text), TextBytes))
	wordBefore := false
	for _, r := range text {
		if r == softBreak {
			continue
		}
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			r = ' '
		}
		if out.Len()+utf8.RuneLen(r)+utf8.RuneLen(softBreak) > TextBytes {
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

// isWord reports whether a character is a word of its own.
func isWord(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
