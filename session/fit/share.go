package fit

import (
	"slices"
	"strings"

	"strata/session/profile"
	"strata/stability"
)

// The categories of shares that are neither a document nor a category of the breakdown.
const (
	ShareCurrent = "current" // the unit and its tests
	ShareBuffer  = "buffer"  // everything else
)

// The documents of the current unit of work.
const (
	DocumentUnit  = "unit"
	DocumentTests = "tests"
)

// ShareOf returns the name of the share that an item or entry counts to.
func ShareOf(shares map[string]int, kind stability.Kind, key string) string {
	candidates := []string{Category(kind, key)}
	if name, document := strings.CutPrefix(key, DocumentPrefix); document {
		candidates = []string{name, CategoryDocuments}
		if name == DocumentUnit || name == DocumentTests {
			candidates = []string{name, ShareCurrent, CategoryDocuments}
		}
	}
	for _, candidate := range candidates {
		if _, ok := shares[candidate]; ok {
			return candidate
		}
	}
	return ShareBuffer
}

// The order in which a profile with shares makes room.
const (
	rankUnit    = iota // earlier units
	rankMessage        // older messages
	rankOver           // the rest: of categories above their share
	rankRest
	rankFailed   // steps that failed
	rankRequired // documents that the phase requires
)

// rank sets the ranks of items. Without shares all have one rank, but for
// failed steps and required documents.
func rank(items []Item, budget *profile.Budget) {
	all := budget.Shares
	used := make(map[string]int)
	for i := range items {
		used[ShareOf(all, items[i].Kind, items[i].Key)] += items[i].Size()
	}
	for i := range items {
		it := &items[i]
		name := ShareOf(all, it.Kind, it.Key)
		switch {
		case it.Required:
			it.rank = rankRequired
		case it.Failed:
			it.rank = rankFailed
		case len(all) == 0:
			it.rank = rankRest
		case it.Unit:
			it.rank = rankUnit
		case it.Kind == stability.Message:
			it.rank = rankMessage
		case name != ShareBuffer && used[name] > all[name]:
			it.rank = rankOver
		default:
			it.rank = rankRest
		}
	}
}

// Untrimmed reports whether a document has to stay whole.
func Untrimmed(budget *profile.Budget, name string) bool {
	return slices.Contains(budget.Untrimmed, name)
}
