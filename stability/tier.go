package stability

import (
	"fmt"
	"slices"
	"strings"
)

// Tier says how stable an item has been.
type Tier int

// The tiers, most stable first. NoTier is where an item is before it comes and after it has gone.
const (
	NoTier Tier = iota
	L0
	L1
	L2
	L3
	Active

	tiers // how many values there are
)

var tierNames = [tiers]string{"", "L0", "L1", "L2", "L3", "active"}

// entryN is the N with which a tier is entered.
var entryN = [tiers]int{L0: 12, L1: 9, L2: 6, L3: 3, Active: 0}

// String returns the tier's name, empty for NoTier.
func (t Tier) String() string {
	if t < 0 || t >= tiers {
		return fmt.Sprintf("Tier(%d)", int(t))
	}
	return tierNames[t]
}

// MarshalText returns the tier's name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a tier's name.
func (t *Tier) UnmarshalText(text []byte) error {
	i := slices.Index(tierNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown tier %q", text)
	}
	*t = Tier(i)
	return nil
}

// Threshold returns the N at which an item leaves t upward; 0 for L0, which nothing leaves.
func (t Tier) Threshold() int {
	if t <= L0 || t > Active {
		return 0
	}
	return entryN[t-1]
}

// tierOf returns the tier that n unchanged replies amount to.
func tierOf(n int) Tier {
	for t := L0; t < Active; t++ {
		if n >= entryN[t] {
			return t
		}
	}
	return Active
}

// TierChange is one item's move between two requests, or within one tier its change.
type TierChange struct {
	Key      string
	From, To Tier
	Reason   string
}

// label is where an item stands.
type label struct {
	tier    Tier
	changed bool   // its content is not what it was
	reason  string // why it is there; empty: by its N
}

// changes compares the labels of two requests. The result is sorted by key.
func changes(from, to map[string]label) []TierChange {
	var out []TierChange
	for key, now := range to {
		was, known := from[key]
		if known && was.tier == now.tier && !now.changed {
			continue
		}
		out = append(out, TierChange{key, was.tier, now.tier, now.why(known)})
	}
	for key, was := range from {
		if _, stays := to[key]; !stays {
			out = append(out, TierChange{key, was.tier, NoTier, goneReason(key, to)})
		}
	}
	slices.SortFunc(out, func(a, b TierChange) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (l label) why(known bool) string {
	switch {
	case !known:
		return "new"
	case l.changed:
		return "changed"
	case l.reason != "":
		return l.reason
	}
	return fmt.Sprintf("unchanged for %d replies", entryN[l.tier])
}

func goneReason(key string, to map[string]label) string {
	if path, isFile := strings.CutPrefix(key, "file:"); isFile {
		if _, outlined := to["outline:"+path]; outlined {
			return "taken out, outline stays"
		}
	}
	return "removed"
}

// place gives each outline its first tier: clusters, largest first, each to the one of L1, L2, L3
// that has the fewest tokens. With less than the target for each, fewer tiers are filled, L1 first; with less than
// the target in all, none is. Outlines that are in no cluster are clusters of their own.
func place(outlines []Item, clusters [][]string, target int) map[string]Tier {
	groups, total := group(outlines, clusters)
	filled := 3
	if target > 0 {
		filled = min(filled, total/target)
	}
	placed := make(map[string]Tier, len(outlines))
	if filled == 0 {
		return placed
	}
	sums := make([]int, filled)
	for _, g := range groups {
		least := 0
		for i := range sums {
			if sums[i] < sums[least] {
				least = i
			}
		}
		sums[least] += g.tokens
		for _, key := range g.keys {
			placed[key] = L1 + Tier(least)
		}
	}
	return placed
}

type cluster struct {
	keys   []string // sorted
	tokens int
}

// group returns the clusters of outlines, largest first, ties by first key, and their tokens in all.
func group(outlines []Item, clusters [][]string) ([]cluster, int) {
	tokens := make(map[string]int, len(outlines))
	total := 0
	for i := range outlines {
		tokens[outlines[i].Key] = outlines[i].Tokens
		total += outlines[i].Tokens
	}
	var out []cluster
	take := func(keys ...string) {
		var c cluster
		for _, key := range keys {
			if n, ok := tokens[key]; ok {
				delete(tokens, key) // a key counts in the first cluster that names it
				c.keys, c.tokens = append(c.keys, key), c.tokens+n
			}
		}
		if len(c.keys) > 0 {
			slices.Sort(c.keys)
			out = append(out, c)
		}
	}
	for _, keys := range clusters {
		take(keys...)
	}
	for i := range outlines {
		take(outlines[i].Key)
	}
	slices.SortFunc(out, func(a, b cluster) int {
		if a.tokens != b.tokens {
			return b.tokens - a.tokens
		}
		return strings.Compare(a.keys[0], b.keys[0])
	})
	return out, total
}
