package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/session/fit"
	"strata/tokens"
)

// looped returns the view of a loop of n iterations, each with a marker, and its exchanges.
func looped(t *testing.T, n int) (*View, []exchange) {
	t.Helper()
	l := loopProfile(t)
	var heads []history.Head
	stored := make(map[int64]history.Message)
	for i := range n {
		for j, role := range []history.Role{history.RoleUser, history.RoleAssistant} {
			m := history.Message{
				ID: fmt.Sprintf("msg_%d_%d", i+1, j), Seq: int64(2*i + j + 1), Role: role, Tokens: 30,
				Blocks: []history.Block{text(fmt.Sprintf("part %d of iteration %d <progress>step %d</progress>", j, i+1, i+1))},
			}
			stored[m.Seq] = m
			heads = append(heads, m.Head(100))
		}
	}
	v := &View{Profile: &l, Counter: tokens.For(""), Model: "local/test", Exchanges: n + 1}
	v.Read = func(_ context.Context, seqs []int64) ([]history.Message, error) {
		messages := make([]history.Message, len(seqs))
		for i, seq := range seqs {
			messages[i] = stored[seq]
		}
		return messages, nil
	}
	finished, open := exchanges(fit.Conversation(history.NewLog(heads, nil).View()))
	return v, append(finished, exchange{number: n, items: open})
}

// The older iterations are told in their order. If not all have room the oldest leave by tens, so that the view changes
// with every tenth iteration only.
func TestTheOldestIterationsLeaveByTens(t *testing.T) {
	v, all := looped(t, 35)
	whole, _, left, err := v.briefs(t.Context(), all, 1<<20)
	if err != nil || len(whole) != 35 || len(left) != 0 {
		t.Fatalf("%d of 35 with room for all, %v left, %v", len(whole), left, err)
	}
	for fits, first := range map[int]int{34: 11, 26: 11, 25: 11, 24: 21, 16: 21, 15: 21, 14: 31, 5: 31, 4: 36, 0: 36} {
		room := 0 // of so many of the newest
		for i := 35 - fits; i < 35; i++ {
			n, err := v.iteration(t.Context(), &all[i])
			if err != nil {
				t.Fatal(err)
			}
			room += whole[i].Size() + v.inState(&n)
		}
		items, done, left, err := v.briefs(t.Context(), all, room)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for i := range items {
			if items[i].Since != int64(done[i].number) {
				t.Errorf("item %d shows iteration %d, its state is of %d", i, items[i].Since, done[i].number)
			}
			brief, _, _ := strings.Cut(items[i].Text, ":")
			got = append(got, brief)
		}
		for number := first; number <= 35; number++ {
			want = append(want, fmt.Sprint("Iteration ", number))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("room for %d: %s", fits, diff)
		}
		if len(left) != 1 || left[0].Count != 2*(first-1) || left[0].Tokens != fit.Size(itemsOf(all[:first-1])) || left[0].Key != all[0].items[0].Key {
			t.Errorf("room for %d: omitted are %+v, want the first %d iterations", fits, left, first-1)
		}
	}
}

func itemsOf(all []exchange) (items []fit.Item) {
	for i := range all {
		items = append(items, all[i].items...)
	}
	return items
}

// The state lists the newest of many, each once, where it came last, and oldest first.
func TestTheStateListsTheNewest(t *testing.T) {
	for _, tt := range []struct {
		all  []string
		want []string
	}{
		{nil, nil},
		{[]string{"a"}, []string{"- X: a"}},
		{[]string{"a", "b", "c"}, []string{"- X: a, b, c"}},
		{[]string{"a", "b", "c", "d"}, []string{"- X: b, c, d"}},
		{[]string{"a", "b", "a", "c"}, []string{"- X: b, a, c"}},
	} {
		if diff := cmp.Diff(tt.want, newestOf("- X: ", append([]string(nil), tt.all...), 3, ", ")); diff != "" {
			t.Errorf("%v: %s", tt.all, diff)
		}
	}
}

// What one reply of an iteration told stays true if a later one tells nothing of it.
func TestALaterReplyForgetsNoFacts(t *testing.T) {
	l := loopProfile(t)
	reply := func(meta string) history.Message {
		return history.Message{Role: history.RoleAssistant, Blocks: []history.Block{text("x")}, Meta: json.RawMessage(meta)}
	}
	it := iterationOf(1, []history.Message{
		reply(`{"progressScore": 0.5, "tool": "editor", "durationSeconds": 2, "fileChanges": ["a.go", "b.go"]}`),
		reply(`{"durationSeconds": 3, "fileChanges": ["b.go", "c.go"]}`), reply(`not JSON`),
	}, &l)
	if want := "Files changed: a.go, b.go, c.go\nDone with editor, 5 s, progress score 0.5"; it.facts() != want {
		t.Errorf("%q, want %q", it.facts(), want)
	}
}

// A view has as many of the newest iterations as its profile says, the older ones in brief, and the goal: the document of
// that name, or what the user asked for first.
func TestTheItemsOfALoop(t *testing.T) {
	v, all := looped(t, 12)
	v.Room, v.First = 1<<20, &all[0].items[0].Messages[0].Head
	goal := v.item(fit.DocumentPrefix+goalName, "# Goal\n\nthe document\n")
	for _, others := range [][]fit.Item{nil, {goal, v.item(fit.DocumentPrefix+"notes", "notes")}} {
		items, open, omitted, err := v.Items(t.Context(), others, itemsOf(all))
		if err != nil || len(open) != 2 || len(omitted) != 0 {
			t.Fatalf("%d open, omitted %+v, %v", len(open), omitted, err)
		}
		counts, goals := make(map[string]int), ""
		for i := range items {
			prefix, _, _ := strings.Cut(items[i].Key, ":")
			counts[prefix+":"]++
			if strings.HasPrefix(items[i].Text, "# Goal") {
				goals += items[i].Text
			}
		}
		want := "# Goal\n\npart 0 of iteration 1 <progress>step 1</progress>\n"
		if others != nil {
			want = goal.Text
		}
		if diff := cmp.Diff(want, goals); diff != "" {
			t.Error(diff)
		}
		if recent := v.Profile.RecentIterations; counts[iterationPrefix] != recent || counts[briefPrefix] != 11-recent {
			t.Errorf("%d recent iterations, %d in brief", counts[iterationPrefix], counts[briefPrefix])
		}
	}
}

// The first iteration has no state: nothing was done before it.
func TestTheStateBeginsWithTheSecondIteration(t *testing.T) {
	v, _ := looped(t, 1)
	for exchanges, want := range map[int]string{0: "", 1: "", 2: "# Current State (after iteration 1)\n\n- Iterations: 1\n- Model: local/test\n"} {
		v.Exchanges = exchanges
		var got string
		for _, it := range v.state(nil) {
			got += it.Text
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %d exchanges: %s", exchanges, diff)
		}
	}
}

// An iteration in which a tool failed says so, whatever succeeded after it.
func TestAFailureOfAToolIsRemembered(t *testing.T) {
	l := loopProfile(t)
	result := func(failed bool) history.Message {
		return history.Message{Role: history.RoleTool, Blocks: []history.Block{{Type: history.BlockToolResult, IsError: failed}}}
	}
	for _, tt := range []struct {
		results []history.Message
		want    string
	}{{[]history.Message{result(true), result(false)}, "Done a tool failed"}, {[]history.Message{result(false)}, ""}} {
		it := iterationOf(1, tt.results, &l)
		if it.facts() != tt.want {
			t.Errorf("%q, want %q", it.facts(), tt.want)
		}
	}
}
