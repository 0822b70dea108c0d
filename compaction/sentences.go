package compaction

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentenceBytes is the maximum length of a sentence; the rest is ignored.
const sentenceBytes = 2_000

// sentences yields the sentences of a text. It splits at newlines and after punctuation followed by a space, and removes
// list and heading signs.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimLeft(strings.TrimSpace(line), "-*#>•| \t")
			for line != "" {
				end := sentenceEnd(line)
				sentence := strings.TrimSpace(head(line[:end], sentenceBytes))
				line = strings.TrimLeft(line[end:], " \t")
				if hasWord(sentence) && !yield(sentence) {
					return
				}
			}
		}
	}
}

func hasWord(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) >= 0 }

// sentenceEnd returns the end of the first sentence of a line, in bytes.
func sentenceEnd(line string) int {
	for i := range len(line) - 1 {
		if strings.IndexByte(".!?", line[i]) >= 0 && line[i+1] == ' ' && i >= 2 {
			return i + 1
		}
		if wide := strings.HasPrefix(line[i:], "。") || strings.HasPrefix(line[i:], "？"); wide {
			return i + len("。")
		}
	}
	return len(line)
}

// head returns at most the first n bytes of text, without splitting a rune.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := 0; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(text[n]); i++ {
		n--
	}
	return text[:n]
}

// asks reports whether a sentence is a question.
func asks(sentence string) bool {
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？")
}

// subjects returns the words of a sentence that tell what it is about: those of four letters and more that are no stop words,
// in lower case and roughly without endings. A text without spaces counts as a word for each two characters.
func subjects(sentence string) []string {
	var words []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(sentence), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch {
		case isWide(word):
			for i, r := range word {
				if next := i + utf8.RuneLen(r); next < len(word) {
					_, size := utf8.DecodeRuneInString(word[next:])
					words = append(words, word[i:next+size])
				}
			}
		case utf8.RuneCountInString(word) >= 4 && !stopWords()[word]:
			words = append(words, stem(word))
		}
	}
	return words[:min(len(words), sentenceWords)]
}

// isWide reports whether a word begins in a script without spaces.
func isWide(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
