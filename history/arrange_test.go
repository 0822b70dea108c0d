package history

import (
	"fmt"
	"slices"
	"testing"
)

func idsOf(view []Viewed) (ids []string) {
	for _, v := range view {
		ids = append(ids, v.ID)
	}
	return ids
}

// conversed returns a log of alternating messages of 10 tokens, and a function that applies edits to it.
func conversed(n int) (l *Log, apply func(Edit) string) {
	l = NewLog(nil, nil)
	for i := range n {
		h := head(int64(i+1), 10)
		if i%2 == 1 {
			h.Role = RoleAssistant
		}
		l.Append(h)
	}
	return l, func(e Edit) string {
		e.Seq = l.LastSeq() + 1
		e.ID = fmt.Sprint("e", e.Seq)
		l.Apply(e)
		return e.ID
	}
}

// A message that left the view, for whatever reason, comes back whole and in its place, is counted as before, and stays.
func TestAKeptMessageComesBackInItsPlace(t *testing.T) {
	for name, leaves := range map[string]Edit{
		"evicted":    {Kind: EditTruncate, Messages: []string{"msg_2", "msg_3"}, Patches: []Patch{{Message: "msg_3", Saved: 4, Origin: OriginCut}}},
		"summarised": {Kind: EditCompact, Messages: []string{"msg_1", "msg_2", "msg_3"}, Summary: "so far", SummaryTokens: 3},
		"compacted":  {Kind: EditCompact, Messages: []string{"msg_2", "msg_3"}},
		"taken out":  {Kind: EditTakeOut, Messages: []string{"msg_3"}},
	} {
		t.Run(name, func(t *testing.T) {
			l, apply := conversed(5)
			apply(Edit{Kind: EditTruncate, Patches: []Patch{{Message: "msg_3", Saved: 6, Origin: OriginCut}}})
			apply(leaves)
			before, hidden, summary := idsOf(l.View()), l.Omitted()+l.Summary().Messages, l.Summary().Text
			kept := apply(Edit{Kind: EditKeep, Messages: []string{"msg_3"}})
			at := slices.IndexFunc(l.View(), func(v Viewed) bool { return v.ID == "msg_3" })
			if at < 0 || l.View()[at+1].ID != "msg_4" || at > 0 && l.View()[at-1].Seq > 3 {
				t.Fatalf("the view is %v", idsOf(l.View()))
			}
			if v := l.View()[at]; !v.Kept || v.Tokens != 10 || len(v.Patches) != 0 || v.Exchange != 2 {
				t.Errorf("it came back as %+v", v)
			}
			if got := l.Omitted() + l.Summary().Messages; got != hidden-1 || l.Summary().Text != summary {
				t.Errorf("%d messages are hidden, before %d", got, hidden)
			}
			if v := l.Visibility([]int64{3})[0]; !v.InView || !v.Kept || len(v.Patches) != 0 {
				t.Errorf("its visibility is %+v", v)
			}
			if undo, _ := l.Undoable(); undo.ID != kept {
				t.Errorf("%s can be undone, not %s", undo.ID, kept)
			}
			apply(Edit{Kind: EditRestore, Undoes: kept})
			if got := idsOf(l.View()); !slices.Equal(got, before) {
				t.Errorf("undone, the view is %v, before %v", got, before)
			}
		})
	}
}

// A message that a user takes out stays out: it does not return with what was evicted.
func TestATakenOutMessageStaysOut(t *testing.T) {
	l, apply := conversed(5)
	evicted := apply(Edit{Kind: EditTruncate, Messages: []string{"msg_2", "msg_3"}})
	apply(Edit{Kind: EditTakeOut, Messages: []string{"msg_3"}})
	if v := l.Visibility([]int64{3})[0]; v.InView || v.Reason != HiddenTakenOut {
		t.Errorf("its visibility is %+v", v)
	}
	if len(l.Shed()) != 1 {
		t.Errorf("the evicted messages are %v", l.Shed())
	}
	apply(Edit{Kind: EditRestore, Undoes: evicted})
	if got := idsOf(l.View()); !slices.Equal(got, []string{"msg_1", "msg_2", "msg_4", "msg_5"}) {
		t.Errorf("the view is %v", got)
	}
	apply(Edit{Kind: EditKeep, Messages: []string{"msg_3"}})
	apply(Edit{Kind: EditRelease, Messages: []string{"msg_3"}})
	if v := l.Visibility([]int64{3})[0]; !v.InView || v.Kept || len(l.View()) != 5 || l.View()[2].Kept {
		t.Errorf("released, its visibility is %+v", v)
	}
	apply(Edit{Kind: EditClear})
	apply(Edit{Kind: EditKeep, Messages: []string{"msg_3"}})
	if v := l.Visibility([]int64{3})[0]; v.InView || len(l.View()) != 0 {
		t.Errorf("a cleared message came back: %+v", v)
	}
}

// Calls are arranged together with their results, also a late one, and come back in the same order.
func TestCallsAreArrangedWithTheirResults(t *testing.T) {
	l := NewLog(nil, nil)
	calls, result, late := head(2, 10), head(3, 10), head(5, 10)
	calls.Role, calls.HasCalls, result.Role, late.Role = RoleAssistant, true, RoleTool, RoleTool
	l.Append(head(1, 10), calls, result, head(4, 10), late)
	l.Apply(Edit{ID: "e6", Seq: 6, Kind: EditResult, Messages: []string{"msg_5"}, CallsMessage: "msg_2"})
	l.Append(head(7, 10))
	want := []string{"msg_2", "msg_3", "msg_5"}
	for _, id := range want {
		if got := l.Unit(id); !slices.Equal(got, want) {
			t.Errorf("%s belongs to %v", id, got)
		}
	}
	if got := l.Unit("msg_4"); !slices.Equal(got, []string{"msg_4"}) || l.Unit("none") != nil {
		t.Errorf("a message without calls belongs to %v", got)
	}
	before := idsOf(l.View())
	l.Apply(Edit{ID: "e8", Seq: 8, Kind: EditTakeOut, Messages: want})
	l.Apply(Edit{ID: "e9", Seq: 9, Kind: EditKeep, Messages: want})
	if got := idsOf(l.View()); !slices.Equal(got, before) {
		t.Errorf("the view is %v, before %v", got, before)
	}
}
