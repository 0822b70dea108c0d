package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/llm/reply"
)

// diskStore stores the text of a running reply like the real store: chunks are appended and never rewritten. Saves take
// time, and those that refuse returns fail.
type diskStore struct {
	*lockedStore
	takes  time.Duration
	refuse func(save int) bool // nil: none
	saves  int
	chunks []history.Partial
}

func (s *diskStore) Commit(ctx context.Context, ch history.Change) error {
	if ch.Partial == nil {
		return s.lockedStore.Commit(ctx, ch)
	}
	chunk := *ch.Partial
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.refuse != nil && s.refuse(s.saves) {
		return errors.New("no room on the disk")
	}
	s.chunks = append(s.chunks, chunk)
	return nil
}

// said returns the stored text of one kind.
func (s *diskStore) said(t *testing.T, kind history.BlockType) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for i, c := range s.chunks {
		if c.N != i {
			t.Errorf("chunk %d has the number %d", i, c.N)
		}
		if c.Kind == kind {
			out.WriteString(c.Text)
		}
	}
	return out.String()
}

// All text of a running reply is stored once and in order, including text that arrives while a save runs or fails.
func TestPartialTextReachesTheDisk(t *testing.T) {
	const deltas, gap = 3000, time.Millisecond
	for name, tt := range map[string]struct {
		takes  time.Duration
		size   int // of a delta
		refuse func(save int) bool
	}{
		"quick saves":        {time.Microsecond, 10, nil},
		"slow saves":         {20 * time.Millisecond, 10, nil},
		"saves of a second":  {time.Second, 10, nil},
		"much text":          {20 * time.Millisecond, 300, nil},
		"some saves fail":    {20 * time.Millisecond, 10, func(save int) bool { return save%3 == 0 }},
		"the first all fail": {20 * time.Millisecond, 10, func(save int) bool { return save < 8 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &diskStore{lockedStore: newLockedStore(), takes: tt.takes, refuse: tt.refuse}
				want := map[history.BlockType]*strings.Builder{history.BlockText: {}, history.BlockThinking: {}}
				s := lone(t, store, streamFunc(func(on func(reply.Event)) reply.Result {
					for i := range deltas {
						kind, block := reply.EventText, history.BlockText
						if i/100%3 == 0 { // thoughts and text alternate
							kind, block = reply.EventThinking, history.BlockThinking
						}
						delta := fmt.Sprintf("%*d ", tt.size-1, i)
						want[block].WriteString(delta)
						on(reply.Event{Kind: kind, Text: delta})
						time.Sleep(gap)
					}
					time.Sleep(time.Minute) // the reply pauses; waiting text is saved in time
					for kind, said := range want {
						if got := store.said(t, kind); got != said.String() {
							t.Errorf("%s: %d bytes were sent, %d are on disk", kind, said.Len(), len(got))
						}
					}
					return reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: "fine"}}, StopReason: reply.StopEndTurn}
				}))
				prompt := Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "hello"}}}
				if _, err := answerOf(func(reply func(PromptResult, error)) {
					s.Prompt(prompt, nil, func(result PromptResult, _ uint64, err error) { reply(result, err) })
				}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
