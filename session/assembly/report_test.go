package assembly

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A report is as wide as the terminal: no line is wider, and the bar of the window fills a line. A width that no terminal has
// is bounded.
func TestP18AReportIsAsWideAsTheTerminal(t *testing.T) {
	d := &Breakdown{
		Model: "local/test", Used: 30_000, Size: 120_000,
		Categories: []Category{{Name: "history", Tokens: 29_000}, {Name: "system", Tokens: 1_000}, {Name: "files"}},
		Tiers: []Tier{{Tier: "L3", Tokens: 30_000, Items: []TierItem{
			{Key: "system", Tokens: 1_000}, {Key: "file:" + strings.Repeat("ä", 500), Tokens: 29_000, N: 10, NextThreshold: 12},
		}}},
	}
	for columns, width := range map[int]int{0: 72, 40: 40, 60: 60, 67: 67, 72: 72, 100: 100, 239: 239, 400: 400, 1: 40, -5: 72, -1 << 62: 72, 1 << 62: 400} {
		s := &State{}
		text := s.Report("A title "+strings.Repeat("that is long ", 100), columns, &Built{}, d, &Budget{Used: 30_000, PercentUsed: 25, Remaining: 90_000}).Text
		window, widest := "", 0
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "session:") || strings.HasPrefix(line, "last call:") { // figures, not cut
				continue
			}
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns: line %d has %d: %s", columns, i, n, line)
			} else {
				widest = max(widest, n)
			}
			if strings.HasSuffix(line, "░") {
				window += line
			}
		}
		full := (width - 2) / 4
		if want := "  " + strings.Repeat("█", full) + strings.Repeat("░", width-2-full); window != want || widest != width {
			t.Errorf("%d columns: the widest line has %d; the bar of the window: %s, want %s", columns, widest, window, want)
		}
	}
}

// The bar of a window shows that it is used at all, and no more than all of it.
func TestP18TheBarOfAWindow(t *testing.T) {
	for _, tt := range []struct {
		used, window int
		want         string
	}{
		{0, 100, "  ░░░░░░░░\n"}, {1, 100_000, "  █░░░░░░░\n"}, {50, 100, "  ████░░░░\n"}, {100, 100, "  ████████\n"}, {900, 100, "  ████████\n"}, {-5, 100, "  ░░░░░░░░\n"},
		{5, 0, ""}, {5, -1, ""},
	} {
		if got := windowBar(tt.used, tt.window, 10); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.used, tt.window, got, tt.want)
		}
	}
}
