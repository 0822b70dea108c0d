// Package clip truncates text without splitting a character. It must never depend on the purpose of a text.
package clip

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bytes returns the longest prefix of text with at most n bytes that does not end within a character.
func Bytes(text string, n int) string {
	n = max(n, 0)
	if len(text) <= n {
		return text
	}
	for low := n - utf8.UTFMax; n > low && n > 0 && !utf8.RuneStart(text[n]); n-- {
	}
	return text[:n]
}

// Chunks divides text into chunks of at most n bytes, which must be at least utf8.UTFMax. An empty text has none.
func Chunks(text string, n int) []string {
	var chunks []string
	for len(text) > n {
		chunk := Bytes(text, n)
		chunks = append(chunks, chunk)
		text = text[len(chunk):]
	}
	if text != "" {
		chunks = append(chunks, text)
	}
	return chunks
}

// Chars returns the first n characters of text.
func Chars(text string, n int) string {
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// LastChars returns the last n characters of text.
func LastChars(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}

// Line returns the start of text as one line of at most n characters. A truncated line ends with an ellipsis.
func Line(text string, n int) string {
	line := strings.Join(strings.Fields(text), " ")
	short := Chars(line, n)
	if len(short) < len(line) {
		short = strings.TrimRight(Chars(line, n-1), " ") + "…"
	}
	return short
}

// Middle returns text with at most n characters. A longer text is reduced to its start, a marker with the number of
// omitted characters, and its end.
func Middle(text string, n int) string {
	all := utf8.RuneCountInString(text)
	if all <= n {
		return text
	}
	marker := fmt.Sprintf("\n[%d characters omitted]\n", all) // no shorter than the final one
	keep := n - len(marker)
	if keep < 2 {
		return Chars(fmt.Sprintf("[%d characters omitted]", all), n)
	}
	begin, end := Chars(text, keep-keep/2), LastChars(text, keep/2)
	return fmt.Sprintf("%s\n[%d characters omitted]\n%s", begin, all-keep, end)
}

// The maximum lengths of names and paths in errors, in bytes.
const (
	nameBytes = 100
	pathBytes = 1024
)

// Name shortens a name or value from outside for an error: at most 100 bytes and an ellipsis.
func Name(name string) string { return marked(name, nameBytes) }

// Path shortens the path of a file from outside for an error: at most 1024 bytes and an ellipsis.
func Path(path string) string { return marked(path, pathBytes) }

// marked returns the first n bytes of a text, with an ellipsis if it is longer.
func marked(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return Bytes(text, n) + "…"
}
