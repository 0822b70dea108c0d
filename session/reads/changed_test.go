package reads

import (
	"fmt"
	"strings"
	"testing"
)

func numbered(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
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
		line, diff := Changed("a", tt.shown, tt.now, tt.chosen, words)
		if line != tt.want || (diff != "") != tt.diff {
			t.Errorf("%s: %q, with a diff: %v; want %q", tt.name, line, diff != "", tt.want)
		}
		if diff != "" && !strings.HasPrefix(diff, "Changes to a\n```\n--- a\n+++ a\n") {
			t.Errorf("%s: %.80q", tt.name, diff)
		}
	}
	many := long
	for i := range 20 {
		many = strings.Replace(many, fmt.Sprintf("line %d\n", 20*i+1), "x\n", 1)
	}
	if line, _ := Changed("a", Passage{Text: long, Whole: true}, many, false, words); !strings.HasSuffix(line, "line 141, 12 more places.\n") {
		t.Errorf("%q", line)
	}
}
