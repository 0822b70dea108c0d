package fulltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// queryBytes and queryTerms bound a query; the rest is ignored.
	queryBytes = 1 << 10
	queryTerms = 32

	// prefixRunes is the minimum length of a term that also matches the start of longer words: shorter terms match too
	// many.
	prefixRunes = 3
)

// Mark is the range of a match in a snippet, in bytes. End is exclusive.
type Mark struct{ Start, End int }

// Unmark removes the marks and soft breaks from a snippet and returns the positions of the marks.
func Unmark(marked string) (snippet string, marks []Mark) {
	var out strings.Builder
	start := 0
	for _, r := range marked {
		switch r {
		case MarkStart:
			start = out.Len()
		case MarkEnd:
			marks = append(marks, Mark{start, out.Len()})
		case softBreak:
		default:
			out.WriteRune(r)
		}
	}
	return out.String(), marks
}

// Query converts text to a valid FTS5 query with quoted terms. The result is empty if text contains no words.
func Query(text string) string {
	var out []string
	for _, t := range terms(text) {
		quoted := `"` + strings.ReplaceAll(Searchable(t.text), `"`, `""`) + `"`
		if !t.exact && utf8.RuneCountInString(t.text) >= prefixRunes {
			quoted += "*"
		}
		out = append(out, quoted)
	}
	return strings.Join(out, " ")
}

type term struct {
	text  string
	exact bool // was in quotes
}

// terms splits a query at spaces and quotes. It omits terms without a letter or digit.
func terms(query string) []term {
	return split(query, func(w string) bool { return strings.ContainsFunc(w, isWordPart) })
}

// split splits a query at spaces and quotes into the terms that are wanted.
func split(query string, wanted func(string) bool) (found []term) {
	if len(query) > queryBytes {
		query = query[:queryBytes]
	}
	query = strings.ToValidUTF8(query, "")
	for i, part := range strings.Split(query, `"`) {
		quoted := i%2 == 1
		words := []string{part}
		if !quoted {
			words = strings.FieldsFunc(part, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		}
		for _, w := range words {
			if wanted(w) && len(found) < queryTerms {
				found = append(found, term{w, quoted})
			}
		}
	}
	return found
}

func isWordPart(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
