package tokens

import (
	"strings"
	"unicode/utf8"
)

// The encodings define their pre-tokens by regular expressions, whose alternatives are tried in order at the end of the
// previous pre-token. o200kPretoken and cl100kPretoken find the same pre-tokens. Each of the functions below them stands for
// one alternative or a part of it. It returns the length in bytes of its match at the start of text, 0 if there is none.
//
// The texts must be valid UTF-8. Each call examines at most one run of runes after its result, so a text is split in
// linear time.

// o200kPretoken returns the length of the first pre-token of text in o200k_base. text must not be empty. The pattern is
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func o200kPretoken(text string) int {
	if n := casedWord(text); n > 0 {
		return n + contraction(text[n:])
	}
	if n := numbers(text); n > 0 {
		return n
	}
	if n := symbols(text, "\r\n/"); n > 0 {
		return n
	}
	if n := lines(text); n > 0 {
		return n
	}
	return spaces(text)
}

// cl100kPretoken returns the length of the first pre-token of text in cl100k_base. text must not be empty. The pattern is
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func cl100kPretoken(text string) int {
	if n := contraction(text); n > 0 {
		return n
	}
	if n := word(text); n > 0 {
		return n
	}
	if n := numbers(text); n > 0 {
		return n
	}
	if n := symbols(text, "\r\n"); n > 0 {
		return n
	}
	if n := lines(text); n > 0 {
		return n
	}
	return spaces(text)
}

// run returns the length of the longest run of runes in the classes of set.
func run(text string, set class) int {
	for i, c := range text {
		if classOf(c)&set == 0 {
			return i
		}
	}
	return len(text)
}

// opening matches [^\r\n\p{L}\p{N}], the optional rune before the letters of a word.
func opening(text string) int {
	c, size := utf8.DecodeRuneInString(text)
	if classOf(c)&(letter|number|newline) != 0 {
		return 0
	}
	return size
}

// word matches [^\r\n\p{L}\p{N}]?\p{L}+
func word(text string) int {
	start := opening(text)
	if n := run(text[start:], letter); n > 0 {
		return start + n
	}
	return 0
}

// casedWord matches both alternatives for words of o200k_base, without the contraction. A mark can be the opening or a part
// of the word: the first alternative matches each word that starts with one, if necessary without opening. The second
// matches only what the first leaves: upper case.
func casedWord(text string) int {
	start := opening(text)
	if n := lowerEnding(text[start:]); n > 0 {
		return start + n
	}
	if n := lowerEnding(text[:start]); n > 0 {
		return n
	}
	if n := run(text[start:], upper); n > 0 {
		return start + n
	}
	return 0
}

// lowerEnding matches [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ as a regular expression does: the first part
// is as long as it can be, so the second begins at the first lower-case letter, else at the last rune that is in both sets.
func lowerEnding(text string) int {
	const both = caseless | mark
	end := 0 // of the last rune in both sets
	for i, c := range text {
		switch k := classOf(c); {
		case k == lower:
			return i + run(text[i:], lower|both)
		case k&both != 0:
			end = i + utf8.RuneLen(c)
		case k != upper:
			return end
		}
	}
	return end
}

// contraction matches (?i:'s|'t|'re|'ve|'m|'ll|'d). No rune except ASCII letters has one of these letters as lower case.
func contraction(text string) int {
	if text == "" || text[0] != '\'' {
		return 0
	}
	for _, letters := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if end := 1 + len(letters); end <= len(text) && strings.EqualFold(text[1:end], letters) {
			return end
		}
	}
	return 0
}

// numbers matches \p{N}{1,3}
func numbers(text string) int {
	count := 0
	for i, c := range text {
		if count == 3 || classOf(c) != number {
			return i
		}
		count++
	}
	return len(text)
}

// symbols matches " ?[^\s\p{L}\p{N}]+[tail]*" for a tail of ASCII characters.
func symbols(text, tail string) int {
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	n := run(text[start:], symbol|mark)
	if n == 0 {
		return 0
	}
	end := start + n
	for end < len(text) && strings.IndexByte(tail, text[end]) >= 0 {
		end++
	}
	return end
}

// lines matches \s*[\r\n]+
func lines(text string) int {
	return strings.LastIndexAny(text[:run(text, blank)], "\r\n") + 1
}

// spaces matches \s+(?!\S)|\s+
func spaces(text string) int {
	end := run(text, blank)
	if end == len(text) {
		return end
	}
	if _, last := utf8.DecodeLastRuneInString(text[:end]); last < end {
		return end - last
	}
	return end
}
