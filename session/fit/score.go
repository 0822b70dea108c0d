package fit

import (
	"cmp"
	"slices"

	"strata/filecontext"
	"strata/stability"
)

// The priorities of items that have none of their own: context.md, "Items".
const (
	PriorityFile    = 100 // in full, and touched lately
	PriorityOldFile = 80  // in full, and not touched lately
	PriorityFacts   = 98
	PrioritySummary = 85
	PriorityMessage = 80 // the newest; falls by MessageStep to MessageLeast
	MessageStep     = 5
	MessageLeast    = 40
	PriorityDefault = 80
	PriorityOutline = 60
	PriorityUnit    = 50 // an earlier unit of work

	PriorityRecentOutline = 90 // of the file that was changed last
)

// TouchedRequests is for how many requests a file counts as touched lately after it was asked for or changed: as many as
// a file must stay unchanged to leave the active set.
const TouchedRequests = 3

// FilePriority returns the priority of a file that is shown.
func FilePriority(e *filecontext.Entry) int {
	if e.Held < TouchedRequests {
		return PriorityFile
	}
	return PriorityOldFile
}

// byScore sorts indices of items in the order of eviction: by rank, then by ascending priority, then documents before
// files before the conversation, then the oldest first.
func byScore(items []Item, order []int) {
	slices.SortStableFunc(order, func(a, b int) int {
		p, q := &items[a], &items[b]
		return cmp.Or(cmp.Compare(p.rank, q.rank), cmp.Compare(p.Priority, q.Priority), cmp.Compare(ageGroup(p), ageGroup(q)), cmp.Compare(p.Since, q.Since))
	})
}

func ageGroup(it *Item) int {
	switch {
	case it.Kind == stability.Message:
		return 2
	case it.File != nil:
		return 1
	}
	return 0
}

// evictable returns the indices of the items that may be evicted, in the order of eviction: not the pinned ones, the
// user's first message with its answer, the user's newest message with the newest steps of its turn, the newest message or
// the last two of the others. Nor files that are larger than goal: they could never come back whole, so they are truncated
// afterwards.
func evictable(items []Item, goal int) []int {
	var order, talk []int
	for i := range items {
		switch it := &items[i]; {
		case it.Kind == stability.Message:
			talk = append(talk, i)
		case !it.Pinned && !oversized(it, goal):
			order = append(order, i)
		}
	}
	const kept = 3 // the newest message and the last two of the others
	first, answer := firstExchange(items)
	stays := pinned(items)
	for n, i := range talk {
		if i != first && i != answer && !stays[i] && n < len(talk)-kept {
			order = append(order, i)
		}
	}
	byScore(items, order)
	return order
}

func oversized(it *Item, goal int) bool { return it.File != nil && it.Size() > goal }
