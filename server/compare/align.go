package compare

import (
	"sort"

	"strata/history"
)

// pair is an item of the earlier request and the same of the later one, by their indexes; -1 for none.
type pair struct {
	before, after int
	equal         bool // the bytes are the same
	inOrder       bool // others are before and after it as in the earlier request
}

func (p pair) change() string {
	switch {
	case p.before < 0:
		return Added
	case p.after < 0:
		return Removed
	case !p.equal:
		return Changed
	case !p.inOrder:
		return Moved
	}
	return Same
}

// align pairs the items of two requests from an index on: those with the same bytes, then those with the same key and kind. The
// result has the order of the later request; what only the earlier one has is where it was among the others.
func align(before, after []history.RequestItem, from int) []pair {
	pairs := match(before, after, from)
	order(pairs)
	left := make([]bool, len(before))
	for i := from; i < len(before); i++ {
		left[i] = true
	}
	for _, p := range pairs {
		if p.before >= 0 {
			left[p.before] = false
		}
	}
	all := make([]pair, 0, len(pairs))
	next := from
	removeTo := func(end int) {
		for ; next < end; next++ {
			if left[next] {
				all = append(all, pair{before: next, after: -1})
			}
		}
	}
	for _, p := range pairs {
		if p.inOrder {
			removeTo(p.before)
		}
		all = append(all, p)
	}
	removeTo(len(before))
	return all
}

// match returns a pair for each item of the later request from an index on.
func match(before, after []history.RequestItem, from int) []pair {
	type identity struct{ key, kind, hash string }
	exact := func(it *history.RequestItem) identity { return identity{it.Key, it.Kind, it.Hash} }
	similar := func(it *history.RequestItem) identity { return identity{key: it.Key, kind: it.Kind} }

	pairs := make([]pair, 0, len(after)-from)
	for i := from; i < len(after); i++ {
		pairs = append(pairs, pair{before: -1, after: i})
	}
	taken := make([]bool, len(before))
	for round, id := range []func(*history.RequestItem) identity{exact, similar} {
		places := make(map[identity][]int)
		for i := from; i < len(before); i++ {
			if !taken[i] {
				places[id(&before[i])] = append(places[id(&before[i])], i)
			}
		}
		for i := range pairs {
			p := &pairs[i]
			key := id(&after[p.after])
			if found := places[key]; p.before < 0 && len(found) > 0 {
				p.before, p.equal, places[key] = found[0], round == 0, found[1:]
				taken[p.before] = true
			}
		}
	}
	return pairs
}

// order marks the pairs of a longest sequence that has the same order in both requests.
func order(pairs []pair) {
	var ends []int // index of the pair with which the best sequence of each length ends
	back := make([]int, len(pairs))
	for i := range pairs {
		if pairs[i].before < 0 {
			continue
		}
		n := sort.Search(len(ends), func(n int) bool { return pairs[ends[n]].before > pairs[i].before })
		if back[i] = -1; n > 0 {
			back[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return
	}
	for i := ends[len(ends)-1]; i >= 0; i = back[i] {
		pairs[i].inOrder = true
	}
}
