package text

import (
	"maps"
	"slices"
)

const (
	// coreShare is the divisor of the budget that belongs to the nearest files, whatever was shown before.
	coreShare = 2
	// maxMisses is the number of files in a row that are measured and do not fit; the search then ends.
	maxMisses = 16
)

// Select chooses the files that are shown within a budget of tokens, and returns their paths, sorted. candidates are
// ordered by nearness, nearest first; those without an outline are skipped. shown are the paths of the previous choice.
//
// The choice is sticky. Three groups fill the budget, each nearest first: the nearest files that fit half of it, whether
// they were shown or not, up to one that exceeds the rest of the half (files larger than the half are skipped); then those
// that were shown; then the others, up to 16 in a row that do not fit. So a file that
// was shown leaves only if it is no candidate any more, if the files have grown, or if other files come among the nearest
// half. With its own result as shown, Select returns the same result.
func Select(budget int, count func(string) int, candidates []File, shown []string) []string {
	s := selection{room: budget, count: count, tokens: make(map[string]int), full: make(map[string]bool)}
	s.takeCore(candidates, budget/coreShare)
	before := make(map[string]bool, len(shown))
	for _, p := range shown {
		before[p] = true
	}
	for _, f := range candidates {
		if before[f.Path] && f.Outline != nil {
			s.take(f)
		}
	}
	misses := 0
	for _, f := range candidates {
		if misses >= maxMisses {
			break
		}
		if f.Outline == nil || s.full[f.Path] {
			continue
		}
		if s.take(f) {
			misses = 0
		} else {
			misses++
		}
	}
	return slices.Sorted(maps.Keys(s.full))
}

// A selection is the choice so far.
type selection struct {
	room   int // tokens that are left
	count  func(string) int
	tokens map[string]int // of the files that were measured
	full   map[string]bool
}

// takeCore takes the nearest files until one does not fit half of the room. Larger files than that are skipped.
func (s *selection) takeCore(candidates []File, half int) {
	left, skipped := half, 0
	for _, f := range candidates {
		if f.Outline == nil {
			continue
		}
		switch n := s.size(f); {
		case n <= left && s.take(f):
			left -= n
		case n <= half:
			return
		default:
			if skipped++; skipped == maxMisses {
				return
			}
		}
	}
}

// take takes a file if it fits, and reports whether it is taken.
func (s *selection) take(f File) bool {
	if s.full[f.Path] {
		return true
	}
	n := s.size(f)
	if n > s.room {
		return false
	}
	s.full[f.Path] = true
	s.room -= n
	return true
}

// size returns the tokens of a file without aliases, which only make it smaller.
func (s *selection) size(f File) int {
	n, known := s.tokens[f.Path]
	if !known {
		n = s.count(Block(f, Aliases{}))
		s.tokens[f.Path] = n
	}
	return n
}
