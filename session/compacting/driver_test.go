package compacting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/events"
	"strata/session/mailbox"
)

// deferred is a change that waits for the end of a turn.
type deferred struct{ do, drop func() }

// driven is a driver whose session is controlled by the test. Its fields belong to the mailbox, except for the gate.
type driven struct {
	*stage
	*Driver
	box  *mailbox.Mailbox
	gate chan struct{} // closed: compactions continue
	open func()        // closes it
	at   chan struct{} // a value for each compaction that has reached the gate
	over chan struct{} // a value for each compaction whose result has been posted to the mailbox

	unfinished bool
	waiting    []deferred
	changes    []history.Change
	storeErr   error // number of changes with edits
	told       []string
}

func (h *driven) State() assembly.State  { return h.state() }
func (h *driven) CompactionRules() Rules { return h.rules() }
func (h *driven) Position() int64        { return h.seq() - 1 }
func (h *driven) TokensWith(e history.Edit) int {
	return h.stage.folded().TokensWith(e)
}
func (h *driven) Edits() []history.Edit { return h.edits }
func (h *driven) Unfinished() bool      { return h.unfinished }
func (h *driven) StateChanged()         {}
func (h *driven) HistoryChanged(string) { h.told = append(h.told, "history") }

func (h *driven) AfterTurn(do, drop func()) { h.waiting = append(h.waiting, deferred{do, drop}) }

func (h *driven) Change(_ string, begin func() (history.Change, error), then func(), fail func(error)) {
	h.box.Enqueue(mailbox.Op{Fail: fail, Begin: func() (mailbox.Work, error) {
		change, err := begin()
		if err != nil {
			return nil, err
		}
		if len(change.Edits) > 0 && h.storeErr != nil {
			return nil, h.storeErr
		}
		h.changes = append(h.changes, change)
		for _, e := range change.Edits {
			if e.Seq != h.seq() {
				h.t.Errorf("the edit has the number %d, the next one is %d", e.Seq, h.seq())
			}
			h.stage.apply(e)
		}
		then()
		return nil, nil
	}})
}

// drive returns a driver whose session has steps that a compaction summarizes, without a model.
func drive(t *testing.T) *driven {
	h := &driven{stage: newStage(t, "steps", 32_000), gate: make(chan struct{}), at: make(chan struct{}, 10), over: make(chan struct{}, 10)}
	for i := range 12 {
		h.ask(fmt.Sprint("step ", i, wordsOf(60)))
		h.answer(fmt.Sprint("done ", i, wordsOf(60)))
	}
	h.ask("Go on.")
	log := slog.New(slog.DiscardHandler)
	h.box = mailbox.New("session sess_1", log, func() {})
	stream := events.New("sess_1", "epoch", h.stage, func(context.Context) (events.Standing, error) { return events.Standing{}, nil })
	pool := compaction.NewPool(compaction.PoolOptions{Observe: func(compaction.Done) { h.over <- struct{}{} }})
	h.open = sync.OnceFunc(func() { close(h.gate) })
	ids := 0
	services := &Services{
		Pool: pool, Now: func() time.Time { return time.Unix(0, 0) },
		NewID:       func(prefix string) string { ids++; return fmt.Sprint(prefix, ids) },
		Model:       func(string) (llm.Model, bool) { h.at <- struct{}{}; <-h.gate; return llm.Model{}, false },
		LimitWindow: func(string, int) {},
	}
	h.Driver = New("sess_1", services, h, h.box, stream, log, func(err error) history.Failure { return history.Failure{Message: err.Error()} })
	h.box.Open()
	done := make(chan struct{})
	h.box.Start(func() { close(done) })
	t.Cleanup(func() {
		h.open()
		pool.Close()
		h.box.Tell(func() { h.box.End(mailbox.ErrClosed) }, nil)
		<-done
	})
	return h
}

// compact starts a compaction that waits for the gate, and returns the channel of its result.
func (h *driven) compact() (result chan Result, cancel func()) {
	h.t.Helper()
	result = make(chan Result, 1)
	cancel = h.Compact(Request{}, func(r Result, err error) {
		if err != nil {
			h.t.Error(err)
		}
		result <- r
	})
	running := false
	h.box.Wait(func() { running = h.Running() })
	if !running {
		h.t.Fatal("no compaction is under way")
	}
	return result, cancel
}

// stored returns the stored outcomes of compactions and the number of stored edits.
func (h *driven) stored() (outcomes []string, edits int) {
	h.box.Wait(func() {
		for _, c := range h.changes {
			edits += len(c.Edits)
			if c.Compaction != nil {
				outcomes = append(outcomes, c.Compaction.Outcome)
			}
		}
	})
	return outcomes, edits
}

// wantStored checks that a compaction was stored as running and then with the outcome, with or without an edit.
func (h *driven) wantStored(outcome string, edits int) {
	h.t.Helper()
	outcomes, n := h.stored()
	if len(outcomes) != 2 || outcomes[0] != Running || outcomes[1] != outcome || n != edits {
		h.t.Errorf("stored are %v with %d edits, want running, %s with %d", outcomes, n, outcome, edits)
	}
	h.box.Wait(func() {
		if h.Running() || h.Status().LastOutcome != outcome {
			h.t.Errorf("afterwards the status is %+v", h.Status())
		}
	})
}

func TestACompactionIsStoredAndApplied(t *testing.T) {
	h := drive(t)
	before := 0
	h.box.Wait(func() { before = h.tokens() })
	result, _ := h.compact()
	h.open()
	r := <-result
	if r.Outcome != string(compaction.Compacted) || r.Summary == "" || r.Before != before || r.After >= before {
		t.Errorf("%+v", r)
	}
	h.wantStored(string(compaction.Compacted), 1)
	h.box.Wait(func() {
		if after := h.tokens(); after != r.After || h.edits[0].After != after || h.edits[0].SavedTokens != before-after {
			t.Errorf("the history has %d tokens, the result %d, the edit %+v", after, r.After, h.edits[0])
		}
		if len(h.told) != 1 {
			t.Errorf("subscribers received %v", h.told)
		}
	})
}

// Messages may follow while a compaction runs: what it saves is counted from the history as it is stored.
func TestACompactionOfAHistoryThatGrew(t *testing.T) {
	h := drive(t)
	result, _ := h.compact()
	<-h.at // it has read the messages
	before := 0
	h.box.Wait(func() {
		h.answer(wordsOf(500))
		before = h.tokens()
	})
	h.open()
	if r := <-result; r.Outcome != string(compaction.Compacted) || r.Before != before {
		t.Errorf("%+v, the history had %d tokens", r, before)
	}
	h.box.Wait(func() {
		change := h.changes[len(h.changes)-1]
		if e := change.Edits[0]; e.Before != before || e.After != h.tokens() || change.Compaction.Seq != e.Seq {
			t.Errorf("from %d to %d tokens; the edit says %d to %d, its number is %d, that of the record %d", before, h.tokens(), e.Before, e.After, e.Seq, change.Compaction.Seq)
		}
	})
}

// Compactions without a gain delay the next one, which is stored and shown; one with a gain does not.
func TestFruitlessCompactionsAreCounted(t *testing.T) {
	h := drive(t)
	h.box.Wait(func() {
		for i, tt := range []struct {
			result    compaction.Result
			fruitless int
		}{{compaction.NoGain, 1}, {compaction.NothingToDo, 1}, {compaction.Failed, 2}, {compaction.Cancelled, 2}} {
			h.done(&run{id: "cmp"}, compaction.Outcome{Result: tt.result, Before: h.tokens()}, nil)
			if got := h.changes[len(h.changes)-1].Compaction; got.Fruitless != tt.fruitless || got.Outcome != string(tt.result) {
				t.Errorf("after outcome %d, %s, %+v is stored", i, tt.result, got)
			}
			if paused := h.Status().Paused; paused != (tt.fruitless == 2) {
				t.Errorf("after outcome %d the status is paused: %t", i, paused)
			}
		}
	})
	result, _ := h.compact()
	h.open()
	<-result
	h.box.Wait(func() {
		if got := h.changes[len(h.changes)-1].Compaction; got.Fruitless != 0 || h.Status().Paused {
			t.Errorf("after a compaction %+v is stored", got)
		}
	})
}

// Text of a summary that comes after the end of its compaction is told to nobody.
func TestALateDraftIsDropped(t *testing.T) {
	h := drive(t)
	result, _ := h.compact()
	h.box.Wait(func() {
		r, n := h.running, h.events.End()
		h.drafted(r, "more", false)
		if h.events.End() != n+1 {
			t.Errorf("%d events tell a draft", h.events.End()-n)
		}
		h.drafted(r, "again", true)
		if h.events.End() != n+3 {
			t.Errorf("%d events tell a draft and that an earlier one does not count", h.events.End()-n-1)
		}
		h.drafted(&run{id: "cmp_0"}, "late", true)
		if h.events.End() != n+3 {
			t.Error("a late draft is told")
		}
	})
	h.open()
	<-result
}

// A mode that was asked for is carried out, whatever the removal of copies would save.
func TestAModeThatWasAskedForRemovesPairs(t *testing.T) {
	for keep, pairs := range map[string]bool{"": false, compaction.KeepNone: true} {
		h := drive(t)
		h.open()
		var answered Result
		done := make(chan struct{})
		h.box.Wait(func() {
			h.profile, h.messages = profileNamed(t, "task"), nil
			for i := range 6 {
				h.call("--- FULL CONTENT: a.go ---\n" + strings.ReplaceAll(linesOf("a", 80), "value", fmt.Sprint("v", i)))
				h.ask(fmt.Sprint("question ", i))
			}
		})
		h.Compact(Request{Keep: keep}, func(r Result, err error) {
			if err != nil {
				t.Error(err)
			}
			answered = r
			close(done)
		})
		<-done
		h.box.Wait(func() {
			if answered.Outcome != string(compaction.Compacted) || len(h.edits) != 1 {
				t.Errorf("keep %q: %+v", keep, answered)
				return
			}
			if e := h.edits[0]; (len(e.Messages) > 0) != pairs || (len(e.Patches) > 0) == pairs {
				t.Errorf("keep %q: %d messages leave, %d copies", keep, len(e.Messages), len(e.Patches))
			}
		})
	}
}

// A request during a compaction gets the result of that compaction and can stop it; the requester of an earlier
// compaction cannot.
func TestOneCompactionAtATime(t *testing.T) {
	h := drive(t)
	first, stale := h.compact()
	second, _ := h.compact()
	h.open()
	if a, b := <-first, <-second; a != b || a.Outcome != string(compaction.Compacted) {
		t.Errorf("%+v and %+v", a, b)
	}
	h.gate = make(chan struct{})
	h.open = sync.OnceFunc(func() { close(h.gate) })
	h.box.Wait(func() {
		for i := range 12 {
			h.answer(fmt.Sprint("more ", i, wordsOf(60)))
		}
	})
	third, cancel := h.compact()
	stale()
	h.box.Wait(func() {})
	fourth, also := h.compact()
	h.open()
	if a, b := <-third, <-fourth; a != b || a.Outcome != string(compaction.Compacted) {
		t.Errorf("after another one was cancelled late: %+v and %+v", a, b)
	}
	cancel()
	also()
	h.box.Wait(func() {})
}

// A compaction starts automatically only if the profile allows it, the history is long enough, none is running, and
// there is no backoff.
func TestWhenACompactionStarts(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(h *driven)
		want bool
	}{
		"it is due":            {func(*driven) {}, true},
		"the profile has none": {func(h *driven) { h.profile.Compaction.Enabled = false }, false},
		"a turn runs":          {func(h *driven) { h.unfinished = true }, false},
		"the session closes":   {func(h *driven) { h.box.Refuse() }, false},
		"two were of no use":   {func(h *driven) { h.backoff = compaction.Backoff{Fruitless: 2, Tokens: h.tokens()} }, false},
		"it has grown since":   {func(h *driven) { h.backoff = compaction.Backoff{Fruitless: 2, Tokens: h.tokens() / 2} }, true},
		"a call has no result": {func(h *driven) {
			h.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "c", Name: "run", Args: "{}"})
		}, false},
		"the history is short":  {func(h *driven) { h.stage.apply(history.Edit{Kind: history.EditClear}) }, false},
		"the backoff was reset": {func(h *driven) { h.backoff = compaction.Backoff{Fruitless: 2, Tokens: h.tokens()}; h.ResetBackoff() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := drive(t)
			h.box.Wait(func() {
				tt.set(h)
				h.WhenDue()
				if h.Running() != tt.want {
					t.Errorf("under way: %t, want %t", h.Running(), tt.want)
				}
				h.box.Open()
			})
		})
	}
}

// Compactions without gain start a backoff, which a restart ends only if the history was edited since.
func TestARestartKeepsTheBackoff(t *testing.T) {
	paused := compaction.Backoff{Fruitless: 2, Tokens: 700}
	for _, tt := range []struct {
		stored  *history.Compaction
		edited  bool
		backoff compaction.Backoff
		last    string
		ended   string
	}{
		{nil, false, compaction.Backoff{}, "", ""},
		{&history.Compaction{ID: "cmp_1", Outcome: "no_gain", Fruitless: 2, Tokens: 700}, false, paused, "no_gain", ""},
		{&history.Compaction{ID: "cmp_1", Outcome: "no_gain", Fruitless: 2, Tokens: 700}, true, compaction.Backoff{}, "no_gain", ""},
		{&history.Compaction{ID: "cmp_1", Outcome: Running, Fruitless: 2, Tokens: 700}, false, paused, Interrupted, Interrupted},
	} {
		h := drive(t)
		h.box.Wait(func() {
			ended := h.Recover(tt.stored, tt.edited)
			if h.backoff != tt.backoff || h.last != tt.last || (ended == nil) != (tt.ended == "") {
				t.Errorf("%+v, edited %t: backoff %+v, last outcome %q, record %+v", tt.stored, tt.edited, h.backoff, h.last, ended)
			}
			if ended != nil && (ended.Outcome != tt.ended || ended.ID != tt.stored.ID || tt.stored.Outcome != Running) {
				t.Errorf("the record %+v of %+v", ended, tt.stored)
			}
		})
	}
}

// A job that panics harms neither the session nor the next compaction.
func TestAPanicCostsTheCompactionOnly(t *testing.T) {
	h := drive(t)
	begun := make(chan struct{})
	h.services.Model = func(string) (llm.Model, bool) {
		<-begun
		panic("broken")
	}
	result, _ := h.compact()
	close(begun)
	if r := <-result; r.Outcome != string(compaction.Failed) {
		t.Errorf("%+v", r)
	}
	h.wantStored(string(compaction.Failed), 0)
}

// If messages were edited after a compaction started, its result would restore what the edit removed.
func TestAResultIsDroppedAfterAnEditOfTheView(t *testing.T) {
	h := drive(t)
	result, _ := h.compact()
	h.box.Wait(func() {
		h.stage.apply(history.Edit{Kind: history.EditClear})
	})
	h.open()
	if r := <-result; r.Outcome != Superseded || r.Reason != errEdited.Error() || r.Summary != "" {
		t.Errorf("%+v", r)
	}
	h.wantStored(Superseded, 0)
	h.box.Wait(func() {
		if len(h.edits) != 1 || h.tokens() != 0 || len(h.told) != 0 {
			t.Errorf("%d edits, %d tokens, received %v", len(h.edits), h.tokens(), h.told)
		}
	})
}

// The same for an edit made while the result waits in the operation queue.
func TestAResultIsDroppedAfterAnEditThatIsQueued(t *testing.T) {
	h := drive(t)
	result, _ := h.compact()
	hold := make(chan struct{})
	h.box.Wait(func() {
		h.box.Enqueue(mailbox.Op{Fail: func(err error) { t.Error(err) }, Begin: func() (mailbox.Work, error) {
			return func(context.Context) (mailbox.Step, error) {
				<-hold
				return mailbox.Done(func() { h.stage.apply(history.Edit{Kind: history.EditClear}) }), nil
			}, nil
		}})
	})
	h.open()
	<-h.over
	h.box.Wait(func() {}) // the result's operation follows that of the edit
	close(hold)
	if r := <-result; r.Outcome != Superseded {
		t.Errorf("%+v", r)
	}
}

// A result waits for the end of a turn, which takes the next sequence numbers. If the turn's result is never stored,
// neither is the compaction.
func TestAResultWaitsForTheTurn(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		h := drive(t)
		result, _ := h.compact()
		h.box.Wait(func() { h.unfinished = true })
		h.open()
		<-h.over
		if _, edits := h.stored(); edits != 0 || len(result) != 0 {
			t.Fatal("the compaction did not wait")
		}
		h.box.Wait(func() {
			h.unfinished = false
			if dropped {
				h.waiting[0].drop()
			} else {
				h.waiting[0].do()
			}
		})
		want, edits := string(compaction.Compacted), 1
		if dropped {
			want, edits = Interrupted, 0
		}
		if r := <-result; r.Outcome != want {
			t.Errorf("dropped %t: %+v", dropped, r)
		}
		h.wantStored(want, edits)
	}
}

func TestACompactionThatMustNotBeApplied(t *testing.T) {
	for name, tt := range map[string]struct {
		stop func(h *driven, cancel func())
		want string
	}{
		"cancelled by who asked":  {func(_ *driven, cancel func()) { cancel() }, string(compaction.Cancelled)},
		"the session is unloaded": {func(h *driven, _ func()) { h.box.Wait(func() { h.Stop(false) }) }, string(compaction.Cancelled)},
		"the server stops":        {func(h *driven, _ func()) { h.box.Wait(func() { h.Stop(true) }) }, Interrupted},
		"a turn cannot be stored": {func(h *driven, _ func()) { h.box.Wait(h.Abandon) }, Interrupted},
		"the edit is not stored":  {func(h *driven, _ func()) { h.box.Wait(func() { h.storeErr = errors.New("disk full") }) }, string(compaction.Failed)},
	} {
		t.Run(name, func(t *testing.T) {
			h := drive(t)
			result, cancel := h.compact()
			tt.stop(h, cancel)
			h.box.Wait(func() {}) // the cancellation has arrived
			h.open()
			if r := <-result; r.Outcome != tt.want {
				t.Errorf("%+v, want %s", r, tt.want)
			}
			h.wantStored(tt.want, 0)
		})
	}
}

// Clients learn why a compaction failed; one that was cancelled needs no reason.
func TestAFailureIsToldWithItsReason(t *testing.T) {
	h := drive(t)
	for result, want := range map[compaction.Result]string{compaction.Failed: "no disk", compaction.NoGain: "no disk", compaction.Cancelled: ""} {
		told := make(chan Result, 1)
		h.box.Wait(func() {
			r := &run{id: "cmp_1", waiters: []func(Result, error){func(r Result, _ error) { told <- r }}}
			h.done(r, compaction.Outcome{Result: result, Err: errors.New("no disk")}, nil)
		})
		if got := <-told; got.Outcome != string(result) || got.Reason != want {
			t.Errorf("%s: %+v", result, got)
		}
	}
}
