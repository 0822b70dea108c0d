package fit

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/session/profile"
	"strata/stability"
)

func TestByScore(t *testing.T) {
	items := []Item{
		{Priority: 80},
		{Priority: 80, Since: 9, File: nil},
		{Priority: 40},
		{Priority: 80, Since: 3},
		{Priority: 50, Since: 2},
		{Priority: 50, Since: -1},
	}
	order := []int{0, 1, 2, 3, 4, 5}
	byScore(items, order)
	if diff := cmp.Diff([]int{2, 5, 4, 0, 3, 1}, order); diff != "" {
		t.Error(diff)
	}
}

func TestRanks(t *testing.T) {
	budget := profile.Budget{Shares: map[string]int{"types": 10, "history": 5}}
	item := func(key string, kind stability.Kind, tokens int) Item {
		return Item{Item: stability.Item{Key: key, Kind: kind, Tokens: tokens}}
	}
	items := []Item{
		item("doc:types", stability.Document, 11), item("doc:notes", stability.Document, 500), item("msg:1", stability.Message, 9),
		item("file:a", stability.File, 100), item("doc:u1", stability.Document, 1),
	}
	items[4].Unit = true
	rank(items, &budget)
	var ranks []int
	for _, p := range items {
		ranks = append(ranks, p.rank)
	}
	if diff := cmp.Diff([]int{rankOver, rankRest, rankMessage, rankRest, rankUnit}, ranks); diff != "" {
		t.Error(diff)
	}
}

// The user's first message, the newest message and the two before it are not evicted, nor is what is pinned.
func TestWhatIsNeverEvicted(t *testing.T) {
	talk := Conversation([]history.Viewed{
		{Head: history.Head{ID: "reply"}}, {Head: history.Head{ID: "first", Role: history.RoleUser}}, {Head: history.Head{ID: "c"}}, {Head: history.Head{ID: "d"}},
		{Head: history.Head{ID: "e"}}, {Head: history.Head{ID: "f"}}, {Head: history.Head{ID: "newest", Role: history.RoleUser}},
	})
	pinned := Item{Item: stability.Item{Key: "doc:pinned", Kind: stability.Document}, Pinned: true}
	items := append([]Item{pinned, {Item: stability.Item{Key: "doc:notes", Kind: stability.Document}, Priority: 10}}, talk...)
	var order []string
	for _, i := range evictable(items, 100) {
		order = append(order, items[i].Key)
	}
	if diff := cmp.Diff([]string{"doc:notes", "msg:reply", "msg:c", "msg:d"}, order); diff != "" {
		t.Error(diff)
	}
}
