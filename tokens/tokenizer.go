package tokens

import "unicode/utf8"

// tokenizer counts the tokens of texts in one encoding. It splits a text into pre-tokens and looks each up in the table of
// tokens. For the few that are not tokens, the library merges their bytes, which takes longer.
type tokenizer struct {
	pretoken func(text string) int // returns the length of the first pre-token of valid UTF-8
	ranks    map[string]int
	merge    func(pretoken string) int // returns the number of tokens in a pre-token that is not a token
}

// count returns the number of tokens in a chunk. If the library panics, count returns an estimate.
func (t *tokenizer) count(chunk string) (n int) {
	defer func() {
		if recover() != nil {
			n = estimate(utf8.RuneCountInString(chunk))
		}
	}()
	for text := valid(chunk); text != ""; {
		end := t.pretoken(text)
		n += t.countPretoken(text[:end])
		text = text[end:]
	}
	return n
}

func (t *tokenizer) countPretoken(pretoken string) int {
	if _, ok := t.ranks[pretoken]; ok {
		return 1
	}
	return t.merge(pretoken)
}

// valid returns text with each invalid byte replaced by U+FFFD, as the library does.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}
