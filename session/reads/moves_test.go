package reads

import (
	"slices"
	"testing"

	"strata/history"
)

// What calls tell of changes, and what a reader knows of them if the view has patched a part of it.
func TestMovesThatResultsTell(t *testing.T) {
	hunk := history.LineHunk{OldStart: 2, OldLines: 1, NewStart: 2, NewLines: 2}
	made := func(of int, own ...history.Lines) history.Block {
		return history.Block{Type: history.BlockText, Text: "Edited", Shows: []history.FileLines{
			{Path: "a", Version: "2", Lines: own, Of: of, From: &history.Derivation{Version: "1", Hunks: []history.LineHunk{hunk}}}}}
	}
	diff := func(shown history.Lines) history.Block {
		return history.Block{Type: history.BlockText, Text: "Changes to a", Shows: []history.FileLines{{Path: "a", Version: "2", Lines: []history.Lines{shown}, Of: 9}}}
	}
	again := history.Block{Type: history.BlockText, Text: "Edited", Shows: []history.FileLines{
		{Path: "a", Version: "1", Of: 8, Lines: []history.Lines{lines(2, 2)}, From: &history.Derivation{Version: "2", Hunks: []history.LineHunk{{OldStart: 2, OldLines: 2, NewStart: 2, NewLines: 1}}}}}}
	gone := history.FileLines{Path: "a", From: &history.Derivation{Version: "1"}}
	patched := func(message int, block, part int) func(view []history.Viewed) {
		return func(view []history.Viewed) {
			view[message].Patches = append(view[message].Patches, history.Patch{Block: block, Part: part, Text: "notice"})
		}
	}
	for _, tt := range []struct {
		name    string
		content []history.Block
		patch   func(view []history.Viewed)
		want    []Move
	}{
		{"a diff of an editor's text", []history.Block{made(9), diff(lines(1, 5))}, nil, []Move{{"a", "1", "2", ""}}},
		{"no room for it", []history.Block{made(9)}, nil, []Move{{"a", "1", "", ""}}},
		{"a part of it", []history.Block{made(9), diff(lines(3, 5))}, nil, []Move{{"a", "1", "", ""}}},
		{"lines that the call has", []history.Block{made(9, lines(2, 3))}, nil, []Move{{"a", "1", "2", ""}}},
		{"the diff has gone", []history.Block{made(9), diff(lines(1, 5))}, patched(1, 0, 1), []Move{{"a", "1", "", ""}}},
		{"the result has gone", []history.Block{made(9), diff(lines(1, 5))}, patched(1, 0, 0), []Move{{"a", "1", "", ""}}},
		{"something else has gone", []history.Block{made(9), diff(lines(1, 5)), {Type: history.BlockText, Text: "x"}}, patched(1, 0, 2), []Move{{"a", "1", "2", ""}}},
		{"the call has gone", []history.Block{made(9, lines(2, 3))}, patched(0, 0, 0), []Move{{"a", "1", "", ""}}},
		{"two changes", []history.Block{made(9, lines(2, 3)), again}, nil, []Move{{"a", "1", "2", ""}, {"a", "2", "1", ""}}},
		{"a file that is emptied", []history.Block{{Shows: []history.FileLines{{Path: "a", Version: "0",
			From: &history.Derivation{Version: "1", Hunks: []history.LineHunk{{OldStart: 1, OldLines: 8, NewStart: 1}}}}}}}, nil, []Move{{"a", "1", "0", ""}}},
		{"a deletion", []history.Block{{Shows: []history.FileLines{gone}}}, nil, []Move{{"a", "1", "", ""}}},
		{"a move", []history.Block{{Shows: []history.FileLines{{Path: "b", Version: "1", Of: 8, From: &history.Derivation{Path: "a", Version: "1"}}, gone}}}, nil,
			[]Move{{"b", "", "1", ""}, {"a", "1", "", ""}}},
		{"a read", []history.Block{blockOf("a", "1\n2\n", history.Lines{})}, nil, nil},
	} {
		d := newDesk(t, nil)
		d.add(tt.content...)
		call := history.Viewed{Head: history.Head{ID: "call", Role: history.RoleAssistant}}
		view := []history.Viewed{call, d.view[0]}
		if tt.patch != nil {
			tt.patch(view)
		}
		if got := d.reads.Moves(view); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		for i := range tt.want {
			tt.want[i].To = ""
		}
		if got := d.reads.Moves(d.view); !slices.Equal(got, tt.want) {
			t.Errorf("%s, without the call: %v, want %v", tt.name, got, tt.want)
		}
	}
	if (*Reads)(nil).Moves(nil) != nil || new(Reads).Moves(nil) != nil {
		t.Error("there are moves without messages")
	}
}
