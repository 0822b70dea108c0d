package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/saving"
)

// slowStore takes time to save the text of a running reply.
type slowStore struct {
	*lockedStore
	takes time.Duration
	saved int // bytes
}

func (s *slowStore) Commit(ctx context.Context, ch history.Change) error {
	if ch.Partial != nil {
		time.Sleep(s.takes)
		s.mu.Lock()
		s.saved += len(ch.Partial.Text)
		s.mu.Unlock()
	}
	return s.lockedStore.Commit(ctx, ch)
}

// streamFunc is a Streamer.
type streamFunc func(on func(reply.Event)) reply.Result

func (f streamFunc) Stream(_ context.Context, _ llm.Request, on func(reply.Event)) (reply.Result, error) {
	return f(on), nil
}

// While a reply streams without a pause, no text waits to be saved for longer than the interval of saves and the time
// of two saves.
func TestPartialTextKeepsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deltas, gap = 5000, time.Millisecond
		store := &slowStore{lockedStore: newLockedStore(), takes: 20 * time.Millisecond}
		most := saving.PartialEvery + 2*store.takes + gap
		s := lone(t, store, streamFunc(func(on func(reply.Event)) reply.Result {
			for said := range deltas {
				time.Sleep(gap)
				store.mu.Lock()
				saved := store.saved
				store.mu.Unlock()
				if waits := time.Duration(said-saved) * gap; waits > most {
					t.Errorf("after %d bytes, %d were saved: text waits for %v, the maximum is %v", said, saved, waits, most)
				}
				on(reply.Event{Kind: reply.EventText, Text: "x"})
			}
			return reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: "fine"}}, StopReason: reply.StopEndTurn}
		}))
		result, err := answerOf(func(reply func(PromptResult, error)) {
			prompt := Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "hello"}}}
			s.Prompt(prompt, nil, func(result PromptResult, _ uint64, err error) { reply(result, err) })
		})
		if err != nil || result.Turn.StopReason != "end_turn" {
			t.Errorf("%+v, %v", result.Turn, err)
		}
	})
}
