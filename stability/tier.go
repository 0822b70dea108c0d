package stability

import (
	"fmt"
	"slices"
	"strings"
)

// Tier is a level of stability of an item.
type Tier int

// The tiers, most stable first. NoTier is used in changes of items that are added or removed.
const (
	NoTier Tier = iota
	L0
	L1
	L2
	L3
	Active

	tiers // the number of values
)

var tierNames = [tiers]string{"", "L0", "L1", "L2", "L3", "active"}

// entryN is the N of an item that enters a tier.
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

// UnmarshalText parses a tier's name.
func (t *Tier) UnmarshalText(text []byte) error {
	i := slices.Index(tierNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown tier %q", text)
	}
	*t = Tier(i)
	return nil
}

// Threshold returns the N at which an item moves from t to the next more stable tier; 0 for L0 and NoTier.
func (t Tier) Threshold() int {
	if t <= L0 || t > Active {
		return 0
	}
	return entryN[t-1]
}

// tierOf returns the tier of an item that was unchanged for n replies.
func tierOf(n int) Tier {
	for t := L0; t < Active; t++ {
		if n >= entryN[t] {
			return t
		}
	}
	return Active
}

// TierChange is an item's move to another tier between two requests, or a change of its content within a tier.
type TierChange struct {
	Key      string
	From, To Tier
	Reason   string
}

// label is the tier of an item in a request.
type label struct {
	tier    Tier
	changed bool   // its content has changed
	reason  string // for the tier; empty: its N
}

// changes returns the differences between the labels of two requests, sorted by key.
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
			return "removed, outline remains"
		}
	}
	return "removed"
}
