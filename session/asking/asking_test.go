package asking

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/session/approval"
	"strata/session/clients"
	"strata/session/mailbox"
	"strata/session/tools"
)

const timeout = time.Hour

// window is a client whose user answers when the test says so.
type window struct {
	clients.Client
	name      string
	asked     []clients.Permission
	after     []uint64
	responses chan response
	cancelled int
	stuck     bool // it does not notice that a request was cancelled
	panics    bool
}

type response struct {
	answer clients.Answer
	err    error
}

func (w *window) RequestPermission(ctx context.Context, p clients.Permission, after uint64) (clients.Answer, error) {
	w.asked, w.after = append(w.asked, p), append(w.after, after)
	if w.panics {
		panic("broken")
	}
	done := ctx.Done()
	if w.stuck {
		done = nil
	}
	select {
	case r := <-w.responses:
		return r.answer, r.err
	case <-done:
		w.cancelled++
		return clients.Answer{}, context.Cause(ctx)
	}
}

func (w *window) selects(id string) { w.responses <- response{answer: clients.Answer{OptionID: id}} }
func (w *window) fails(err error)   { w.responses <- response{err: err} }

// desk is an Asking with its windows. Its methods return when all that they cause has happened.
type desk struct {
	*Asking
	t        *testing.T
	present  []clients.Client
	decision approval.Decision
	newest   uint64

	cancel context.CancelFunc     // of the turn
	ending atomic.Pointer[ending] // nil while the question is open
}

// ending is what Ask returned, and when.
type ending struct {
	outcome Outcome
	err     error
	at      time.Time
}

var edit = approval.Call{Tool: "edit_file", Effect: approval.ChangesFiles, Paths: []approval.Path{{Name: "a.go", Inside: true}}}

// ask starts a desk where a turn asks whether edit_file may run.
func ask(t *testing.T, present ...*window) *desk {
	d := &desk{t: t, decision: new(approval.Policy).Decide(&edit), newest: 7}
	for _, w := range present {
		d.present = append(d.present, w)
	}
	m := mailbox.New("session", slog.New(slog.DiscardHandler), func() {})
	over := make(chan struct{})
	m.Start(func() { close(over) })
	d.Asking = New(m, Services{
		Clients: func() []clients.Client { return d.present }, Newest: func() uint64 { return d.newest }, Timeout: timeout,
	})
	t.Cleanup(func() {
		m.Tell(func() { m.End(mailbox.ErrClosed) }, nil)
		<-over
	})
	d.again()
	return d
}

// again asks the question.
func (d *desk) again() {
	ctx, cancel := context.WithCancel(d.t.Context())
	d.cancel = cancel
	d.ending.Store(nil)
	d.t.Cleanup(cancel)
	d.mailbox.Spawn(func() {
		q := Question{Tool: "edit_file", Call: tools.Progress{CallID: "tc_1"}, Decide: func() approval.Decision { return d.decision }}
		outcome, err := d.Ask(ctx, q)
		d.ending.Store(&ending{outcome, err, time.Now()})
	})
	synctest.Wait()
}

func (d *desk) comes(w *window) {
	d.present = append(d.present, w)
	d.mailbox.Wait(func() { d.Subscribed(w) })
	synctest.Wait()
}

func (d *desk) leaves(w *window) {
	d.present = slices.DeleteFunc(d.present, func(c clients.Client) bool { return c == clients.Client(w) })
	d.mailbox.Wait(func() { d.Left(w) })
	synctest.Wait()
}

func (d *desk) decides(by approval.Decision) {
	d.decision = by
	d.mailbox.Wait(d.Reconsider)
	synctest.Wait()
}

func (d *desk) isOpen() bool { return d.ending.Load() == nil }

// end returns the ending, an empty one while the question is open.
func (d *desk) end() ending {
	if e := d.ending.Load(); e != nil {
		return *e
	}
	return ending{}
}

// want checks that the question has ended like this, and that no request is open.
func (d *desk) want(allowed bool, text string) {
	d.t.Helper()
	synctest.Wait()
	if e := d.end(); d.isOpen() || e.err != nil || e.outcome.Allowed != allowed || !strings.Contains(e.outcome.By+e.outcome.Refusal, text) {
		d.t.Errorf("got %+v (open: %v), want %v with %q", e, d.isOpen(), allowed, text)
	}
}

func newWindow(name string) *window {
	return &window{name: name, responses: make(chan response, 4)}
}

func run(t *testing.T, name string, test func(t *testing.T, a, b *window)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, newWindow("a"), newWindow("b")) })
	})
}

func TestAnswers(t *testing.T) {
	run(t, "allowed once", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		if !d.isOpen() || len(a.asked) != 1 || a.asked[0].Call.CallID != "tc_1" || len(a.asked[0].Options) != 3 || a.after[0] != 7 {
			t.Fatalf("asked %+v after %v", a.asked, a.after)
		}
		a.selects("allow_once")
		d.want(true, "the user")
		if d.end().outcome.Rule != (approval.Rule{}) {
			t.Errorf("a rule %v", d.end().outcome.Rule)
		}
	})
	run(t, "allowed always", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		a.selects("allow_always")
		d.want(true, "the user")
		if d.end().outcome.Rule.String() != "edit_file" {
			t.Errorf("a rule %v", d.end().outcome.Rule)
		}
	})
	run(t, "rejected", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		a.selects("reject_once")
		d.want(false, "edit_file was not run: the user rejected the call. Do not repeat it")
	})
	run(t, "rejected with words", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		a.responses <- response{answer: clients.Answer{OptionID: "reject_once", Words: "use b.go" + strings.Repeat("!", clients.MaxWords)}}
		d.want(false, "the user rejected the call. The user says: use b.go!")
		if n := len(d.end().outcome.Refusal); n > clients.MaxWords+100 {
			t.Errorf("a refusal of %d bytes", n)
		}
	})
	run(t, "the first of two counts", func(t *testing.T, a, b *window) {
		d := ask(t, a, b)
		b.selects("reject_once")
		d.want(false, "rejected")
		if a.cancelled != 1 || b.cancelled != 0 {
			t.Errorf("cancelled: %d, %d", a.cancelled, b.cancelled)
		}
	})
	run(t, "the first of two counts although the second answers too", func(t *testing.T, a, b *window) {
		a.stuck = true
		d := ask(t, a, b)
		b.selects("reject_once")
		d.want(false, "rejected")
		a.selects("allow_once") // late
		d.want(false, "rejected")
	})
}

func TestAClientIsOut(t *testing.T) {
	for name, fail := range map[string]func(*window){
		"that cancels":                      func(w *window) { w.fails(clients.ErrDismissed) },
		"whose connection ends":             func(w *window) { w.fails(clients.ErrGone) },
		"that does not know the method":     func(w *window) { w.fails(&clients.Refused{Code: -32601}) },
		"that selects what was not offered": func(w *window) { w.selects("allow_everything") },
	} {
		run(t, name, func(t *testing.T, a, b *window) {
			d := ask(t, a, b)
			fail(a)
			synctest.Wait()
			if !d.isOpen() || b.cancelled != 0 {
				t.Fatalf("got %+v, cancelled %d", d.end().outcome, b.cancelled)
			}
			b.selects("allow_once")
			d.want(true, "the user")
		})
	}
	run(t, "that panics", func(t *testing.T, a, b *window) {
		a.panics = true
		d := ask(t, a, b)
		b.selects("allow_once")
		d.want(true, "the user")
	})
	run(t, "that unsubscribes", func(t *testing.T, a, b *window) {
		d := ask(t, a, b)
		d.leaves(a)
		if !d.isOpen() || a.cancelled != 1 {
			t.Fatalf("got %+v, cancelled %d", d.end().outcome, a.cancelled)
		}
		b.selects("allow_once")
		d.want(true, "the user")
	})
}

func TestALaterClientIsAsked(t *testing.T) {
	run(t, "beside others", func(t *testing.T, a, b *window) {
		d := ask(t, a)
		d.newest = 12
		d.comes(b)
		if len(b.asked) != 1 || b.after[0] != 12 {
			t.Fatalf("asked %+v after %v", b.asked, b.after)
		}
		b.selects("allow_once")
		d.want(true, "the user")
		if a.cancelled != 1 {
			t.Error("the other request is not cancelled")
		}
	})
	run(t, "once, if it subscribes again", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		d.comes(a)
		if len(a.asked) != 1 {
			t.Errorf("asked %d times", len(a.asked))
		}
	})
	run(t, "again, if it was out", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		a.fails(clients.ErrDismissed)
		synctest.Wait()
		d.comes(a)
		a.selects("allow_once")
		d.want(true, "the user")
	})
	run(t, "not without a question", func(t *testing.T, a, b *window) {
		d := ask(t, a)
		a.selects("allow_once")
		d.want(true, "the user")
		d.comes(b)
		d.leaves(a)
		d.decides(d.decision)
		if len(b.asked) != 0 || len(a.asked) != 1 {
			t.Error("asked without a question")
		}
	})
}

func TestNobodyIsThere(t *testing.T) {
	run(t, "from the start", func(t *testing.T, _, _ *window) {
		begun := time.Now()
		d := ask(t)
		time.Sleep(timeout - time.Second)
		synctest.Wait()
		if !d.isOpen() {
			t.Fatalf("ended after %v", d.end().at.Sub(begun))
		}
		time.Sleep(time.Second)
		d.want(false, "edit_file was not run: nobody was there to allow it")
		if waited := d.end().at.Sub(begun); waited != timeout {
			t.Errorf("ended after %v", waited)
		}
	})
	run(t, "since the last one is out", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		time.Sleep(3 * timeout) // somebody is there and thinks
		a.fails(clients.ErrGone)
		out := time.Now()
		time.Sleep(timeout)
		d.want(false, "nobody was there")
		if waited := d.end().at.Sub(out); waited != timeout {
			t.Errorf("ended %v after the last one was out", waited)
		}
	})
	run(t, "for a minute", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		d.leaves(a)
		time.Sleep(time.Minute)
		d.comes(a)
		time.Sleep(2 * timeout)
		synctest.Wait()
		if !d.isOpen() {
			t.Fatalf("got %+v", d.end().outcome)
		}
		a.selects("allow_once")
		d.want(true, "the user")
	})
	run(t, "and the turn is cancelled", func(t *testing.T, _, _ *window) {
		d := ask(t)
		d.cancel()
		synctest.Wait()
		if !errors.Is(d.end().err, context.Canceled) {
			t.Fatal(d.end().err)
		}
		d.again() // the time of the first question is over before that of the second
		time.Sleep(timeout - time.Second)
		synctest.Wait()
		if !d.isOpen() {
			t.Error("the time of an earlier question ended this one")
		}
	})
}

func TestAChangedApprovalDecides(t *testing.T) {
	allowed := approval.Decision{Verdict: approval.Allowed, By: "the approval edits"}
	refused := approval.Decision{Verdict: approval.Refused, Refusal: "edit_file was not run: the session is read-only."}
	run(t, "to allow", func(t *testing.T, a, b *window) {
		d := ask(t, a, b)
		d.decides(allowed)
		d.want(true, "the approval edits")
		if a.cancelled != 1 || b.cancelled != 1 {
			t.Errorf("cancelled: %d, %d", a.cancelled, b.cancelled)
		}
	})
	run(t, "to refuse, with nobody there", func(t *testing.T, _, _ *window) {
		d := ask(t)
		d.decides(refused)
		d.want(false, "the session is read-only")
	})
	run(t, "to ask again", func(t *testing.T, a, b *window) {
		b.stuck = true
		d := ask(t, a, b)
		d.decides(approval.Decision{})
		if !d.isOpen() || a.cancelled != 1 || len(a.asked) != 2 || len(a.asked[1].Options) != 2 {
			t.Fatalf("asked %+v, cancelled %d", a.asked, a.cancelled)
		}
		b.selects("allow_always") // to one of its two requests: either that of before, which does not count, or one that did not offer it
		synctest.Wait()
		if !d.isOpen() {
			t.Fatalf("got %+v", d.end().outcome)
		}
		b.selects("allow_once")
		b.selects("allow_once")
		d.want(true, "the user")
	})
	run(t, "before anybody is asked", func(t *testing.T, a, _ *window) {
		d := ask(t, a)
		a.selects("allow_once")
		d.want(true, "the user")
		d.decision = refused
		d.again()
		d.want(false, "the session is read-only")
		if len(a.asked) != 1 {
			t.Error("asked although the call is refused")
		}
	})
}

// A cancelled turn waits for no client.
func TestACancelledTurnEndsAtOnce(t *testing.T) {
	run(t, "cancelled", func(t *testing.T, a, b *window) {
		b.stuck = true
		d := ask(t, a, b)
		begun := time.Now()
		d.cancel()
		synctest.Wait()
		if d.isOpen() || !errors.Is(d.end().err, context.Canceled) || d.end().outcome != (Outcome{}) || d.end().at != begun {
			t.Fatalf("got %+v, %v after %v", d.end().outcome, d.end().err, d.end().at.Sub(begun))
		}
		if a.cancelled != 1 {
			t.Error("the request is not cancelled")
		}
		d.again()
		b.selects("allow_once")
		b.selects("allow_once")
		d.want(true, "the user")
	})
}
