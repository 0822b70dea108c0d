package tokens

import (
	"unicode"
	"unicode/utf8"
)

// The tokenizer's time is quadratic in the length of a piece (100 KB of one letter take seconds),
// so a text is cut into chunks before it is tokenized.
const (
	softChunk = 1 << 10  // bytes from which a chunk ends at the next line where that changes no count
	hardChunk = 64 << 10 // bytes at which a chunk ends wherever it is: bounds the memory of a count
	maxRun    = 256      // bytes of runes of one class at which a chunk ends: bounds a piece, and with it the time
	seamSize  = 32       // bytes on each side of a forced cut that tell what the cut cost: merges hardly reach further
)

// nextChunk returns the length in bytes of the first chunk of text, which is not empty, and whether it was cut by force.
//
// A cut behind a newline is exact when the next rune is neither space nor slash: no piece of the encodings reaches across.
// A cut by force can change the count.
func nextChunk(text string) (end int, forced bool) {
	var r runs
	newline := false
	for i, c := range text {
		switch {
		case newline && i >= softChunk && c != '/' && !unicode.IsSpace(c):
			return i, false
		case i >= hardChunk, r.exceededBy(c):
			return i, true
		}
		newline = c == '\n'
	}
	return len(text), false
}

// seamStart returns where the seamSize bytes before a cut begin, on a rune border.
func seamStart(text string, cut int) int {
	i := max(cut-seamSize, 0)
	for i < cut && !utf8.RuneStart(text[i]) {
		i++
	}
	return i
}

// seamEnd returns where the seamSize bytes behind a cut end, on a rune border.
func seamEnd(text string, cut int) int {
	i := min(cut+seamSize, len(text))
	for i < len(text) && i > cut && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// runs are the lengths in bytes of the runs of each class that end at the present rune. A rune can be in several classes,
// as it can be matched by several parts of an encoding's pattern, and each part matches runes of one class.
// Digits are in none: their pieces are at most three long.
type runs struct {
	word, symbol, tail, blank int
}

// exceededBy adds c and reports whether one of its runs is now longer than maxRun.
func (r *runs) exceededBy(c rune) bool {
	space, letter, mark := unicode.IsSpace(c), unicode.IsLetter(c), unicode.IsMark(c)
	word := extend(&r.word, c, letter || mark)
	symbol := extend(&r.symbol, c, !space && !letter && !unicode.IsNumber(c))
	tail := extend(&r.tail, c, c == '\n' || c == '\r' || c == '/') // what a piece of symbols may end with
	blank := extend(&r.blank, c, space)
	return word || symbol || tail || blank
}

func extend(run *int, c rune, in bool) bool {
	if !in {
		*run = 0
		return false
	}
	*run += utf8.RuneLen(c)
	return *run > maxRun
}
