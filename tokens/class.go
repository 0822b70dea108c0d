package tokens

import (
	"unicode"
	"unicode/utf8"
)

// A class is a set of runes which the patterns of the encodings do not distinguish except for the space, the slash, the
// apostrophe, and the letters of English contractions. Each rune is in exactly one class. Classes can be combined with |.
type class uint8

const (
	upper    class = 1 << iota // \p{Lu}, \p{Lt}
	lower                      // \p{Ll}
	caseless                   // \p{Lm}, \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	newline                    // \r and \n
	space                      // the rest of \s
	symbol                     // all other runes

	letter = upper | lower | caseless
	blank  = newline | space
)

// classOf returns the class of a rune.
func classOf(c rune) class {
	if uint32(c) < utf8.RuneSelf {
		return asciiClasses[c]
	}
	return unicodeClass(c)
}

// unicodeClass searches the tables of Unicode. The most frequent classes come first.
func unicodeClass(c rune) class {
	switch {
	case unicode.Is(unicode.Lo, c):
		return caseless
	case unicode.IsLower(c):
		return lower
	case unicode.IsUpper(c):
		return upper
	case unicode.IsSpace(c):
		return space
	case unicode.IsMark(c):
		return mark
	case unicode.IsNumber(c):
		return number
	case unicode.Is(unicode.Lm, c):
		return caseless
	case unicode.IsTitle(c):
		return upper
	}
	return symbol
}

// Short names for asciiClasses.
const (
	up = upper
	lo = lower
	nu = number
	nl = newline
	sp = space
	sy = symbol
)

var asciiClasses = [utf8.RuneSelf]class{
	sy, sy, sy, sy, sy, sy, sy, sy, sy, sp, nl, sp, sp, nl, sy, sy, // 0x00
	sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, // 0x10
	sp, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, sy, // 0x20
	nu, nu, nu, nu, nu, nu, nu, nu, nu, nu, sy, sy, sy, sy, sy, sy, // 0x30: digits
	sy, up, up, up, up, up, up, up, up, up, up, up, up, up, up, up, // 0x40: @, A to O
	up, up, up, up, up, up, up, up, up, up, up, sy, sy, sy, sy, sy, // 0x50: P to Z
	sy, lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, // 0x60: `, a to o
	lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, sy, sy, sy, sy, sy, // 0x70: p to z
}
