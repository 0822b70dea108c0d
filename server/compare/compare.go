// Package compare compares two requests of a session. It returns the unchanged prefix, the first change, where the cache ends,
// and a row with the change and its reason for each later item.
//
// It is pure: a comparison is a function of the two requests and of the edits of the view between them.
package compare

import (
	"cmp"
	"slices"

	"strata/history"
)

// The changes of an item between two requests.
const (
	Same      = "same"
	Added     = "added"
	Removed   = "removed"
	Changed   = "changed"
	Moved     = "moved"
	Shortened = "shortened"
)

// Comparison is the difference between an earlier and a later request.
type Comparison struct {
	Prefix Prefix `json:"prefix"`
	First  *First `json:"firstChange,omitempty"` // nil: the later request only continues the earlier one
	After  int    `json:"afterTokens"`           // counted tokens of the later request after the prefix
	Resent int    `json:"resentTokens"`          // of them, those that the earlier request contained too
	Rows   []Row  `json:"rows"`                  // after the prefix
}

// Prefix is the items at the start that both requests have, byte for byte.
type Prefix struct {
	Items  int `json:"items"`
	Tokens int `json:"tokens"` // counted
}

// First is the first change, where the provider's cache of the earlier request ends.
type First struct {
	Key    string `json:"key"`
	Kind   string `json:"kind"`
	Change string `json:"change"`
	Reason string `json:"reason"`
}

// Row is one item of either request, or the same item of both.
type Row struct {
	Change string `json:"change"`
	Key    string `json:"key"`
	Kind   string `json:"kind"`
	Before *Place `json:"before,omitempty"` // nil: not in the earlier request
	After  *Place `json:"after,omitempty"`  // nil: not in the later one
	Reason string `json:"reason,omitempty"`
	Edit   string `json:"editId,omitempty"` // of the edit of the view by which it left, or came
}

// Place is an item in one of the requests.
type Place struct {
	Index  int    `json:"index"`
	Tokens int    `json:"tokens"`
	Tier   string `json:"tier"`
	N      int    `json:"n"`
	Hash   string `json:"hash"`
	Mark   bool   `json:"mark,omitempty"`
	Dead   bool   `json:"dead,omitempty"`
}

// Requests compares two requests. edits are those of the view between them, in order.
func Requests(before, after *history.Request, edits []history.Edit) Comparison {
	n := prefix(before.Items, after.Items)
	c := Comparison{Prefix: Prefix{n, tokensOf(after.Items[:n])}, After: tokensOf(after.Items[n:]), Rows: []Row{}}
	why := newReasons(before, after, edits)
	for _, p := range align(before.Items, after.Items, n) {
		c.Rows = append(c.Rows, row(before, after, p, why))
		if p.before >= 0 && p.after >= 0 && sameBytes(&before.Items[p.before], &after.Items[p.after]) {
			c.Resent += after.Items[p.after].Tokens
		}
	}
	if n < len(before.Items) {
		c.First = first(c.Rows, n, after.Cut)
	}
	return c
}

// first returns the first change after a prefix: the earlier request's next item was changed, moved or removed, or another item is
// before it. If the change has no reason of its own, its reason is that of the rebuild.
func first(rows []Row, prefix int, cut string) *First {
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Before != nil && r.Before.Index == prefix && r.Change != Same })
	if i < 0 {
		i = slices.IndexFunc(rows, func(r Row) bool { return r.Change != Same })
	}
	r := &rows[i] // the items after the prefix are not the same, so there is one
	return &First{Key: r.Key, Kind: r.Kind, Change: r.Change, Reason: cmp.Or(r.Reason, cut)}
}

func row(before, after *history.Request, p pair, why *reasons) Row {
	var was, is *history.RequestItem
	r := Row{Change: p.change()}
	if p.before >= 0 {
		was = &before.Items[p.before]
		r.Key, r.Kind, r.Before = was.Key, was.Kind, place(p.before, was)
	}
	if p.after >= 0 {
		is = &after.Items[p.after]
		r.Key, r.Kind, r.After = is.Key, is.Kind, place(p.after, is)
	}
	why.explain(&r, was, is)
	return r
}

func place(i int, it *history.RequestItem) *Place {
	return &Place{Index: i, Tokens: it.Tokens, Tier: it.Tier, N: it.N, Hash: it.Hash, Mark: it.Mark, Dead: it.Dead}
}

func tokensOf(items []history.RequestItem) (sum int) {
	for i := range items {
		sum += items[i].Tokens
	}
	return sum
}

func sameBytes(a, b *history.RequestItem) bool {
	return a.Key == b.Key && a.Kind == b.Kind && a.Hash == b.Hash
}

// prefix returns the number of equal items at the start.
func prefix(a, b []history.RequestItem) (n int) {
	for n < len(a) && n < len(b) && sameBytes(&a[n], &b[n]) {
		n++
	}
	return n
}
