package fit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/history"
	"strata/stability"
)

// keepOne makes a message of the middle of the conversation one that a user keeps, and gives it room, with the answer of a
// prompt. It returns the keys that must stay.
func (d *desk) keepOne(r *rand.Rand) (stay []string) {
	var talk []int
	for i := range d.request.Items {
		if d.request.Items[i].Kind == stability.Message {
			talk = append(talk, i)
		}
	}
	if len(talk) < 8 {
		return nil
	}
	kept := talk[2+r.IntN(len(talk)-6)]
	it := &d.request.Items[kept]
	viewed := it.Messages[0]
	viewed.Kept = true
	d.request.Items[kept] = MessageItem([]history.Viewed{viewed})
	stay = []string{it.Key}
	if answer, has := answersOf(d.request.Items)[kept]; has {
		stay = append(stay, d.request.Items[answer].Key)
	}
	for _, key := range stay {
		i := slices.IndexFunc(d.request.Items, func(it Item) bool { return it.Key == key })
		d.request.Limit += d.request.Items[i].Size()
		d.request.Goal += d.request.Items[i].Size()
	}
	return stay
}

// For all requests: a message that a user keeps is neither evicted nor truncated, nor is the answer of a kept prompt.
func TestAKeptMessageStays(t *testing.T) {
	checked := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 17))
		d := newDesk(r, seed%2 == 1)
		stay := d.keepOne(r)
		if stay == nil {
			continue
		}
		result, err := Fit(t.Context(), d.request)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range stay {
			if !slices.ContainsFunc(result.Items, func(it Item) bool { return it.Key == key }) {
				t.Errorf("seed %d: %s was evicted", seed, key)
			}
			if slices.ContainsFunc(result.Changes.Truncate, func(p history.Patch) bool { return MessagePrefix+p.Message == key }) {
				t.Errorf("seed %d: %s was truncated", seed, key)
			}
		}
		if len(result.Changes.Evict) > 0 {
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("only %d requests evicted messages", checked)
	}
}

// Messages that a user keeps leave when they alone exceed the window, the oldest first, and the newest message stays.
func TestKeptMessagesThatExceedTheWindow(t *testing.T) {
	for _, greedy := range []bool{false, true} {
		d := newDesk(rand.New(rand.NewPCG(1, 2)), greedy)
		var view []history.Viewed
		for i := range 8 {
			m := history.Message{
				ID: fmt.Sprint("k", i), Seq: int64(i + 1), Role: history.RoleUser, Tokens: 100,
				Blocks: []history.Block{{Type: history.BlockText, Text: strings.Repeat(" word", 90)}},
			}
			d.messages[m.Seq] = m
			view = append(view, history.Viewed{Head: m.Head(0), Kept: i > 0})
		}
		d.request.Notes = func([]Item, []Item, []filecontext.Entry, []string) ([]Item, map[string]string) { return nil, nil }
		d.request.Items, d.request.Files = slices.Concat(d.request.Items[:1], Conversation(view)), nil
		d.request.Limit = Size(d.request.Items) - 350
		d.request.Goal = d.request.Limit
		result, err := Fit(t.Context(), d.request)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, it := range result.Items {
			if it.Kind == stability.Message {
				left = append(left, it.Key)
			}
		}
		if want := []string{"msg:k3", "msg:k4", "msg:k5", "msg:k6", "msg:k7"}; !slices.Equal(left, want) || Size(result.Items) > d.request.Limit {
			t.Errorf("greedy %v: %d of %d tokens: %v, want %v", greedy, Size(result.Items), d.request.Limit, left, want)
		}
	}
}
