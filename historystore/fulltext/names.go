package fulltext

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NameQuery matches the titles and folders of sessions: each term is contained in the title or the folder. Case and accents
// are ignored. Terms are separated by spaces; a quoted text is one term.
type NameQuery struct{ terms []string }

// Names returns the query for a text. Only the first 32 terms and 1 KiB count.
func Names(text string) NameQuery {
	var q NameQuery
	for _, t := range split(text, func(w string) bool { return w != "" }) {
		q.terms = append(q.terms, Fold(t.text))
	}
	return q
}

// Empty reports whether the query has no terms. It then matches nothing.
func (q NameQuery) Empty() bool { return len(q.terms) == 0 }

// The ranks of a term by its place, from the best.
const (
	startsTitle = 5 - iota
	startsWord
	inTitle
	inFolderName
	inFolder
	missing = 0
)

// Match returns the rank of a session, higher for better matches; 0 if not all terms match.
func (q NameQuery) Match(title, folder string) (rank int) {
	title, folder = Fold(title), Fold(folder)
	for _, term := range q.terms {
		place := placeOf(term, title, folder)
		if place == missing {
			return 0
		}
		rank += place
	}
	return rank
}

func placeOf(term, title, folder string) int {
	switch {
	case strings.HasPrefix(title, term):
		return startsTitle
	case atWordStart(title, term):
		return startsWord
	case strings.Contains(title, term):
		return inTitle
	case strings.Contains(filepath.Base(folder), term):
		return inFolderName
	case strings.Contains(folder, term):
		return inFolder
	}
	return missing
}

// atWordStart reports whether a term is in a text after a character that is no letter or digit.
func atWordStart(text, term string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], term)
		if i < 0 {
			return false
		}
		at := from + i
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		from = at + len(term)
	}
}

// Marks returns the ranges of the terms in a title or folder, in order, without overlaps.
func (q NameQuery) Marks(text string) (marks []Mark) {
	f := foldWithPlaces(text)
	for _, term := range q.terms {
		for from := 0; ; {
			i := strings.Index(f.text[from:], term)
			if i < 0 {
				break
			}
			start := from + i
			from = start + len(term)
			marks = append(marks, f.original(start, from))
		}
	}
	return merged(marks)
}

func merged(marks []Mark) (out []Mark) {
	slices.SortFunc(marks, func(a, b Mark) int { return a.Start - b.Start })
	for _, m := range marks {
		if n := len(out); n > 0 && m.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, m.End)
		} else {
			out = append(out, m)
		}
	}
	return out
}
