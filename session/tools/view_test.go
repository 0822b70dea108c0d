package tools

import (
	"fmt"
	"strings"
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
		earlier       bool
		state         filecontext.State
		reason        string
	}{
		{"whole", "1", 9, true, filecontext.Full, ""},
		{"part", "1", 9, true, filecontext.Partial, ""},
		{"empty", "1", 0, true, filecontext.Full, ""},
		{"whole", "2", 9, true, filecontext.NotAvailable, "changed since it was read"},
		{"gone", "1", 9, true, filecontext.NotAvailable, "read earlier, no longer shown"},
		{"never", "1", 9, false, filecontext.NotAvailable, ""},
	} {
		if state, reason := v.Availability(tt.path, tt.version, tt.lines, tt.earlier); state != tt.state || reason != tt.reason {
			t.Errorf("%s %s: %s, %q", tt.path, tt.version, state, reason)
		}
	}
}

// words counts the words of a text, a simple stand-in for tokens.
func words(text string) int { return len(strings.Fields(text)) }

func TestTheNoteOnAChangedFile(t *testing.T) {
	long := numbered(1, 400)
	change := func(from, to string) string { return strings.Replace(long, from, to, 1) }
	rewritten := strings.ReplaceAll(long, "line", "row")
	for _, tt := range []struct {
		name   string
		shown  Passage
		now    string
		chosen bool
		want   string
		diff   bool
	}{
		{"nothing", Passage{Text: long, Whole: true}, long, false, "", false},
		{"one line", Passage{Text: long, Whole: true}, change("line 7\n", "seven\n"), false, "a has changed since it was read: line 7.\n", true},
		{"lines added and removed", Passage{Text: long, Whole: true}, change("line 7\nline 8\n", "x\ny\nz\nw\n"), false,
			"a has changed since it was read: lines 7 to 10.\n", true},
		{"lines removed", Passage{Text: long, Whole: true}, change("line 7\nline 8\n", ""), false,
			"a has changed since it was read: lines removed before line 7.\n", true},
		{"two places", Passage{Text: long, Whole: true}, strings.Replace(change("line 7\n", "7\n8\n"), "line 100\n", "hundred\n", 1), false,
			"a has changed since it was read: lines 7 to 8, line 101.\n", true},
		{"all", Passage{Text: long, Whole: true}, rewritten, false, "a has changed since it was read: lines 1 to 400.\n", false},
		{"all of a chosen file", Passage{Text: long, Whole: true}, rewritten, true, "a has changed since it was read: lines 1 to 400.\n", true},
		{"too much to compare", Passage{Text: strings.Repeat("x\n", 3000), Whole: true}, strings.Repeat("y\n", 3000), true,
			"a has changed since it was read: lines 1 to 3000.\n", false},
		{"a part that is the same", Passage{Text: numbered(5, 9), Lines: lines(5, 9)}, change("line 10\n", ""), false, "", false},
		{"a part that moved", Passage{Text: numbered(5, 9), Lines: lines(5, 9)}, "new\n" + long, false,
			"a has changed since it was read: lines 5 to 9 are now lines 6 to 10, unchanged.\n", false},
		{"a part that changed", Passage{Text: numbered(5, 9), Lines: lines(5, 9)}, change("line 7\n", "seven\n"), false,
			"a has changed since it was read, lines 5 to 9 too.\n", false},
		{"a part that is in two places", Passage{Text: "x\n", Lines: lines(3, 3)}, "x\ny\nz\nx\n", false,
			"a has changed since it was read, lines 3 to 3 too.\n", false},
		{"a part in place and elsewhere", Passage{Text: "x\n", Lines: lines(4, 4)}, "x\nx\nx\nx\n", false, "", false},
		{"an emptied file", Passage{Text: "x\n", Whole: true}, "", false, "a has changed since it was read: lines removed before line 1.\n", false},
	} {
		note, diff, found := strings.Cut(Changed("a", tt.shown, tt.now, tt.chosen, words), "Changes to a\n")
		if note != tt.want || found != tt.diff {
			t.Errorf("%s: %q, with a diff: %v; want %q", tt.name, note, found, tt.want)
		}
		if found && !strings.HasPrefix(diff, "```\n--- a\n+++ a\n") {
			t.Errorf("%s: %.80q", tt.name, diff)
		}
	}
	many := long
	for i := range 20 {
		many = strings.Replace(many, fmt.Sprintf("line %d\n", 20*i+1), "x\n", 1)
	}
	hasAll(t, Changed("a", Passage{Text: long, Whole: true}, many, false, words), "line 141, 12 more places.\n")
}
