package sessions

import "testing"

// Matches are bold on a terminal, and nothing in a message controls the terminal.
func TestF42MatchesAreMarked(t *testing.T) {
	for name, tt := range map[string]struct {
		snippet string
		marks   [][2]int
		want    string
	}{
		"two":              {"a word, a word", [][2]int{{2, 6}, {10, 14}}, "a \x1b[1mword\x1b[0m, a \x1b[1mword\x1b[0m"},
		"none":             {"a word\nmore", nil, "a word more"},
		"control sequence": {"a \x1b[2Jword", [][2]int{{2, 10}}, "a \x1b[1m[2Jword\x1b[0m"},
		"impossible":       {"word", [][2]int{{-1, 2}, {3, 2}, {2, 5}, {0, 4}, {1, 2}}, "\x1b[1mword\x1b[0m"},
	} {
		if got := marked(tt.snippet, tt.marks); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
