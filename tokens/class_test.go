package tokens

import (
	"testing"
	"unicode"

	"github.com/dlclark/regexp2"
)

// TestClassesAreThoseOfThePatterns compares the class of every rune with the sets of the library's regular expressions.
func TestClassesAreThoseOfThePatterns(t *testing.T) {
	var all []rune
	for c := rune(0); c <= unicode.MaxRune; c += rune(scale) {
		all = append(all, c)
	}
	classes := make([]class, len(all))
	for k, set := range map[class]string{
		upper:    `[\p{Lu}\p{Lt}]`,
		lower:    `\p{Ll}`,
		caseless: `[\p{Lm}\p{Lo}]`,
		mark:     `\p{M}`,
		number:   `\p{N}`,
		newline:  `[\r\n]`,
		space:    `(?![\r\n])\s`,
		symbol:   `(?!\p{M})[^\s\p{L}\p{N}]`,
	} {
		expression := regexp2.MustCompile(set, regexp2.None)
		m, err := expression.FindRunesMatch(all)
		for ; m != nil; m, err = expression.FindNextMatch(m) {
			classes[m.Index] |= k
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range classes {
		c := all[i]
		if got := classOf(c); got != want {
			t.Errorf("class of %U: %08b, want %08b", c, got, want)
		}
	}
}
