package fit

import (
	"cmp"
	"slices"

	"strata/filecontext"
	"strata/history"
)

// Absent is a document or a file of which an earlier request omitted all or a part, because it did not fit.
type Absent struct {
	Item     Item // as it would be whole
	Missing  int  // tokens
	Document history.DocumentCut
	File     *filecontext.Entry // as it was requested; nil for a document
}

// Returning returns the changes that make documents and files whole for which there is room again, in a request that has
// used tokens: required documents first, then by priority, the newest of equal ones first. Required documents may fill the
// room; all others together have kept tokens of it, so that what returns does not cause the next eviction.
func Returning(all []Absent, used, kept, room int) (changes Changes) {
	slices.SortStableFunc(all, func(a, b Absent) int {
		p, q := &a.Item, &b.Item
		return cmp.Or(first(p.Required, q.Required), first(q.Unit, p.Unit), cmp.Compare(q.Priority, p.Priority), cmp.Compare(q.Since, p.Since))
	})
	for _, a := range all {
		most := kept
		if a.Item.Required {
			most = room
		}
		if used+a.Missing > most {
			continue
		}
		used += a.Missing
		if a.File != nil {
			changes.Files = append(changes.Files, FileChange{Path: a.File.Path, Lines: a.File.Range, Returns: true})
		} else {
			changes.Returned = append(changes.Returned, a.Document)
		}
	}
	return changes
}

// first compares two items of which one with a property comes first.
func first(p, q bool) int {
	switch {
	case p == q:
		return 0
	case p:
		return -1
	}
	return 1
}
