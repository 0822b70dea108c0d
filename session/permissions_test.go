package session

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/llm/reply"
	"strata/session/clients"
)

// unruly is a store that can refuse the records of sessions with rules.
type unruly struct {
	*lockedStore
	refuses atomic.Bool
}

func (s *unruly) Commit(ctx context.Context, ch history.Change) error {
	if ch.Update != nil && ch.Begin == nil && s.refuses.Load() {
		return errors.Join(history.ErrUnchanged, errors.New("no room on the disk"))
	}
	return s.lockedStore.Commit(ctx, ch)
}

// storedRules returns the rules of the newest stored record, nil for none.
func (a *acted) storedRules() []string {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	for _, ch := range slices.Backward(a.store.changes) {
		if ch.Update != nil {
			return ch.Update.Config.Rules
		}
	}
	return nil
}

// deploys lets the model call deploy, which asks, and answers the question; then the call runs.
func (a *acted) deploys(r *runner, w *window, answer string) {
	a.t.Helper()
	a.asked().act(reply.StopToolUse, callsOf(1, `deploy{}`)...)
	q := <-w.asked
	q.answer <- clients.Answer{OptionID: answer}
}

// A rule is stored before the call that it allows runs. It holds until it is revoked, also in the running turn.
func TestARuleIsStoredBeforeItsCallRuns(t *testing.T) {
	a, r, w := acting(t, func(d *Deps) { d.Tools.ApprovalTimeout = time.Hour }), newRunner(), newWindow()
	a.Join(w)
	result := a.offering("go", r.changing(t, "deploy"))
	a.deploys(r, w, "allow_always")
	run := <-r.calls
	if got := a.storedRules(); !slices.Equal(got, []string{"deploy"}) {
		t.Errorf("while the call runs, the stored rules are %q", got)
	}
	if info := a.told(); info.Config.Rules != nil {
		t.Errorf("clients are told the rules %q with the options", info.Config.Rules)
	}
	run.say("deployed")
	if _, err := answerOf(func(reply func(struct{}, error)) { a.Permissions().Revoke("deploy", reply) }); err != nil {
		t.Fatal(err)
	}
	if got := a.storedRules(); got != nil {
		t.Errorf("after the end of the rule, the stored rules are %q", got)
	}
	a.deploys(r, w, "reject_once")
	a.asked().end("done")
	if out := <-result; out.err != nil || len(r.calls) > 0 {
		t.Errorf("%v, %d calls", out.err, len(r.calls))
	}
}

// If the rule cannot be stored, the answer counts for its call, and the next call asks.
func TestAnAnswerCountsIfItsRuleIsNotStored(t *testing.T) {
	r, w := newRunner(), newWindow()
	var store *unruly
	a := acting(t, func(d *Deps) {
		store = &unruly{lockedStore: d.Store.(*lockedStore)}
		d.Store, d.Tools.ApprovalTimeout = store, time.Hour
	})
	a.Join(w)
	result := a.offering("go", r.changing(t, "deploy"))
	store.refuses.Store(true)
	a.deploys(r, w, "allow_always")
	run := <-r.calls
	run.say("deployed")
	store.refuses.Store(false)
	a.deploys(r, w, "allow_always")
	run = <-r.calls
	run.say("deployed")
	a.asked().end("done")
	if out := <-result; out.err != nil {
		t.Error(out.err)
	}
	if got := a.storedRules(); !slices.Equal(got, []string{"deploy"}) {
		t.Errorf("the stored rules are %q", got)
	}
}

// Rules come back when a session is loaded. Damaged ones allow nothing.
func TestRulesComeBackWhenASessionIsLoaded(t *testing.T) {
	for rule, asks := range map[string]bool{"deploy": false, "*": true, "deploy(": true} {
		a, r, w := acting(t, func(d *Deps) { d.Tools.ApprovalTimeout = time.Hour }), newRunner(), newWindow()
		a.told()
		deps := a.deps
		a.store.loaded.Session = a.told().Session
		a.store.loaded.Session.Config.Rules = []string{"run_command(sh *)", rule}
		a.Close(ReasonClosed, func() {})
		<-a.Done()
		a.Session = closedLater(t, Open(deps, a.ID(), nil))
		a.Join(w)
		result := a.offering("go", r.changing(t, "deploy"))
		if asks {
			a.deploys(r, w, "allow_once")
		} else {
			a.asked().act(reply.StopToolUse, callsOf(1, `deploy{}`)...)
		}
		run := <-r.calls
		run.say("deployed")
		a.asked().end("done")
		if out := <-result; out.err != nil || len(w.asked) > 0 {
			t.Errorf("%s: %v, %d questions", rule, out.err, len(w.asked))
		}
	}
}
