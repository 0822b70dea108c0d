package compaction

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A summary takes at most maxChunks calls, and as many are allowed.
func TestTheCallsOfASummaryAreLimited(t *testing.T) {
	const window = 2_800
	s := NewSummarizer(always("notes"), counter, Limits{Window: window})
	r := Request{Budget: window / budgetShare, Rewrite: true}
	room := s.room(r)
	filling := assistant(strings.Repeat("and so on ", room/4))
	if n := counter.Count(transcribe(&filling)); n > room || 2*n <= room {
		t.Fatalf("a message has %d tokens, a chunk %d: each is to fill one chunk", n, room)
	}
	for extra, wantErr := range []error{nil, ErrTooLong} {
		m := always("notes")
		s := NewSummarizer(m, counter, Limits{Window: window})
		r.Messages = nil
		for range maxChunks + extra {
			r.Messages = append(r.Messages, filling)
		}
		_, err := s.Summarise(context.Background(), r)
		calls := maxChunks
		if wantErr != nil {
			calls = 0
		}
		if !errors.Is(err, wantErr) || len(m.calls) != calls {
			t.Errorf("%d chunks: %d calls, want %d; %v", maxChunks+extra, len(m.calls), calls, err)
		}
	}
}
