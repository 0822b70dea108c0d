package reads

import (
	"testing"

	"strata/filecontext"
	"strata/history"
)

func lines(start, end int) history.Lines { return history.Lines{Start: start, End: end} }

func TestAViewCoversTheLinesOfAllItsBlocks(t *testing.T) {
	v := NewView([]history.FileLines{
		{Path: "a", Version: "1", Lines: []history.Lines{lines(10, 20), lines(1, 4)}, Of: 30},
		{Path: "a", Version: "1", Lines: []history.Lines{lines(5, 5), lines(18, 25)}, Of: 30},
		{Path: "a", Version: "2", Lines: []history.Lines{lines(1, 30)}, Of: 30},
		{Path: "empty", Version: "1"},
	})
	for _, tt := range []struct {
		path, version string
		lines         history.Lines
		want          bool
	}{
		{"a", "1", lines(1, 5), true},
		{"a", "1", lines(3, 6), false},
		{"a", "1", lines(10, 25), true},
		{"a", "1", lines(10, 26), false},
		{"a", "2", lines(1, 30), true},
		{"a", "3", lines(1, 1), false},
		{"b", "1", lines(1, 1), false},
		{"empty", "1", history.Lines{}, true},
		{"empty", "2", history.Lines{}, false},
	} {
		if got := v.Covers(tt.path, tt.version, tt.lines); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if new(View).Covers("a", "1", lines(1, 1)) {
		t.Error("the zero view shows something")
	}
}

func TestAvailabilityOfFilesThatToolsRead(t *testing.T) {
	v := NewView([]history.FileLines{
		{Path: "whole", Version: "1", Lines: []history.Lines{lines(1, 9)}, Of: 9},
		{Path: "part", Version: "1", Lines: []history.Lines{lines(2, 9)}, Of: 9},
		{Path: "empty", Version: "1"},
	})
	for _, tt := range []struct {
		path, version string
		lines         int
		state         filecontext.State
		reason        string
	}{
		{"whole", "1", 9, filecontext.Full, "read by a tool"},
		{"part", "1", 9, filecontext.Partial, "read by a tool"},
		{"empty", "1", 0, filecontext.Full, "read by a tool"},
		{"whole", "2", 9, filecontext.NotAvailable, "changed since it was read"},
		{"gone", "1", 9, filecontext.NotAvailable, "read earlier, no longer shown"},
	} {
		if state, reason := v.Availability(tt.path, tt.version, tt.lines); state != tt.state || reason != tt.reason {
			t.Errorf("%s %s: %s, %q", tt.path, tt.version, state, reason)
		}
	}
}

// A change of the model's own leaves it with what it knew of the file, for as long as the view shows both.
func TestAViewAfterOwnChanges(t *testing.T) {
	read := history.FileLines{Path: "a", Version: "1", Lines: []history.Lines{lines(1, 10)}, Of: 30}
	change := history.FileLines{Path: "a", Version: "2", Of: 31, From: &history.Derivation{Version: "1", Hunks: []history.LineHunk{{OldStart: 5, OldLines: 1, NewStart: 5, NewLines: 2}}}}
	diff := history.FileLines{Path: "a", Version: "2", Lines: []history.Lines{lines(2, 9)}, Of: 31}
	moved := history.FileLines{Path: "b", Version: "2", Of: 31, From: &history.Derivation{Path: "a", Version: "2"}}
	gone := history.FileLines{Path: "a", From: &history.Derivation{Version: "2"}}
	for _, tt := range []struct {
		name  string
		shown []history.FileLines
		path  string
		lines history.Lines
		want  bool
	}{
		{"lines before the change", []history.FileLines{read, change}, "a", lines(1, 4), true},
		{"lines after it, with their new numbers", []history.FileLines{read, change}, "a", lines(7, 11), true},
		{"lines that were not read", []history.FileLines{read, change}, "a", lines(11, 12), false},
		{"new lines that are not shown", []history.FileLines{read, change}, "a", lines(5, 6), false},
		{"new lines that the diff shows", []history.FileLines{read, change, diff}, "a", lines(1, 11), true},
		{"without the read", []history.FileLines{change, diff}, "a", lines(1, 4), false},
		{"only the diff", []history.FileLines{change, diff}, "a", lines(2, 9), true},
		{"a moved file", []history.FileLines{read, change, diff, moved, gone}, "b", lines(1, 11), true},
	} {
		if got := NewView(tt.shown).Covers(tt.path, "2", tt.lines); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if state, _ := NewView([]history.FileLines{read, gone}).Availability("a", "", 0); state != filecontext.NotAvailable {
		t.Errorf("a deleted file is %s", state)
	}
}
