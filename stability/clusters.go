package stability

import (
	"slices"
	"strings"
)

// firstTiers returns the tiers in which the first outlines of the session start, and reports whether they have been placed
// with req or before. First are the outlines of the first request that introduces enough of them to fill a tier. The
// outline of a file that was sent in full with the last request is not introduced: it replaces the file, with N = 0.
// inside tells that req continues a turn: then `ripple` places none.
func (t *Tracker) firstTiers(req *Request, inside bool) (first map[string]Tier, placed bool) {
	if t.progress.placed {
		return nil, true
	}
	if t.kind == LayoutRipple && inside {
		return nil, false
	}
	var outlines []Item
	var known map[string]label // of the last request
	for i := range req.Items {
		it := &req.Items[i]
		if it.Kind != Outline {
			continue
		}
		if known == nil {
			known = labels(t.layout.sent())
		}
		_, stays := known[it.Key]
		_, replaces := known["file:"+strings.TrimPrefix(it.Key, "outline:")]
		if !stays && !replaces {
			outlines = append(outlines, *it)
		}
	}
	first = place(outlines, req.Clusters, t.target)
	return first, len(first) > 0
}

// place returns the first tier of each outline. It assigns clusters, largest first, to the one of L1, L2 and L3 with
// the fewest tokens. If there are too few tokens to bring each tier to the target, it fills fewer tiers, L1 first; if
// the total is below the target, it fills none. Outlines in no cluster form clusters of their own.
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

// group returns the clusters of outlines, largest first, ties by first key, and the total tokens.
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
				delete(tokens, key) // a key belongs to the first cluster that contains it
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
