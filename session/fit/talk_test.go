package fit

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"strata/history"
)

// The remembered items of a conversation are the same as those that are made of its view, whatever changes: messages are
// appended, patched, removed or moved in memory, and older views are asked for again.
func TestRememberedItemsAreTheSame(t *testing.T) {
	remembered := 0
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 11))
		var talk Talk
		var view []history.Viewed
		for step := range 60 {
			switch n := len(view); r.IntN(10) {
			case 0:
				view = slices.Clone(view)
			case 1:
				if n > 0 {
					view = slices.Clone(view)
					at := r.IntN(n)
					view[at].Patches = append(slices.Clip(view[at].Patches), history.Patch{Message: view[at].ID, Text: fmt.Sprint(step)})
				}
			case 2:
				if n > 0 {
					at := r.IntN(n)
					view = slices.Delete(slices.Clone(view), at, at+1)
				}
			case 3:
				view = slices.Clip(view[:r.IntN(n+1)])
			default:
				for range 1 + r.IntN(4) {
					h := history.Head{ID: fmt.Sprint("msg_", seed, "_", step, "_", len(view)), Seq: int64(len(view)), Tokens: r.IntN(9), Blocks: 1}
					h.Role = []history.Role{history.RoleUser, history.RoleAssistant, history.RoleTool}[r.IntN(3)]
					h.HasCalls = h.Role == history.RoleAssistant && r.IntN(2) == 0
					view = append(view, history.Viewed{Head: h, Exchange: step})
				}
			}
			got, want := talk.Conversation(view), Conversation(view)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d: items %+v\nwant %+v", seed, step, got, want)
			}
			remembered += len(talk.items)
		}
	}
	if remembered < 10_000 {
		t.Errorf("%d items were remembered", remembered)
	}
}
