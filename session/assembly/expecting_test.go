package assembly

import (
	"context"
	"errors"
	"slices"
	"testing"

	"strata/history"
)

// numbered is a store whose messages are the numbers 1 to 3.
type numbered struct{ Store }

func (numbered) Messages(_ context.Context, _ string, seqs []int64) ([]history.Message, error) {
	messages := make([]history.Message, 0, len(seqs))
	for _, seq := range seqs {
		if seq > 3 {
			return nil, history.ErrNotFound
		}
		messages = append(messages, history.Message{Seq: seq})
	}
	return messages, nil
}

func TestAnExpectedMessageIsRead(t *testing.T) {
	store := Expecting(numbered{}, &history.Message{Seq: 4, ID: "expected"})
	for _, seqs := range [][]int64{{}, {4}, {1, 2, 3}, {1, 2, 3, 4}, {3, 4, 1}, {4, 2}} {
		asked := slices.Clone(seqs)
		got, err := store.Messages(t.Context(), "session", seqs)
		if err != nil || !slices.Equal(asked, seqs) || len(got) != len(seqs) {
			t.Fatalf("%v: %d messages, %v; asked for %v now", asked, len(got), err, seqs)
		}
		for i, m := range got {
			if m.Seq != seqs[i] || (m.Seq == 4) != (m.ID == "expected") {
				t.Errorf("%v: message %d is %d %q", seqs, i, m.Seq, m.ID)
			}
		}
	}
	if _, err := store.Messages(t.Context(), "session", []int64{4, 5}); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("a message that does not exist: %v", err)
	}
}
