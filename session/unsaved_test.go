package session

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/llm"
	"strata/session/events"
	"strata/session/saving"
)

// refusingStore stores no results of turns while it refuses them.
type refusingStore struct {
	*lockedStore
	refuses atomic.Bool
}

func (s *refusingStore) Commit(ctx context.Context, ch history.Change) error {
	if ch.End != nil && s.refuses.Load() {
		return errors.New("no room on the disk")
	}
	return s.lockedStore.Commit(ctx, ch)
}

// keepingHost notes the results that are written to a recovery file.
type keepingHost struct {
	describingHost
	kept *atomic.Int32
}

func (h keepingHost) Keep(history.Change) error { h.kept.Add(1); return nil }

// actUnsaved returns a session of which the result of the only turn is not stored, with that turn and the results that were
// written to a recovery file.
func actUnsaved(t *testing.T) (a *acted, store *refusingStore, turn string, kept *atomic.Int32) {
	t.Helper()
	store, kept = &refusingStore{lockedStore: newLockedStore()}, new(atomic.Int32)
	a = &acted{t: t, store: store.lockedStore, provider: newProvider()}
	a.Session = loneOf(t, store, a.provider, keepingHost{kept: kept})
	store.refuses.Store(true)
	result := a.prompt("hello", nil)
	c := a.asked()
	c.say("kept")
	c.end("kept")
	r := <-result
	if r.err != nil || !a.told().Unsaved {
		t.Fatalf("%+v, %v", r.Turn, r.err)
	}
	return a, store, r.Turn.ID, kept
}

func (a *acted) attach(c *events.Cursor) Attached {
	a.t.Helper()
	attached, err := answerOf(func(reply func(Attached, error)) { a.Attach(c, events.Since{Epoch: a.Epoch()}, reply) })
	if err != nil {
		a.t.Fatal(err)
	}
	return attached
}

// While the result of a turn is not stored no turn runs, changes of the history wait for it or are refused, and a client that
// comes sees the reply. When the result is stored, the changes follow it.
func TestChangesFollowAResultThatIsStoredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, store, turn, _ := actUnsaved(t)
		if cleared, err := answerOf(a.Clear); err != nil || cleared.After != turn {
			t.Errorf("cleared: %+v, %v", cleared, err)
		}
		_, err := answerOf(func(reply func(Replaced, error)) { a.Replace(nil, nil, reply) })
		if busy, ok := errors.AsType[*BusyError](err); !ok || busy.TurnID != turn {
			t.Errorf("replaced: %v", err)
		}
		late := a.NewCursor(func() {})
		a.mailbox.Wait(func() {}) // the log is past the events of the turn
		attached, err := answerOf(func(reply func(Attached, error)) { a.Attach(late, events.Since{}, reply) })
		if err != nil || attached.Running != "" || attached.Snapshot == nil || !attached.Snapshot.Unsaved || attached.Snapshot.Running.Text != "kept" {
			t.Errorf("attached: %+v, %v", attached, err)
		}
		store.refuses.Store(false)
		time.Sleep(2 * saving.RetryMax)
		if info := a.told(); info.Unsaved || info.Messages != 2 || info.InView != 0 {
			t.Errorf("%d messages, %d in view, unsaved %t", info.Messages, info.InView, info.Unsaved)
		}
	})
}

// A prompt that is sent again while its result is not stored receives that result, and the first one is not told again.
func TestEachPromptIsAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &refusingStore{lockedStore: newLockedStore()}
		a := &acted{t: t, store: store.lockedStore, provider: newProvider()}
		a.Session = loneOf(t, store, a.provider, describingHost{})
		store.refuses.Store(true)
		prompt := Prompt{ID: "p1", Blocks: []history.Block{{Type: history.BlockText, Text: "hello"}}}
		var answers [2]atomic.Int32
		for i := range answers {
			a.Prompt(prompt, nil, func(_ PromptResult, _ uint64, err error) {
				if err != nil {
					t.Error(err)
				}
				answers[i].Add(1)
			})
			if i == 0 {
				a.asked().end("kept")
			}
			synctest.Wait()
		}
		store.refuses.Store(false)
		time.Sleep(2 * saving.RetryMax)
		for i := range answers {
			if n := answers[i].Load(); n != 1 {
				t.Errorf("prompt %d was answered %d times", i, n)
			}
		}
	})
}

// If the server stops before a result can be stored, the result is written to the recovery file, and the changes that waited
// for it are dropped and reported.
func TestChangesThatAreDroppedAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _, kept := actUnsaved(t)
		reader := a.NewCursor(func() {})
		a.attach(reader)
		if _, err := answerOf(a.Clear); err != nil {
			t.Fatal(err)
		}
		if _, err := a.restore(RestoreRequest{Seq: 1}); err != nil {
			t.Fatal(err)
		}
		a.Close(ReasonShutdown, func() {})
		<-a.Done()
		notices := 0
		for {
			e, ok, err := reader.Next(t.Context())
			if err != nil || !ok {
				break // the last event was sent
			}
			if e.Kind == events.Notice {
				notices++
			}
		}
		if notices != 2 || kept.Load() != 1 {
			t.Errorf("%d notices, %d results kept", notices, kept.Load())
		}
	})
}

// However long a result could not be stored, a server that stops tries again in short intervals before it gives up.
func TestAResultIsStoredWhileTheServerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, store, _, kept := actUnsaved(t)
		time.Sleep(6 * saving.RetryMax) // the interval is the longest
		a.Close(ReasonShutdown, func() {})
		time.Sleep(saving.ShutdownGrace / 5)
		store.refuses.Store(false)
		<-a.Done()
		if n := len(store.messages); n != 2 || kept.Load() != 0 {
			t.Errorf("%d messages are stored, %d results are in a recovery file", n, kept.Load())
		}
	})
}

// storingHeld stores the results of turns when it is released.
type storingHeld struct {
	*lockedStore
	entered, release chan struct{}
}

func (s *storingHeld) Commit(ctx context.Context, ch history.Change) error {
	if ch.End != nil {
		close(s.entered)
		<-s.release
	}
	return s.lockedStore.Commit(ctx, ch)
}

// A turn that is cancelled while its result is being stored ends as cancelled for its client.
func TestACancellationWhileTheResultIsBeingStored(t *testing.T) {
	store := &storingHeld{newLockedStore(), make(chan struct{}), make(chan struct{})}
	a := &acted{t: t, store: store.lockedStore, provider: newProvider()}
	a.Session = loneOf(t, store, a.provider, describingHost{})
	result := a.prompt("hello", nil)
	a.asked().done <- called{err: &llm.Error{Kind: llm.KindOverloaded}}
	<-store.entered
	a.Cancel("")
	a.told() // follows the cancellation
	close(store.release)
	if r := <-result; r.err != nil || r.Turn.StopReason != "cancelled" {
		t.Errorf("%+v, %v", r.Turn, r.err)
	}
}
