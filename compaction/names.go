package compaction

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

// pathIn returns the path or URL in a term, without a line number after it, and reports whether there is one.
func pathIn(term string) (string, bool) {
	if web := strings.HasPrefix(term, "http://") || strings.HasPrefix(term, "https://"); web && len(term) <= longestTerm {
		return term, true
	}
	if at := strings.IndexByte(term, ':'); at > 1 { // not the colon of C:\
		term = term[:at]
	}
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
