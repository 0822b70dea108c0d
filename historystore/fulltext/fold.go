package fulltext

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns a text for comparisons that ignore case and accents. Invalid UTF-8 becomes U+FFFD.
func Fold(text string) string {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		out = appendFolded(out, r)
	}
	return string(out)
}

// lower are the small letters of ASCII characters.
var lower = func() (table [utf8.RuneSelf]byte) {
	for c := range table {
		table[c] = byte(unicode.ToLower(rune(c)))
	}
	return table
}()

// appendFolded appends the folded form of a character, which is empty for accents that stand alone.
func appendFolded(out []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(out, lower[r])
	}
	var bytes [utf8.UTFMax]byte
	n := utf8.EncodeRune(bytes[:], r)
	parts := norm.NFD.Properties(bytes[:n]).Decomposition()
	if parts == nil {
		parts = bytes[:n]
	}
	for len(parts) > 0 {
		part, size := utf8.DecodeRune(parts)
		parts = parts[size:]
		if !unicode.Is(unicode.Mn, part) {
			out = utf8.AppendRune(out, unicode.ToLower(part))
		}
	}
	return out
}

// folded is a folded text with the place of each byte in the original.
type folded struct {
	text   string
	starts []int // for each byte of text and its end: the start of its character in the original
}

func foldWithPlaces(text string) folded {
	var out []byte
	var starts []int
	for i, r := range text {
		out = appendFolded(out, r)
		for len(starts) < len(out) {
			starts = append(starts, i)
		}
	}
	return folded{string(out), append(starts, len(text))}
}

// original returns the range of whole characters of the original from which a range of the folded text comes. Accents
// after a character belong to it.
func (f folded) original(start, end int) Mark {
	last := f.starts[end-1]
	for end < len(f.text) && f.starts[end] == last {
		end++
	}
	return Mark{f.starts[start], f.starts[end]}
}
