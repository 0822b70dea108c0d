package mailbox

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// running returns a running mailbox that closes at the end of the test.
func running(t *testing.T) *Mailbox {
	m := New("owner", slog.New(slog.DiscardHandler), func() {})
	m.Open()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run()
	}()
	t.Cleanup(func() {
		m.Tell(func() { m.End(ErrClosed) }, nil)
		<-done
	})
	return m
}

// errorOf waits for the error of a call.
func errorOf(call func(reply func(error))) error {
	errs := make(chan error, 1)
	call(func(err error) { errs <- err })
	return <-errs
}

func operation(m *Mailbox, begin Step) func(func(error)) {
	return func(reply func(error)) { m.Post(func() { m.Enqueue(Op{Begin: begin, Fail: reply}) }, reply) }
}

func TestAPanicCostsItsOperationOnly(t *testing.T) {
	m := running(t)
	for name, broken := range map[string]Step{
		"of the first step": func() (Work, error) { panic("broken") },
		"of a later step": func() (Work, error) {
			return func(context.Context) (Step, error) { return Done(func() { panic("broken") }), nil }, nil
		},
		"of its work": func() (Work, error) {
			return func(context.Context) (Step, error) { panic("broken") }, nil
		},
	} {
		if err := errorOf(operation(m, broken)); err == nil || strings.Contains(err.Error(), "broken") {
			t.Errorf("%s: %v", name, err)
		}
		err := errorOf(func(reply func(error)) { operation(m, Done(func() { reply(nil) }))(reply) })
		if err != nil {
			t.Errorf("%s: the next operation: %v", name, err)
		}
	}
	if err := errorOf(func(reply func(error)) { m.Post(func() { panic("broken") }, reply) }); err == nil || strings.Contains(err.Error(), "broken") {
		t.Errorf("a request: %v", err)
	}
}

// Operations run one at a time and in order; requests do not wait for them.
func TestOperationsRunInOrder(t *testing.T) {
	m := running(t)
	var order []string
	hold := make(chan struct{})
	last := make(chan error, 1)
	m.Wait(func() {
		for _, name := range []string{"a", "b", "c"} {
			m.Enqueue(Op{Fail: func(err error) { last <- err }, Begin: func() (Work, error) {
				order = append(order, name)
				return func(context.Context) (Step, error) {
					<-hold
					return Done(func() {
						order = append(order, name+" done")
						if name == "c" {
							last <- nil
						}
					}), nil
				}, nil
			}})
		}
	})
	m.Wait(func() {
		if diff := cmp.Diff([]string{"a"}, order); diff != "" || !m.Busy() {
			t.Errorf("busy %v: %s", m.Busy(), diff)
		}
	})
	close(hold)
	if err := <-last; err != nil {
		t.Fatal(err)
	}
	m.Wait(func() {
		if diff := cmp.Diff([]string{"a", "a done", "b", "b done", "c", "c done"}, order); diff != "" || m.Busy() {
			t.Errorf("busy %v: %s", m.Busy(), diff)
		}
	})
}

func TestOperationsAreLimited(t *testing.T) {
	m := running(t)
	hold := make(chan struct{})
	var refused atomic.Int32
	m.Wait(func() {
		for range MaxWaiting + 3 { // one is running
			m.Enqueue(Op{
				Begin: func() (Work, error) {
					return func(context.Context) (Step, error) { <-hold; return nil, errors.New("refused by its work") }, nil
				},
				Fail: func(err error) {
					if errors.Is(err, ErrOverload) {
						refused.Add(1)
					}
				},
			})
		}
	})
	close(hold)
	if n := refused.Load(); n != 2 {
		t.Errorf("%d were refused", n)
	}
	for idle := false; !idle; {
		m.Wait(func() { idle = !m.Busy() })
	}
}

func TestARequestOfAMailboxThatIsClosed(t *testing.T) {
	m := running(t)
	m.Wait(m.Refuse)
	ask := func(reply func(error)) { m.Post(func() { reply(nil) }, reply) }
	if err := errorOf(ask); !errors.Is(err, ErrClosed) {
		t.Errorf("while it closes: %v", err)
	}
	m.Shut()
	if err := errorOf(ask); !errors.Is(err, ErrClosed) {
		t.Errorf("when it is shut: %v", err)
	}
	m.Wait(func() {}) // its own jobs still run
}

// End waits for the goroutines, which end with the context, and fails all waiting jobs.
func TestEndWaitsForItsGoroutines(t *testing.T) {
	m := New("owner", slog.New(slog.DiscardHandler), func() {})
	ended := false
	m.Spawn(func() {
		<-m.Context().Done()
		ended = true
	})
	var got error
	m.Tell(func() { m.End(errors.New("over")) }, nil)
	m.Run()
	if m.Tell(func() {}, nil) {
		t.Error("it accepts jobs after its end")
	}
	m = New("owner", slog.New(slog.DiscardHandler), func() {})
	m.Tell(func() { m.Tell(func() { t.Error("it ran") }, func(err error) { got = err }); m.End(ErrClosed) }, nil)
	m.Run()
	if !ended || !errors.Is(got, ErrClosed) {
		t.Errorf("goroutine ended %v, the waiting job got %v", ended, got)
	}
}

// A stream waits for the mailbox.
func TestAFeedIsLimited(t *testing.T) {
	m := running(t)
	hold := make(chan struct{})
	m.Tell(func() { <-hold }, nil)
	var fed, ran atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 * feedLength {
			m.Feed(func() { ran.Add(1) })
			if n := fed.Add(1) - ran.Load(); n > feedLength+1 {
				t.Errorf("%d wait", n)
			}
		}
	}()
	close(hold)
	<-done
	m.Wait(func() {})
	for ran.Load() < 3*feedLength {
		m.Wait(func() {})
	}
}

// A request that was taken from the inbox together with the job that shuts it still waits.
func TestR03ShutIfEmptySeesTheRestOfTheBatch(t *testing.T) {
	m := New("session x", slog.New(slog.DiscardHandler), func() {})
	m.Open()
	var shut []bool
	ran := false
	try := func() { shut = append(shut, m.ShutIfEmpty()) }
	m.Tell(try, nil)
	m.Post(func() { ran = true }, func(err error) { t.Error(err) })
	m.Tell(try, nil)
	m.Tell(func() { m.End(ErrClosed) }, nil)
	m.Tell(func() {}, nil)
	m.Run()
	if !ran || len(shut) != 2 || shut[0] || shut[1] {
		t.Errorf("ran: %t, shut: %v", ran, shut)
	}
}
