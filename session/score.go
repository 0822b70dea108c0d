package session

import (
	"cmp"
	"slices"

	"strata/filecontext"
	"strata/stability"
)

// The priorities of what has none of its own: context.md, "Items".
const (
	priorityFile    = 100 // in full, and touched lately
	priorityOldFile = 80  // in full, and not
	priorityFacts   = 98
	prioritySummary = 85
	priorityMessage = 80 // the newest; falls by messageStep to messageLeast
	messageStep     = 5
	messageLeast    = 40
	priorityDefault = 80
	priorityUnit    = 50 // an earlier unit of work
)

// touchedRequests is for how many requests a file counts as touched lately once it was asked for or changed: as
// many as a file must stay unchanged to leave the active set.
const touchedRequests = 3

// filePriority returns the priority of a file that is shown.
func filePriority(e *filecontext.Entry) int {
	if e.Held < touchedRequests {
		return priorityFile
	}
	return priorityOldFile
}

// byScore sorts indices of pieces, what goes first in front: by ascending priority, of equals documents in front
// of files in front of the conversation, and of these the oldest.
func byScore(pieces []piece, order []int) {
	slices.SortStableFunc(order, func(a, b int) int {
		p, q := &pieces[a], &pieces[b]
		return cmp.Or(cmp.Compare(p.rank, q.rank), cmp.Compare(p.priority, q.priority), cmp.Compare(ageGroup(p), ageGroup(q)), cmp.Compare(p.since, q.since))
	})
}

func ageGroup(p *piece) int {
	switch {
	case p.Kind == stability.Message:
		return 2
	case p.file != nil:
		return 1
	}
	return 0
}
