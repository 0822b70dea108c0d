package digest

import (
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"strata/internal/clip"
)

// sentenceBytes is the maximum length of a sentence; the rest is ignored.
const sentenceBytes = 2_000

// sentenceWords is the maximum number of subjects and of specific things of a sentence that are looked at.
const sentenceWords = 64

// sentences yields the sentences of a text. It splits at newlines and after punctuation followed by a space, and removes
// list and heading signs.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimLeft(strings.TrimSpace(line), "-*#>•| \t")
			for line != "" {
				end := sentenceEnd(line)
				sentence := strings.TrimSpace(clip.Bytes(line[:end], sentenceBytes))
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

// Words yields the words of a text of three letters and more without stop words, in lower case and, roughly, without endings.
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
			if len(word) >= 3 && !stopWords()[word] && !yield(stem(word)) {
				return
			}
		}
	}
}

func stem(word string) string {
	for _, ending := range []string{"ing", "ed", "es", "s"} {
		if rest, cut := strings.CutSuffix(word, ending); cut && len(rest) >= 3 {
			return rest
		}
	}
	return word
}

var stopWords = wordSet(`about above after again all also and any are because been before being below between both but can
could did does doing done down during each else ever few for from further get gets give given goes going good got had has have having
her here him his how into its just know let like look made make makes many may might more most much must need needs new not now off
okay once one only onto other our out over own please put really right said same say see set shall she should show some still such
sure take than thank thanks that the their them then there these they thing things this those through too two under until use used
using very want was way well were what when where which while who why will with without would yes yet you your`)

// wordSet returns a function that returns a set of words, which is built at the first call.
func wordSet(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := make(map[string]bool)
		for _, word := range strings.Fields(words) {
			set[word] = true
		}
		return set
	})
}

// clipped truncates a text to about n bytes at a word.
func clipped(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = clip.Bytes(text, n)
	if space := strings.LastIndexByte(text, ' '); space > n/2 {
		text = text[:space]
	}
	return strings.TrimRight(text, " ,;:") + "…"
}
