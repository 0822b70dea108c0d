package digest

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// messageTerms is the maximum number of terms examined in a message.
const messageTerms = 2_000

// terms yields the words of a text that could be paths or names in code.
func terms(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		n := 0
		for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return !inTerm(r) }) {
			if n++; n > messageTerms || !yield(strings.TrimRight(strings.TrimLeft(field, ":+-"), ".:+-")) {
				return
			}
		}
	}
}

func inTerm(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(`_./\~@:+-`, r))
}

// longestTerm is the maximum length of a path, in bytes: longer ones are not useful in a summary.
const longestTerm = 200

// pathIn returns the path or URL in a term, with the line number after it, and reports whether there is one.
func pathIn(term string) (string, bool) {
	if isWeb(term) && len(term) <= longestTerm {
		return term, true
	}
	term, line := cutLine(term)
	path, ok := plainPath(term)
	return path + line, ok
}

func isWeb(term string) bool {
	return strings.HasPrefix(term, "http://") || strings.HasPrefix(term, "https://")
}

// cutLine cuts a path before its colon, and returns the line number after it with the colon, empty for none. The colon of C:\
// belongs to the path.
func cutLine(term string) (path, line string) {
	at := strings.IndexByte(term, ':')
	if at <= 1 {
		return term, ""
	}
	digits := strings.IndexFunc(term[at+1:], func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(term) - at - 1
	}
	if digits == 0 {
		return term[:at], ""
	}
	return term[:at], term[at : at+1+digits]
}

// plainPath returns a term and reports whether it is a path.
func plainPath(term string) (string, bool) {
	if len(term) > longestTerm || strings.IndexFunc(term, unicode.IsLetter) < 0 {
		return "", false
	}
	folders := strings.FieldsFunc(term, isSlash)
	if len(folders) == 0 {
		return "", false
	}
	name := folders[len(folders)-1]
	stem, ending := splitName(name)
	slashes := strings.Count(term, "/") + strings.Count(term, `\`)
	switch {
	case slashes == 0:
		return term, stem != "" && endings()[ending] || fileNames()[name]
	case slashes == 1 && !isSlash(rune(term[0])):
		return term, ending != "" || strings.HasPrefix(name, ".")
	default:
		return term, len(folders) > 1 || ending != ""
	}
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

// splitName returns a file name without its extension, and the extension in lower case, empty for none.
func splitName(name string) (stem, ending string) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 || len(name)-at > 7 || at+1 == len(name) || !unicode.IsLetter(rune(name[at+1])) {
		return name, ""
	}
	return name[:at], strings.ToLower(name[at+1:])
}

// endings are the extensions that distinguish a file name from another word with a dot.
var endings = wordSet(`bash c cc cfg conf cpp cs css csv dart diff el env erl ex exs go gradle graphql h hpp hs html ini ipynb java js json
jsonl jsx kt lock log lua m md mod mjs ml patch php pl plist proto ps1 py r rb rs rst scala scss sh sql sum svelte swift tf toml ts tsx
txt vim vue wasm xml yaml yml zig zsh`)

var fileNames = wordSet(`Makefile Dockerfile Jenkinsfile Gemfile Rakefile Procfile Vagrantfile LICENSE README CHANGELOG`)

// isName reports whether a term looks like a name in code: with_underscores or camelCase.
func isName(term string) bool {
	if len(term) < 4 || len(term) > longestTerm/4 || strings.ContainsAny(term, `/\~@:+-`) {
		return false
	}
	small, under, hump := false, false, false
	for _, r := range term {
		hump = hump || small && unicode.IsUpper(r)
		small = unicode.IsLower(r)
		under = under || r == '_'
	}
	return hump || under && strings.IndexFunc(term, unicode.IsLetter) >= 0
}

// isTerm reports whether a term names something particular: a name in code, an identifier with digits, a version, a port.
func isTerm(term string) bool {
	if len(term) < 3 || len(term) > longestTerm/4 || isWeb(term) {
		return false
	}
	letters, digits, dots, inner := 0, 0, 0, false
	for i, r := range term {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			inner = inner || i > 0 && unicode.IsUpper(r)
		case r == '.':
			dots++
		}
	}
	switch {
	case isName(term):
		return true
	case letters == 0:
		return digits >= 3 && (dots >= 2 && digits < 7 || term[0] == ':')
	case digits >= 2 && letters >= 3 || digits >= 1 && letters >= 1 && strings.ContainsRune(term, '-'):
		return true
	}
	return dots == 1 && inner && !strings.ContainsAny(term, `/\:`) // Type.Method
}

// spans yields the short texts between backticks, without spaces.
func spans(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, span := range strings.Split(text, "`") {
			if i%2 == 1 && len(span) >= 3 && len(span) <= longestTerm/4 && !strings.ContainsAny(span, " \t\n,") && !yield(span) {
				return
			}
		}
	}
}
