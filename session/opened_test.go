package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/compaction"
	"strata/history"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/following"
	"strata/session/profile"
)

// storedSession is the store of a session that can be loaded.
type storedSession struct {
	*ledger
	loaded history.Loaded
}

func (s *storedSession) Load(context.Context, string) (history.Loaded, error) { return s.loaded, nil }

// stored returns the store of a session with these messages.
func stored(t *testing.T, messages ...history.Message) *storedSession {
	s := &storedSession{ledger: &ledger{lockedStore: newLockedStore()}}
	s.loaded.Session = history.Session{ID: "sess_1", CWD: t.TempDir()}
	for i, m := range messages {
		m.ID, m.Seq, m.Status, m.Tokens = "msg_"+string(rune('a'+i)), int64(i+1), history.StatusComplete, 10
		s.messages[m.Seq] = m
		s.loaded.Heads = append(s.loaded.Heads, m.Head(content.Bytes(m.Blocks)))
	}
	return s
}

// open loads the session.
func (s *storedSession) open(t *testing.T, adjust ...func(*Deps)) *acted {
	a := &acted{t: t, store: s.lockedStore, provider: newProvider()}
	deps := depsOf(s, a.provider, describingHost{})
	for _, f := range adjust {
		f(deps)
	}
	a.Session = closedLater(t, Open(deps, "sess_1", nil))
	return a
}

func withProfiles(t *testing.T) func(*Deps) {
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	return func(d *Deps) { d.Rules.Profiles = all }
}

// A turn that the last server left running ends as interrupted. The text that it had saved is a message of the view, with one
// block for each run of text or thinking.
func TestATurnThatTheLastServerLeft(t *testing.T) {
	s := stored(t, said(history.RoleUser, "hello"))
	s.loaded.Unfinished = &history.Turn{ID: "turn_1", UserID: "msg_a", ReplyID: "msg_b", Status: history.TurnRunning}
	for i, p := range []history.Partial{
		{Kind: history.BlockThinking, Text: "h"}, {Kind: history.BlockThinking, Text: "m"}, {Kind: history.BlockText, Text: "half "},
		{Kind: history.BlockText, Text: "a "}, {Kind: history.BlockText, Text: "reply"}, {Kind: history.BlockThinking, Text: "?"},
	} {
		p.Turn, p.N = "turn_1", i
		s.loaded.Partials = append(s.loaded.Partials, p)
	}
	a := s.open(t)
	messages := a.list(0, 10).Messages
	if info := a.told(); len(messages) != 2 || info.Messages != 2 || info.InView != 2 || info.Running != "" {
		t.Fatalf("%d messages, %+v", len(messages), info)
	}
	want := []history.Block{
		{Type: history.BlockThinking, Text: "hm"}, {Type: history.BlockText, Text: "half a reply"}, {Type: history.BlockThinking, Text: "?"},
	}
	if diff := cmp.Diff(want, messages[1].Blocks); diff != "" || messages[1].ID != "msg_b" || messages[1].Status != history.StatusInterrupted {
		t.Errorf("%s %s %s", messages[1].ID, messages[1].Status, diff)
	}
	if end := s.last().End; end.Status != history.TurnInterrupted || end.Failure == nil || end.EndedAt.IsZero() {
		t.Errorf("%+v", end)
	}
	a.talk("go on")
}

// The backoff of compactions is that of the last server unless the history was edited since; an edit that a user asks for ends
// it.
func TestTheBackoffEndsWithAnEdit(t *testing.T) {
	paused := func(a *acted) bool {
		t.Helper()
		status, err := answerOf(a.Compaction)
		if err != nil || !status.Enabled {
			t.Fatalf("%+v, %v", status, err)
		}
		return status.Paused
	}
	failed := &history.Compaction{ID: "cmp_1", Outcome: string(compaction.NoGain), Seq: 2, Fruitless: 2, Tokens: 1000}
	s := stored(t, said(history.RoleUser, "one"), said(history.RoleAssistant, "two"))
	s.loaded.Compaction = failed
	a := s.open(t, withProfiles(t))
	if !paused(a) {
		t.Error("a load ends the backoff")
	}
	if _, err := answerOf(a.Clear); err != nil || paused(a) {
		t.Errorf("paused after a clear, %v", err)
	}
	for kind, want := range map[history.EditKind]bool{history.EditClear: false, history.EditDedupe: true} {
		s := stored(t, said(history.RoleUser, "one"), said(history.RoleAssistant, "two"))
		s.loaded.Compaction = failed
		s.loaded.Edits = []history.Edit{{ID: "edit_1", Seq: 3, Kind: kind}}
		if got := paused(s.open(t, withProfiles(t))); got != want {
			t.Errorf("paused after an edit of the kind %s: %t", kind, got)
		}
	}
}

// Messages that are appended can make a compaction due. While it is under way the session says so and stays in memory.
func TestAppendedMessagesAreCompacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := compaction.NewPool(compaction.PoolOptions{Workers: 1})
		defer pool.Close()
		release := make(chan struct{})
		if _, err := pool.Submit("other", func(context.Context) compaction.Result { <-release; return compaction.NothingToDo }); err != nil {
			t.Fatal(err)
		}
		s := stored(t)
		a := s.open(t, withProfiles(t), func(d *Deps) { d.Pool = pool })
		var many []history.Message
		for range 10 {
			many = append(many, said(history.RoleUser, wordsOf(400)), said(history.RoleAssistant, wordsOf(400)))
		}
		if _, err := answerOf(func(reply func([]string, error)) { a.Append(many, nil, reply) }); err != nil {
			t.Fatal(err)
		}
		status, err := answerOf(a.Compaction)
		if err != nil || !status.Running || a.told().State != following.StateCompacting {
			t.Errorf("%+v, %s, %v", status, a.told().State, err)
		}
		synctest.Wait() // the beginning is recorded
		if idle, err := answerOf(a.Idle); err != nil || idle {
			t.Errorf("idle %t, %v", idle, err)
		}
		a.Unload(time.Now().Add(time.Hour), func(bool) {})
		asked := make(chan compacting.Result, 1)
		a.Compact(compacting.Request{}, func(r compacting.Result, err error) {
			if err != nil {
				t.Error(err)
			}
			asked <- r
		})
		close(release)
		if r := <-asked; r.Outcome == compacting.Running || a.told().State != following.StateIdle {
			t.Errorf("%+v, %s", r, a.told().State)
		}
	})
}

// The end of a turn makes a compaction due, but not in a session that closes.
func TestASessionThatClosesBeginsNoCompaction(t *testing.T) {
	for _, closes := range []bool{false, true} {
		done := make(chan compaction.Done, 10)
		pool := compaction.NewPool(compaction.PoolOptions{Observe: func(d compaction.Done) { done <- d }})
		var many []history.Message
		for range 7 {
			many = append(many, said(history.RoleUser, wordsOf(370)), said(history.RoleAssistant, wordsOf(370)))
		}
		s := stored(t, many...)
		for i := range s.loaded.Heads {
			s.loaded.Heads[i].Tokens = 375
		}
		a := s.open(t, withProfiles(t), func(d *Deps) { d.Pool = pool })
		result := a.prompt("hello", nil)
		c := a.asked()
		if closes {
			a.Close(ReasonClosed, func() {})
		} else {
			c.end("done")
		}
		<-result
		if !closes {
			<-done
			a.Close(ReasonClosed, func() {})
		}
		<-a.Done()
		pool.Close()
		if n := len(done); n > 0 {
			t.Errorf("the session closes: %t; %d further compactions", closes, n)
		}
	}
}

// When the changes that waited for a result are dropped, a compaction that ends later is not applied: the server stops, and
// the next sequence number belongs to that result.
func TestDroppedChangesTakeTheCompactionWithThem(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		pool := compaction.NewPool(compaction.PoolOptions{Workers: 1})
		release := make(chan struct{})
		if _, err := pool.Submit("other", func(context.Context) compaction.Result { <-release; return compaction.NothingToDo }); err != nil {
			t.Fatal(err)
		}
		var many []history.Message
		for range 10 {
			many = append(many, said(history.RoleUser, wordsOf(400)), said(history.RoleAssistant, wordsOf(400)))
		}
		s := stored(t, many...)
		for i := range s.loaded.Heads {
			s.loaded.Heads[i].Tokens = 405
		}
		a := s.open(t, withProfiles(t), func(d *Deps) { d.Pool = pool })
		asked := make(chan compacting.Result, 1)
		a.Compact(compacting.Request{}, func(r compacting.Result, err error) {
			if err != nil {
				t.Error(err)
			}
			asked <- r
		})
		a.mailbox.Wait(func() {
			if dropped {
				a.dropDeferred()
			}
		})
		close(release)
		want := string(compaction.Compacted)
		if dropped {
			want = compacting.Interrupted
		}
		r := <-asked
		edits, _, err := a.edited(0, 10)
		if err != nil || r.Outcome != want || len(edits) > 0 == dropped {
			t.Errorf("dropped %t: %+v, %d edits, %v", dropped, r, len(edits), err)
		}
		pool.Close()
	}
}
