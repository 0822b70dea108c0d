package index

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The bounds of a query.
const (
	maxQuery = 400 // bytes
	maxWords = 8
)

// stopWords are left out of a query with other words: a question consists of them but for its subject.
var stopWords = sync.OnceValue(func() map[string]bool {
	return wordSet(`a about all an and any are as at be been by can code could do does did file files find for from function
	functions get gets given go has have how i if in into is it its list made make makes me method my of on or our please show
	source tell that the their them there these they this those to us use used uses using was we were what when where which who
	whose why will with would you your`)
})

func wordSet(text string) map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// queryWords returns the words of a query in lower case, at most maxWords, each once. Several words are those of a
// question, of which stop words do not count unless there are no others. One word is a name.
func queryWords(query string) []string {
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	var all, some []string
	seen := make(map[string]bool)
	for _, word := range strings.FieldsFunc(query, func(c rune) bool { return !isWordRune(c) }) {
		word = strings.ToLower(strings.Trim(word, "_"))
		if word == "" || seen[word] {
			continue
		}
		seen[word] = true
		all = append(all, word)
		if !stopWords()[word] {
			some = append(some, word)
		}
	}
	if len(some) == 0 {
		some = all
	}
	return some[:min(len(some), maxWords)]
}

func isWordRune(c rune) bool {
	return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}

// parts splits a name at characters that are no letters or digits and where the case changes, and returns the parts in
// lower case: "HTTPServer_v2" is http, server, v2.
func parts(name string) []string {
	var out []string
	start, last := -1, rune(0)
	for at, c := range name {
		inWord := unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
		switch {
		case !inWord:
			if start >= 0 {
				out = append(out, strings.ToLower(name[start:at]))
			}
			start = -1
		case start < 0:
			start = at
		case unicode.IsUpper(c) && (!unicode.IsUpper(last) || startsLower(name[at+utf8.RuneLen(c):])):
			out = append(out, strings.ToLower(name[start:at]))
			start = at
		}
		last = c
	}
	if start >= 0 {
		out = append(out, strings.ToLower(name[start:]))
	}
	return out
}

func startsLower(text string) bool {
	c, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLower(c)
}

// The classes of a match of a word with a name, best first. Inside a class shorter names are better, by less than
// classStep.
const (
	classStep  = 100
	exact      = 7 * classStep // the name
	prefixed   = 6 * classStep // the name starts with the word
	part       = 5 * classStep // a part of the name
	partStart  = 4 * classStep // a part of the name starts with the word
	stem       = 3 * classStep // a part of the name and the word have the same stem
	contained  = 2 * classStep // the name contains the word
	scattered  = 1 * classStep // the name contains the characters of the word in this order
	minStem    = 4             // bytes
	minScatter = 3             // bytes
)

// name is a text that words are matched with.
type name struct {
	lower string
	last  string // of a name such as Type.Method, the part behind the last dot
	parts []string
}

func newName(text string) name {
	lower := strings.ToLower(text)
	return name{lower, lower[strings.LastIndexAny(lower, ".:#")+1:], parts(text)}
}

// mayMatch reports whether a word can match a name in lower case. It is a quick check: most names match no word.
func mayMatch(word, lower string) bool {
	return isSubsequence(word, lower) || len(word) >= minStem && strings.Contains(lower, word[:minStem])
}

// match returns the score of a word for a name, 0 if it does not match.
func (n *name) match(word string) int {
	class := n.class(word)
	if class == 0 {
		return 0
	}
	return class + (classStep-1)*min(len(word), len(n.lower))/max(len(word), len(n.lower))
}

func (n *name) class(word string) int {
	if n.lower == word || n.last == word {
		return exact
	}
	if strings.HasPrefix(n.lower, word) || strings.HasPrefix(n.last, word) {
		return prefixed
	}
	best := 0
	for _, p := range n.parts {
		switch {
		case p == word:
			return part
		case strings.HasPrefix(p, word):
			best = max(best, partStart)
		case sameStem(p, word):
			best = max(best, stem)
		}
	}
	switch {
	case best > 0:
		return best
	case strings.Contains(n.lower, word):
		return contained
	case len(word) >= minScatter && isSubsequence(word, n.lower):
		return scattered
	}
	return 0
}

// sameStem reports whether two words differ only at the end, like file and files, or compacted and compaction.
func sameStem(a, b string) bool {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	return same >= minStem && len(a)-same <= 3 && len(b)-same <= 3
}

// isSubsequence reports whether text contains the characters of word in their order.
func isSubsequence(word, text string) bool {
	for _, c := range word {
		at := strings.IndexRune(text, c)
		if at < 0 {
			return false
		}
		text = text[at+utf8.RuneLen(c):]
	}
	return true
}
