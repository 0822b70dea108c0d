package assembly

import (
	"maps"
	"slices"

	"strata/session/fit"
)

// Share is how a category of a request uses the budget that its profile gives it. Only the sum is enforced.
type Share struct {
	Name  string `json:"name"`
	Used  int    `json:"used"`
	Share int    `json:"share"`
}

// shares returns the share of each category in counted tokens, by name, the buffer last; nothing if the profile has no
// shares.
func (s *State) shares(b *Built) []Share {
	all := s.Profile.Budget.Shares
	if len(all) == 0 {
		return nil
	}
	used := map[string]int{fit.ShareBuffer: b.Categories[fit.CategoryOverhead]}
	for i := range b.Plan.Entries {
		e := &b.Plan.Entries[i]
		used[fit.ShareOf(all, e.Kind, e.Key)] += e.Tokens
	}
	buffer := s.Room()
	shares := make([]Share, 0, len(all)+1)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == fit.ShareBuffer {
			continue
		}
		shares = append(shares, Share{Name: name, Used: used[name], Share: all[name]})
		buffer -= all[name]
	}
	if own, ok := all[fit.ShareBuffer]; ok {
		buffer = own
	}
	return append(shares, Share{Name: fit.ShareBuffer, Used: used[fit.ShareBuffer], Share: max(buffer, 0)})
}
