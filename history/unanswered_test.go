package history

import (
	"slices"
	"strings"
	"testing"
)

// play returns a log of messages and edits, and their ids by sequence number: u and a are messages of the user and of the
// assistant, ! notes that the last prompt has no reply, < restores to the number behind it, ^ undoes the last restore.
func play(script string) *Log {
	l := NewLog(nil, nil)
	prompt, restored := "", ""
	for i, step := range strings.Fields(script) {
		seq := int64(i + 1)
		id := "m" + string(rune('0'+seq))
		switch step[0] {
		case 'u':
			prompt = id
			l.Append(Head{ID: id, Seq: seq, Role: RoleUser, Tokens: 10})
		case 'a':
			l.Append(Head{ID: id, Seq: seq, Role: RoleAssistant, Tokens: 10})
		case '!':
			l.Apply(Edit{ID: id, Seq: seq, Kind: EditUnanswered, Messages: []string{prompt}})
		case '<':
			restored = id
			l.Apply(Edit{ID: id, Seq: seq, Kind: EditRestore, To: int64(step[1] - '0')})
		case '^':
			l.Apply(Edit{ID: id, Seq: seq, Kind: EditRestore, Undoes: restored})
		}
	}
	return l
}

// A prompt that failed without a reply is in the view until another message of the user follows, in memory, after a reload,
// and after restores. The transcript keeps it.
func TestF17UnansweredPromptsLeave(t *testing.T) {
	for script, want := range map[string]struct {
		view      string
		exchanges int
	}{
		"u !":                   {"m1", 1},
		"u ! u":                 {"m3", 1},
		"u ! u a":               {"m3 m4", 1},
		"u ! u ! u a":           {"m5 m6", 1},
		"u a u ! u":             {"m1 m2 m5", 2},
		"u ! a u":               {"m1 m3 m4", 2}, // answered by other means
		"u u":                   {"m1 m2", 2},    // not noted, as a cancelled prompt
		"u a u ! u a <3":        {"m1 m2 m3", 2}, // before the note
		"u a u ! u a <3 u":      {"m1 m2 m8", 2},
		"u a u ! u a <4 u":      {"m1 m2 m8", 2},
		"u a u ! u a <2 ^":      {"m1 m2 m5 m6", 2},
		"u ! u a <1 u ! <2 ^ u": {"m:", 1},
	} {
		l := play(script)
		for name, l := range map[string]*Log{"in memory": l, "reloaded": NewLog(l.Transcript(), l.Edits())} {
			var ids []string
			for _, v := range l.View() {
				ids = append(ids, v.ID)
			}
			if got := strings.Join(ids, " "); got != want.view || l.Exchanges() != want.exchanges {
				t.Errorf("%s %s: %q with %d exchanges, want %q with %d", script, name, got, l.Exchanges(), want.view, want.exchanges)
			}
			if first, ok := l.First(); ok != (first.ID != "") || ok && l.Exchanges() == 1 && first.ID != ids[0] {
				t.Errorf("%s %s: the first prompt is %q, %v", script, name, first.ID, ok)
			}
		}
	}
}

// A prompt that left says why; one that is still in the view, or that a restore removed, does not.
func TestF17VisibilityOfUnansweredPrompts(t *testing.T) {
	l := play("u ! u a")
	if got := l.Visibility([]int64{1, 3}); got[0].InView || got[0].Reason != HiddenUnanswered || got[0].Edit != "m2" || !got[1].InView {
		t.Errorf("%+v", got)
	}
	if got := play("u !").Visibility([]int64{1}); !got[0].InView {
		t.Errorf("%+v", got)
	}
	if got := play("u a u ! <2").Visibility([]int64{3}); got[0].InView || got[0].Reason != HiddenTakenBack {
		t.Errorf("%+v", got)
	}
	if ranges := l.Ranges(l.Edits()); !slices.Equal(ranges[0], []Range{{1, 1}}) {
		t.Errorf("ranges %v", ranges)
	}
}

// A fork at a prompt without a reply knows that it has none.
func TestF17ForksOfUnansweredPrompts(t *testing.T) {
	for seq, want := range map[int64]int{1: 1, 2: 1, 3: 1} {
		heads, edits := play("u ! u a").UpTo(seq)
		if len(edits) != want || len(heads) != []int{0, 1, 1, 2}[seq] {
			t.Errorf("at %d: %d messages, %d edits", seq, len(heads), len(edits))
		}
	}
	if _, edits := play("u a u !").UpTo(1); len(edits) != 0 {
		t.Errorf("%d edits", len(edits))
	}
}
