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
	"strata/session/saving"
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

// checkPace checks the sizes of the chunks and the number of saves of a reply: a chunk takes no more text once it is full,
// and a save is made when a chunk is full, when its time has come, or when the kind changes.
func (s *diskStore) checkPace(t *testing.T, delta, said int, took time.Duration, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.chunks {
		if len(c.Text) >= saving.PartialBytes+delta {
			t.Errorf("chunk %d has %d bytes", c.N, len(c.Text))
		}
	}
	if most := said/saving.PartialBytes + int(took/saving.PartialEvery) + changes + 1; s.refuse == nil && s.saves > most {
		t.Errorf("%d saves, at most %d are right", s.saves, most)
	}
}

// All text of a running reply is stored once and in order, including text that arrives while a save runs or fails.
func TestPartialTextReachesTheDisk(t *testing.T) {
	const deltas, gap = 3000, time.Millisecond
	for name, tt := range map[string]struct {
		takes  time.Duration
		size   int // of a delta
		change int // deltas of one kind in a row: thoughts and text take turns
		refuse func(save int) bool
	}{
		"text only":          {20 * time.Millisecond, 10, deltas, nil},
		"quick saves":        {time.Microsecond, 10, 100, nil},
		"slow saves":         {20 * time.Millisecond, 10, 100, nil},
		"long runs":          {20 * time.Millisecond, 10, 700, nil},
		"saves of a second":  {time.Second, 10, deltas, nil},
		"much text":          {20 * time.Millisecond, 300, 100, nil},
		"much of one kind":   {20 * time.Millisecond, 300, deltas, nil},
		"some saves fail":    {20 * time.Millisecond, 10, 700, func(save int) bool { return save%3 == 0 }},
		"the first all fail": {20 * time.Millisecond, 10, deltas, func(save int) bool { return save < 8 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &diskStore{lockedStore: newLockedStore(), takes: tt.takes, refuse: tt.refuse}
				want := map[history.BlockType]*strings.Builder{history.BlockText: {}, history.BlockThinking: {}}
				s := lone(t, store, streamFunc(func(on func(reply.Event)) reply.Result {
					for i := range deltas {
						kind, block := reply.EventText, history.BlockText
						if i/tt.change%2 == 1 {
							kind, block = reply.EventThinking, history.BlockThinking
						}
						delta := fmt.Sprintf("%*d ", tt.size-1, i)
						want[block].WriteString(delta)
						on(reply.Event{Kind: kind, Text: delta})
						time.Sleep(gap)
					}
					time.Sleep(time.Minute) // the reply pauses; waiting text is saved in time
					store.checkPace(t, tt.size, deltas*tt.size, deltas*gap, deltas/tt.change)
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

// The first words of a reply are on disk at once, without waiting for more of them.
func TestF34TheFirstWordsAreSavedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &diskStore{lockedStore: newLockedStore()}
		s := lone(t, store, streamFunc(func(on func(reply.Event)) reply.Result {
			for i, words := range []string{"first", " second", " third"} {
				on(reply.Event{Kind: reply.EventText, Text: words})
				synctest.Wait() // no time passes
				if got := store.said(t, history.BlockText); got != "first" {
					t.Errorf("%q is on disk after %d deltas", got, i+1)
				}
			}
			time.Sleep(2 * saving.PartialEvery)
			if got := store.said(t, history.BlockText); got != "first second third" || store.saves != 2 {
				t.Errorf("%q is on disk after %d saves", got, store.saves)
			}
			return reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: "first second third"}}, StopReason: reply.StopEndTurn}
		}))
		prompt := Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "hello"}}}
		if _, err := answerOf(func(reply func(PromptResult, error)) {
			s.Prompt(prompt, nil, func(result PromptResult, _ uint64, err error) { reply(result, err) })
		}); err != nil {
			t.Error(err)
		}
	})
}
