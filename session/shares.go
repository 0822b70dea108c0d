package session

import (
	"maps"
	"slices"
	"strings"

	"strata/stability"
)

// Share is what a category of a request has of the budget that its profile gives it. Only the sum is enforced.
type Share struct {
	Name  string `json:"name"`
	Used  int    `json:"used"`
	Share int    `json:"share"`
}

// The categories of shares that are no document and no category of the breakdown.
const (
	shareCurrent = "current" // the unit and its tests
	shareBuffer  = "buffer"  // everything else
)

// shareOf returns the name of the share that an item counts to.
func shareOf(shares map[string]int, kind stability.Kind, key string) string {
	name, document := strings.CutPrefix(key, documentPrefix)
	e := stability.Entry{Kind: kind, Key: key}
	if kind == stability.File {
		e.Kind = stability.Base
	}
	candidates := []string{categoryOf(&e)}
	if document {
		candidates = []string{name, categoryDocuments}
		if name == documentUnit || name == "tests" {
			candidates = []string{name, shareCurrent, categoryDocuments}
		}
	}
	for _, candidate := range candidates {
		if _, ok := shares[candidate]; ok {
			return candidate
		}
	}
	return shareBuffer
}

// shares returns what of its budget each category has, by name, the buffer last; nothing where the profile has no
// shares. Numbers are counted tokens.
func (s *snapshot) shares(b *built) []Share {
	all := s.profile.Budget.Shares
	if len(all) == 0 {
		return nil
	}
	used := map[string]int{shareBuffer: b.categories[categoryOverhead]}
	for i := range b.plan.Entries {
		e := &b.plan.Entries[i]
		used[shareOf(all, e.Kind, e.Key)] += e.Tokens
	}
	buffer := s.room()
	shares := make([]Share, 0, len(all)+1)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == shareBuffer {
			continue
		}
		shares = append(shares, Share{Name: name, Used: used[name], Share: all[name]})
		buffer -= all[name]
	}
	if own, ok := all[shareBuffer]; ok {
		buffer = own
	}
	return append(shares, Share{Name: shareBuffer, Used: used[shareBuffer], Share: max(buffer, 0)})
}

// The order in which a profile with shares makes room.
const (
	rankUnit    = iota // earlier units
	rankMessage        // older messages
	rankOver           // the rest: of categories above their share
	rankRest
)

// rank sets in which order pieces go. Without shares only their priorities say so.
func (s *snapshot) rank(pieces []piece) {
	all := s.profile.Budget.Shares
	if len(all) == 0 {
		return
	}
	used := make(map[string]int)
	for i := range pieces {
		used[shareOf(all, pieces[i].Kind, pieces[i].Key)] += pieces[i].size()
	}
	for i := range pieces {
		p := &pieces[i]
		name := shareOf(all, p.Kind, p.Key)
		switch {
		case p.unit:
			p.rank = rankUnit
		case p.Kind == stability.Message:
			p.rank = rankMessage
		case name != shareBuffer && used[name] > all[name]:
			p.rank = rankOver
		default:
			p.rank = rankRest
		}
	}
}

// untrimmed reports whether a document has to stay whole.
func (s *snapshot) untrimmed(name string) bool {
	return slices.Contains(s.profile.Budget.Untrimmed, name)
}
