package session

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/history"
	"strata/session/profile"
)

// The documents of the work in phases.
const (
	documentUnit     = "unit"     // the current one
	documentFailures = "failures" // of tests
	statusApproved   = "approved"
)

// unitShare is the part of what is left beside everything else that earlier units may have: a half.
const unitShare = 2

// isUnit reports whether a document is a unit of work, the current one apart.
func isUnit(d *history.Document) bool {
	return d.Name != documentUnit && (d.Status != "" || d.Implementation != "")
}

// earlierUnits returns the units whose implementation a phase shows, the newest first: the newest of those that are
// approved, or those that the failures name.
func earlierUnits(documents []history.Document, phase *profile.Phase) []history.Document {
	failures := textNamed(documents, documentFailures)
	var units []history.Document
	for _, d := range documents {
		if !isUnit(&d) || strings.TrimSpace(d.Implementation) == "" {
			continue
		}
		if phase.Units > 0 && d.Status == statusApproved || phase.FailingUnits && names(failures, &d) {
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

// names reports whether a text names a unit, by its name or its path.
func names(text string, d *history.Document) bool {
	return hasWord(text, d.Name) || d.Path != "" && strings.Contains(text, d.Path)
}

// hasWord reports whether word stands in a text with no letter, digit or underline at its sides.
func hasWord(text, word string) bool {
	for at := 0; word != ""; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			break
		}
		begin, end := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		behind, _ := utf8.DecodeRuneInString(text[end:])
		if !inWord(before) && !inWord(behind) {
			return true
		}
		at = end
	}
	return false
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// unitPieces returns the earlier units, as many of the newest as have room in their share of what the request leaves
// beside everything else. One that was sent stays, whatever came beside it since: it goes when the window is full.
func (s *snapshot) unitPieces(b *built, others int) []piece {
	if s.phase == nil {
		return nil
	}
	room := (s.capacity(s.room()) - others) / unitShare
	sent := make(map[string]string)
	for _, e := range s.layout.entries() {
		if isDocument(&e) && !e.Dead {
			sent[e.Key] = e.Blob
		}
	}
	var pieces []piece
	for _, d := range earlierUnits(s.all, s.phase) {
		p, shown := s.shownDocument(b, d)
		switch {
		case !shown:
		case sent[p.Key] == p.Hash, p.size() <= room:
			room -= p.size()
			p.since, p.unit = int64(d.Order), true
			pieces = append(pieces, p)
		default:
			b.leftOut = append(b.leftOut, LeftOut{Key: p.Key, Tokens: p.Tokens, Reason: reasonBudget, Score: p.priority})
		}
	}
	slices.Reverse(pieces)
	return pieces
}

// body returns what is shown of a document: in a phase what was made of a unit.
func (s *snapshot) body(d *history.Document) string {
	if s.showsUnit(d) {
		return d.Implementation
	}
	return d.Text
}

func (s *snapshot) showsUnit(d *history.Document) bool { return s.phase != nil && isUnit(d) }

// phaseDocuments returns the documents that the phase in force shows: those whose own phases or whose name it has, and
// those that belong to no phase. Units are shown with what was made of them, see unitPieces.
func (m *ContextManager) phaseDocuments() []history.Document {
	phase, ok := m.profile.Phase(m.phase)
	if !ok {
		return m.documents
	}
	shown := make([]history.Document, 0, len(m.documents))
	for _, d := range m.documents {
		if !isUnit(&d) && inPhase(&d, &phase, m.profile.Phases) {
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
