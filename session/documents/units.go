package documents

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/history"
	"strata/session/fit"
	"strata/session/profile"
)

// StatusApproved is the status of a unit whose implementation is good.
const StatusApproved = "approved"

// IsUnit reports whether a document is a unit of work other than the current one.
func IsUnit(d *history.Document) bool {
	return d.Name != fit.DocumentUnit && (d.Status != "" || d.Implementation != "")
}

// EarlierUnits returns the units whose implementation a phase shows, the newest first: the newest of the approved ones, or
// those that the failures name.
func EarlierUnits(documents []history.Document, phase *profile.Phase) []history.Document {
	failures := textNamed(documents, Failures)
	var units []history.Document
	for _, d := range documents {
		if !IsUnit(&d) || strings.TrimSpace(d.Implementation) == "" {
			continue
		}
		if phase.Units > 0 && d.Status == StatusApproved || phase.FailingUnits && names(failures, &d) {
			units = append(units, d)
		}
	}
	slices.SortStableFunc(units, func(a, b history.Document) int {
		return cmp.Or(cmp.Compare(b.Order, a.Order), b.At.Compare(a.At))
	})
	if phase.Units > 0 && !phase.FailingUnits {
		units = units[:min(len(units), phase.Units)]
	}
	return units
}

func textNamed(documents []history.Document, name string) string {
	for i := range documents {
		if documents[i].Name == name {
			return documents[i].Text
		}
	}
	return ""
}

// names reports whether a text names a unit, by name or by path.
func names(text string, d *history.Document) bool {
	return hasWord(text, d.Name) || d.Path != "" && strings.Contains(text, d.Path)
}

// hasWord reports whether a text contains a word, in any case: at the start of a word of the text or of a part of it in camel
// case, and up to the end of one.
func hasWord(text, word string) bool {
	if word == "" {
		return false
	}
	var before rune
	for at, r := range text {
		if startsWord(before, r) {
			if rest, ok := cutFold(text[at:], word); ok && endsWord(rest) {
				return true
			}
		}
		before = r
	}
	return false
}

// startsWord reports whether a word starts with r after before.
func startsWord(before, r rune) bool {
	return !inWord(before) || unicode.IsUpper(r) && !unicode.IsUpper(before)
}

// endsWord reports whether a word ends before rest.
func endsWord(rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !inWord(next) || unicode.IsUpper(next)
}

// cutFold returns text without a prefix that has the letters of word, in any case.
func cutFold(text, word string) (rest string, ok bool) {
	for _, want := range word {
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 || unicode.ToLower(r) != unicode.ToLower(want) {
			return "", false
		}
		text = text[size:]
	}
	return text, true
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Shown returns the documents that a phase of a profile shows: those whose own phases or whose name the phase has, and
// those that belong to no phase. Units are shown with their implementation, see EarlierUnits.
func Shown(documents []history.Document, p *profile.Profile, phase string) []history.Document {
	current, ok := p.Phase(phase)
	if !ok {
		return documents
	}
	shown := make([]history.Document, 0, len(documents))
	for _, d := range documents {
		if !IsUnit(&d) && inPhase(&d, &current, p.Phases) {
			shown = append(shown, d)
		}
	}
	return shown
}

// inPhase reports whether a phase shows a document.
func inPhase(d *history.Document, phase *profile.Phase, all []profile.Phase) bool {
	if len(d.Phases) > 0 {
		return slices.Contains(d.Phases, phase.ID)
	}
	return phase.Names(d.Name) || !slices.ContainsFunc(all, func(p profile.Phase) bool { return p.Names(d.Name) })
}
