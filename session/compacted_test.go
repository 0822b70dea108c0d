package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/compacting"
	"strata/session/events"
	embedded "strata/session/profile"
)

// guardedStore lets a test decide about the commits of compactions, and refuses all commits while full is set.
type guardedStore struct {
	*lockedStore
	decide func(ch *history.Change) error // of a commit that applies a compaction; nil: it is stored

	mu   sync.Mutex
	full bool
}

func (s *guardedStore) Commit(ctx context.Context, ch history.Change) error {
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	if full {
		return errors.New("no room on the disk")
	}
	if s.decide != nil && ch.Compaction != nil && len(ch.Edits) > 0 {
		if err := s.decide(&ch); err != nil {
			return err
		}
	}
	return s.lockedStore.Commit(ctx, ch)
}

func (s *guardedStore) fill(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// outgrown is a session whose running turn has outgrown the window. A compaction is made that waits for the end of the step,
// whose call of the model is open.
type outgrown struct {
	*acted
	guard *guardedStore
	turn  chan outcomeOf
	open  *call
	step  int // that is open, from 1

	outcomes chan compacting.Result // told to a client that asked for the compaction under way

	made   chan struct{} // a value for each compaction that was made
	waited string        // id of the newest one that was waited for
}

const outgrowing = "Find out which of the files defines the least number."

func outgrow(t *testing.T, begun ...func(*outgrown)) *outgrown {
	t.Helper()
	o := working(t, "chat", 12_000)
	o.talk("This was the first task.")
	o.begins()
	for _, f := range begun {
		f(o)
	}
	for !o.compacts() {
		o.goOn()
	}
	o.ask()
	o.wait()
	return o
}

// working returns a session with wide files, whose model has a window.
func working(t *testing.T, profile string, window int) *outgrown {
	t.Helper()
	o := &outgrown{outcomes: make(chan compacting.Result, 2), made: make(chan struct{}, longTurn)}
	pool := compaction.NewPool(compaction.PoolOptions{Observe: func(compaction.Done) { o.made <- struct{}{} }})
	o.acted = acting(t, func(d *Deps) {
		o.guard = &guardedStore{lockedStore: d.Store.(*lockedStore)}
		d.Store, d.Pool = o.guard, pool
		d.Models = oneModel{d.Models.(oneModel).Streamer, llm.Model{Name: "local/test", Window: window, MaxOutput: 1000}}
		d.Rules.Profile, d.Rules.Profiles = profile, profiles(t)
	})
	t.Cleanup(pool.Close)
	o.told() // it has its folders
	o.wide(longTurn)
	return o
}

// begins begins the turn.
func (o *outgrown) begins() {
	o.turn = o.prompt(outgrowing, nil)
	o.open, o.step = o.asked(), 1
}

// ask asks for a compaction.
func (o *outgrown) ask() {
	o.Compact(compacting.Request{}, func(r compacting.Result, err error) {
		if err != nil {
			o.t.Error(err)
		}
		o.outcomes <- r
	})
}

// wait waits until the compaction that is under way is made. It is called in each step, so that none is missed.
func (o *outgrown) wait() {
	id := ""
	o.mailbox.Wait(func() { id = o.compacting.RunningID() })
	if id != "" && id != o.waited {
		<-o.made
		o.waited = id
	}
}

func profiles(t *testing.T) map[string]embedded.Profile {
	t.Helper()
	all, err := embedded.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// act ends the open step with a call.
func (o *outgrown) act() {
	o.open.act(reply.StopToolUse, callsOf(o.step, fmt.Sprintf(`read_file{"path":"file%d.txt"}`, o.step))...)
}

// goOn ends the open step and waits for the next one.
func (o *outgrown) goOn() {
	o.t.Helper()
	o.act()
	o.open = o.asked()
	o.step++
	if text := texts(o.open.req); !strings.Contains(text, outgrowing) || o.step > 1 && !strings.Contains(text, fmt.Sprintf("file %d line 39 ", o.step-1)) {
		o.t.Fatalf("step %d: the request lacks the prompt or the newest result:\n%s", o.step, text)
	}
	wantPaired(o.t, o.step, o.open.req)
}

// ends ends the turn and checks that it completes.
func (o *outgrown) ends() {
	o.t.Helper()
	o.open.end("file 7")
	if r := <-o.turn; r.err != nil || r.Turn.StopReason != "end_turn" {
		o.t.Errorf("the turn ended with %+v, %v", r.Turn, r.err)
	}
}

// wantOutcome checks what the client was told that asked for the compaction, and what is stored of it.
func (o *outgrown) wantOutcome(want string, edits int) {
	o.t.Helper()
	if r := <-o.outcomes; r.Outcome != want {
		o.t.Errorf("the client was told %+v, want %s", r, want)
	}
	o.wantStored(edits)
	if len(o.outcomes) > 0 {
		o.t.Error("the client was told the outcome twice")
	}
}

// wantStored checks that so many compactions are stored, and that everything that is stored has a place of its own.
func (o *outgrown) wantStored(edits int) {
	o.t.Helper()
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	var ids []string
	var places []int64
	for seq := range o.store.messages {
		places = append(places, seq)
	}
	for _, e := range o.store.edits {
		if e.Kind == history.EditCompact {
			ids = append(ids, e.ID)
		}
		places = append(places, e.Seq)
	}
	slices.Sort(places)
	for i, seq := range places {
		if seq != int64(i+1) {
			o.t.Errorf("the sequence numbers are %d", places)
			break
		}
	}
	if len(ids) != edits {
		o.t.Errorf("%d compactions are stored, want %d", len(ids), edits)
	}
}

// A compaction that waits for the end of the step when the turn is cancelled is stored after the turn.
func TestACancelWhileACompactionWaits(t *testing.T) {
	o := outgrow(t)
	o.Cancel("")
	if r := <-o.turn; r.err != nil || r.Turn.StopReason != "cancelled" {
		t.Errorf("the turn ended with %+v, %v", r.Turn, r.err)
	}
	o.wantOutcome(string(compaction.Compacted), 1)
	o.talk("And the greatest?")
}

// A cancel during the commit of a compaction ends the turn as soon as that is stored.
func TestACancelDuringTheCommitOfACompaction(t *testing.T) {
	o := outgrow(t)
	at, release := make(chan struct{}), make(chan struct{})
	o.guard.decide = func(*history.Change) error { close(at); <-release; return nil }
	o.act()
	<-at
	o.Cancel("")
	o.told() // the session is not held up
	close(release)
	if r := <-o.turn; r.err != nil || r.Turn.StopReason != "cancelled" {
		t.Errorf("the turn ended with %+v, %v", r.Turn, r.err)
	}
	o.wantOutcome(string(compaction.Compacted), 1)
	o.guard.decide = nil
	o.talk("And the greatest?")
}

// A session that is closed while a compaction waits, or while it is stored, tells the client an outcome once and ends.
func TestACloseWhileACompactionWaits(t *testing.T) {
	for _, reason := range []string{ReasonClosed, ReasonShutdown} {
		for _, committing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, committing %t", reason, committing), func(t *testing.T) {
				o := outgrow(t)
				at, release := make(chan struct{}), make(chan struct{})
				if committing {
					o.guard.decide = func(*history.Change) error { close(at); <-release; return nil }
					o.act()
					<-at
				}
				o.Close(reason, func() {})
				if committing {
					close(release)
				}
				want := history.TurnCancelled
				if reason == ReasonShutdown {
					want = history.TurnInterrupted
				}
				if r := <-o.turn; r.err != nil || r.Turn.Status != want {
					t.Errorf("the turn ended with %+v, %v", r.Turn, r.err)
				}
				<-o.Done()
				o.wantOutcome(string(compaction.Compacted), 1)
			})
		}
	}
}

// A compaction that cannot be stored is dropped; the turn goes on, and a later one is stored if it can be.
func TestACompactionThatCannotBeStored(t *testing.T) {
	for name, tt := range map[string]struct {
		failures, edits int // commits that fail, compactions that are stored
	}{"once": {1, 1}, "for good": {longTurn, 0}} {
		t.Run(name, func(t *testing.T) {
			o := outgrow(t)
			left := tt.failures
			o.guard.decide = func(*history.Change) error {
				if left == 0 {
					return nil
				}
				left--
				return fmt.Errorf("%w: no room on the disk", history.ErrUnchanged)
			}
			o.goOn()
			if r := <-o.outcomes; r.Outcome != string(compaction.Failed) || r.Reason == "" {
				t.Errorf("the client was told %+v", r)
			}
			for range 2 {
				o.wait()
				o.goOn()
			}
			o.ends()
			o.wait()
			if len(o.outcomes) > 0 {
				t.Error("the client was told the outcome twice")
			}
			o.talk("And the greatest?")
			background := 0
			o.store.mu.Lock()
			for _, ch := range o.store.changes {
				if ch.Compaction != nil && len(ch.Edits) > 0 {
					background++
				}
			}
			o.store.mu.Unlock()
			if (background > 0) != (tt.edits > 0) {
				t.Errorf("%d compactions of the background are stored", background)
			}
		})
	}
}

// A turn ends when the disk is full, with the compaction that waited for its step. The result is stored when there is room
// again, and nothing is stored twice.
func TestAFullDiskWhileACompactionWaits(t *testing.T) {
	o := outgrow(t)
	c := o.NewCursor(func() {})
	o.attach(c)
	o.guard.fill(true)
	o.act()
	if r := <-o.turn; r.err == nil || r.Turn.Status != history.TurnFailed {
		t.Errorf("the turn ended with %+v, %v", r.Turn, r.err)
	}
	if !o.told().Unsaved || len(o.outcomes) > 0 {
		t.Errorf("%d outcomes were told while the result is not stored", len(o.outcomes))
	}
	o.guard.fill(false)
	o.wantOutcome(string(compaction.Compacted), 1)
	saved := slices.IndexFunc(received(t, c), func(e events.Event) bool { return e.Kind == events.Saved })
	if saved < 0 {
		t.Error("nobody was told that the result is stored")
	}
	o.talk("And the greatest?")
}

// A client that asks for a compaction while a turn runs is answered between two steps.
func TestACompactionIsAskedForWhileATurnRuns(t *testing.T) {
	for profile, finished := range map[string]int{"chat": 6, "steps": 0} {
		t.Run(profile, func(t *testing.T) {
			o := working(t, profile, 100_000)
			for i := range finished {
				o.talk(fmt.Sprintf("Question %d. %s", i, strings.Repeat("What of this part of the program? ", 100)))
			}
			o.begins()
			for o.step < 14 {
				o.goOn()
			}
			o.ask()
			o.wait()
			o.told()
			if len(o.outcomes) > 0 {
				t.Errorf("the client was told %+v during the step", <-o.outcomes)
			}
			o.goOn()
			o.wantOutcome(string(compaction.Compacted), 1)
			if n := o.compactionsWithin(); n != 1 {
				t.Errorf("%d compactions were stored within the turn", n)
			}
			o.ends()
		})
	}
}

// A clear that waits for the end of the turn does not drop a compaction that is stored between two steps. After the turn they
// follow each other as they were made: a compaction of what was cleared is dropped.
func TestAClearWaitsWhileATurnIsCompacted(t *testing.T) {
	for name, tt := range map[string]struct {
		early, goesOn bool // the clear is asked for before the compaction begins; a further step follows
		want          string
	}{
		"between steps":           {false, true, "compact clear"},
		"between steps, early":    {true, true, "compact clear"},
		"in the last step":        {false, false, "compact clear"},
		"in the last step, early": {true, false, "clear"},
	} {
		t.Run(name, func(t *testing.T) {
			clear := func(o *outgrown) {
				if cleared, err := answerOf(o.Clear); err != nil || cleared.After == "" {
					t.Fatalf("%+v, %v", cleared, err)
				}
			}
			var o *outgrown
			if tt.early {
				o = outgrow(t, clear)
			} else {
				o = outgrow(t)
				clear(o)
			}
			if tt.goesOn {
				o.goOn()
			}
			o.ends()
			want := string(compaction.Compacted)
			if tt.want == "clear" {
				want = compacting.Superseded
			}
			if r := <-o.outcomes; r.Outcome != want {
				t.Errorf("the client was told %+v, want %s", r, want)
			}
			o.talk("And the greatest?")
			var kinds []string
			o.store.mu.Lock()
			for _, e := range o.store.edits {
				kinds = append(kinds, string(e.Kind))
			}
			o.store.mu.Unlock()
			if got := strings.Join(kinds, " "); got != tt.want {
				t.Errorf("the edits are %s, want %s", got, tt.want)
			}
			if n := len(o.context.View()); n != 2 {
				t.Errorf("%d messages are in view after the clear and a turn", n)
			}
		})
	}
}

// A read repeats lines that the request shows if a compaction under way may remove them from the next one.
func TestAReadWhileACompactionWaitsIsNotReferredToTheTextAbove(t *testing.T) {
	o := outgrow(t)
	if !strings.Contains(texts(o.open.req), "file 1 line 39 ") {
		t.Fatal("the request does not show the file")
	}
	o.open.act(reply.StopToolUse, callsOf(o.step, `read_file{"path":"file1.txt"}`)...)
	next := o.asked()
	if text := texts(next.req); !strings.Contains(text, "file 1 line 39 ") || strings.Contains(text, "already shown") {
		t.Errorf("the next request does not show the file:\n%s", text)
	}
	o.wantOutcome(string(compaction.Compacted), 1)
	o.open = next
	o.ends()
}
