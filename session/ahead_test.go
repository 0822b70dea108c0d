package session

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
)

// heldStore stores a prompt when decide says how that ends.
type heldStore struct {
	*lockedStore
	decide  chan error       // of the next change that begins a turn
	changes []history.Change // but the session's creation
}

func newHeldStore() *heldStore {
	return &heldStore{lockedStore: newLockedStore(), decide: make(chan error)}
}

func (s *heldStore) Commit(ctx context.Context, ch history.Change) error {
	if ch.Begin != nil {
		if err := <-s.decide; err != nil {
			return err
		}
	}
	s.mu.Lock()
	if ch.Create == nil {
		s.changes = append(s.changes, ch)
	}
	s.mu.Unlock()
	return s.lockedStore.Commit(ctx, ch)
}

// echo replies at once with the texts of the request. It counts its calls, and those that ended because of their context.
type echo struct{ calls, cancelled int }

func (e *echo) Stream(ctx context.Context, req llm.Request, on func(reply.Event)) (reply.Result, error) {
	e.calls++
	defer func() {
		if ctx.Err() != nil {
			e.cancelled++
		}
	}()
	said := ""
	for _, entry := range req.Entries {
		for _, b := range entry.Blocks {
			said += b.Text + "|"
		}
	}
	on(reply.Event{Kind: reply.EventText, Text: said})
	if err := ctx.Err(); err != nil {
		return reply.Result{}, err
	}
	return reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: said}}, StopReason: reply.StopEndTurn}, nil
}

// sent is a prompt under way.
type sent struct {
	result PromptResult
	err    error
	ended  bool
	cancel func()
}

func send(s *Session, text string) *sent {
	p := new(sent)
	prompt := Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: text}}}
	p.cancel = s.Prompt(prompt, nil, func(result PromptResult, _ uint64, err error) { p.result, p.err, p.ended = result, err, true })
	return p
}

// texts returns the texts of the session's messages in the view, as they are stored.
func (s *heldStore) texts(c *ContextManager) (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range c.View() {
		texts = append(texts, s.messages[v.Seq].Blocks[0].Text)
	}
	return texts
}

// The provider is called while the prompt is being stored. Until it is, nobody hears of the turn; then all of it is told.
func TestTheProviderWorksWhileThePromptIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, provider := newHeldStore(), new(echo)
		s := lone(t, store, provider)
		synctest.Wait()
		before := s.events.End()
		p := send(s, "hello")
		synctest.Wait()
		if provider.calls != 1 {
			t.Errorf("the provider was called %d times before the prompt was stored", provider.calls)
		}
		if s.events.End() != before || p.ended || len(store.changes) > 0 || len(s.context.Transcript()) > 0 {
			t.Fatalf("before the prompt is stored: %d events, ended %t, %d changes, %d messages",
				s.events.End()-before, p.ended, len(store.changes), len(s.context.Transcript()))
		}
		store.decide <- nil
		synctest.Wait()
		if !p.ended || p.err != nil || p.result.Turn.Status != history.TurnCompleted {
			t.Fatalf("ended %t as %s with %v", p.ended, p.result.Turn.Status, p.err)
		}
		if got := store.texts(s.context); !slices.Equal(got, []string{"hello", "hello|"}) {
			t.Errorf("stored %q", got)
		}
		if store.changes[0].Begin == nil {
			t.Errorf("the first change is not the prompt's: %+v", store.changes[0])
		}
	})
}

// If a prompt cannot be stored, the call is cancelled, nobody hears of its reply, and the session is as it was.
func TestAPromptThatIsNotStoredLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, provider := newHeldStore(), new(echo)
		s := lone(t, store, provider)
		synctest.Wait()
		var want []string
		said := ""
		for round := range 4 {
			before := s.events.End()
			lost := send(s, fmt.Sprint("lost ", round))
			synctest.Wait()
			message := []history.Viewed{{Head: history.Head{ID: s.running.record.UserID}}}
			store.decide <- fmt.Errorf("disk full: %w", history.ErrUnchanged)
			synctest.Wait()
			if !lost.ended || lost.err == nil || s.events.End() != before || provider.cancelled != round+1 {
				t.Fatalf("ended %t with %v after %d events, %d calls cancelled", lost.ended, lost.err, s.events.End()-before, provider.cancelled)
			}
			if len(s.context.Pictures.Unseen(message)) != 1 {
				t.Error("the pictures of a refused message are still known")
			}
			kept := send(s, fmt.Sprint("kept ", round))
			synctest.Wait()
			store.decide <- nil
			synctest.Wait()
			if !kept.ended || kept.err != nil {
				t.Fatalf("the next prompt ended %t with %v", kept.ended, kept.err)
			}
			said += fmt.Sprintf("kept %d|", round)
			want = append(want, fmt.Sprint("kept ", round), said)
			said += said + "|"
			if got := store.texts(s.context); !slices.Equal(got, want) {
				t.Fatalf("stored %q, want %q", got, want)
			}
		}
		for i, h := range s.context.Transcript() {
			if h.Seq != int64(i+1) {
				t.Errorf("message %d has the sequence number %d", i, h.Seq)
			}
		}
	})
}

// A turn that is cancelled while its prompt is being stored ends as cancelled once it is.
func TestCancelWhileThePromptIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, provider := newHeldStore(), new(echo)
		s := lone(t, store, provider)
		p := send(s, "hello")
		synctest.Wait()
		p.cancel()
		synctest.Wait()
		if p.ended {
			t.Fatal("it ended before its prompt was stored")
		}
		store.decide <- nil
		synctest.Wait()
		if !p.ended || p.err != nil || p.result.Turn.StopReason != "cancelled" {
			t.Errorf("ended %t with %q, %v", p.ended, p.result.Turn.StopReason, p.err)
		}
		if got := store.texts(s.context); len(got) == 0 || got[0] != "hello" {
			t.Errorf("stored %q", got)
		}
	})
}

// A session that closes while a prompt is being stored waits for that, and ends the turn.
func TestCloseWhileThePromptIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newHeldStore()
		s := lone(t, store, new(echo))
		p := send(s, "hello")
		synctest.Wait()
		s.Close("test", func() {})
		synctest.Wait()
		store.decide <- nil
		synctest.Wait()
		if !p.ended || p.result.Turn.Status == history.TurnCompleted && p.result.Turn.StopReason != "cancelled" {
			t.Errorf("ended %t as %s with %q, %v", p.ended, p.result.Turn.Status, p.result.Turn.StopReason, p.err)
		}
		select {
		case <-s.Done():
		default:
			t.Error("the session has not ended")
		}
	})
}

// What a request needs to fit is stored after its prompt.
func TestEvictionsFollowTheirPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, provider := newHeldStore(), new(echo)
		s := lone(t, store, provider)
		long := ""
		for n := range 2400 {
			long += fmt.Sprint(n, " ")
		}
		for range 3 {
			before, changes := provider.calls, len(store.changes)
			p := send(s, long)
			synctest.Wait()
			early := provider.calls - before
			store.decide <- nil
			synctest.Wait()
			if !p.ended || p.err != nil {
				t.Fatalf("ended %t with %v", p.ended, p.err)
			}
			if store.changes[changes].Begin == nil {
				t.Error("something was stored before the prompt")
			}
			evicted := slices.ContainsFunc(store.changes[changes:], func(ch history.Change) bool { return len(ch.Edits) > 0 })
			if evicted == (early > 0) {
				t.Errorf("%d requests were sent before the prompt was stored; evictions: %t", early, evicted)
			}
		}
		if len(store.edits) == 0 {
			t.Error("nothing was evicted: the test has no point")
		}
	})
}
