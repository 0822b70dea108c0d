package mailbox

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// running returns a running mailbox that closes at the end of the test.
func running(t *testing.T) *Mailbox {
	m := New("owner", slog.New(slog.DiscardHandler), func() {})
	m.Open()
	done := make(chan struct{})
	m.Start(func() { close(done) })
	t.Cleanup(func() {
		m.Tell(func() { m.End(ErrClosed) }, nil)
		<-done
	})
	return m
}

// runToItsEnd starts a mailbox with a job that ends it, and returns when it has ended.
func runToItsEnd(m *Mailbox) {
	over := make(chan struct{})
	m.Start(func() { close(over) })
	<-over
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
	runToItsEnd(m)
	if m.Tell(func() {}, nil) {
		t.Error("it accepts jobs after its end")
	}
	m = New("owner", slog.New(slog.DiscardHandler), func() {})
	m.Tell(func() { m.Tell(func() { t.Error("it ran") }, func(err error) { got = err }); m.End(ErrClosed) }, nil)
	runToItsEnd(m)
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
	m.Spawn(func() {
		defer close(done)
		for range 3 * feedLength {
			m.Feed(func() { ran.Add(1) })
			if n := fed.Add(1) - ran.Load(); n > feedLength+1 {
				t.Errorf("%d wait", n)
			}
		}
	})
	close(hold)
	<-done
	m.Wait(func() {})
	for ran.Load() < 3*feedLength {
		m.Wait(func() {})
	}
}

// A goroutine that waits for the mailbox finds everything done that it has fed before.
func TestWaitFollowsWhatWasFed(t *testing.T) {
	m := running(t)
	held, hold, fed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	m.Tell(func() { close(held); <-hold }, nil)
	<-held
	var ran, found int
	done := make(chan struct{})
	m.Spawn(func() {
		defer close(done)
		for range feedLength {
			m.Feed(func() { ran++ })
		}
		close(fed)
		m.Wait(func() { found = ran })
	})
	<-fed
	for len(m.inbox.ready) == 0 { // until the job of Wait is queued
		runtime.Gosched()
	}
	close(hold)
	<-done
	if found != feedLength {
		t.Errorf("%d of %d results were taken before", found, feedLength)
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
	runToItsEnd(m)
	if !ran || len(shut) != 2 || shut[0] || shut[1] {
		t.Errorf("ran: %t, shut: %v", ran, shut)
	}
}

// goroutines returns how many goroutines run functions of a mailbox.
func goroutines() int {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2) // a buffer takes all
	return strings.Count(all.String(), "mailbox.(*Mailbox).run(")
}

// A mailbox without work has no goroutine, and gets one for each kind of work.
func TestAMailboxRests(t *testing.T) {
	m := running(t)
	rests := func(after string) {
		t.Helper()
		for n := 0; goroutines() > 0; n++ {
			if n > 10_000 {
				t.Fatalf("it does not rest after %s", after)
			}
			time.Sleep(time.Millisecond)
		}
	}
	rests("its start")

	m.Wait(func() {})
	rests("a job")

	hold, ended := make(chan struct{}), make(chan struct{})
	m.Spawn(func() {
		defer close(ended)
		<-hold
		for range 2 * feedLength {
			m.Feed(func() {})
		}
	})
	m.Wait(func() {})
	if goroutines() != 1 {
		t.Error("it rests although a goroutine may feed it")
	}
	close(hold)
	<-ended
	rests("a stream")

	if err := errorOf(func(reply func(error)) { m.Post(func() { reply(nil) }, reply) }); err != nil {
		t.Errorf("a request after a rest: %v", err)
	}
}

// Jobs from many goroutines run one at a time and none is left behind, however often the mailbox rests between them.
func TestNoJobIsLostAroundRests(t *testing.T) {
	m := running(t)
	const senders, each = 8, 300
	var told, fed int // belong to the mailbox
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for range each {
				m.Wait(func() { told++ })
				m.Spawn(func() { m.Feed(func() { fed++ }) })
			}
		})
	}
	all.Wait()
	for complete := false; !complete; {
		m.Wait(func() { complete = fed == senders*each })
	}
	m.Wait(func() {
		if told != senders*each {
			t.Errorf("%d jobs of %d ran", told, senders*each)
		}
	})
}

// End waits for the work of After, which costs no goroutine before its context ends.
func TestEndWaitsForWhatFollowsAContext(t *testing.T) {
	m := New("owner", slog.New(slog.DiscardHandler), func() {})
	own, cancel := context.WithCancel(m.Context())
	var early, late atomic.Bool
	done := make(chan struct{})
	m.After(own, func() { early.Store(true); close(done) })
	m.After(m.Context(), func() { runtime.Gosched(); late.Store(true) })
	cancel()
	<-done
	if late.Load() {
		t.Error("the work ran before its context ended")
	}
	m.Tell(func() { m.End(ErrClosed) }, nil)
	runToItsEnd(m)
	if !early.Load() || !late.Load() {
		t.Errorf("ran: %t, %t", early.Load(), late.Load())
	}
}

// What an operation refers to is free after its end.
func TestAnOperationIsNotKept(t *testing.T) {
	m := running(t)
	held := func() weak.Pointer[[1 << 10]int] {
		large := new([1 << 10]int)
		done := make(chan struct{})
		m.Tell(func() {
			m.Enqueue(Op{Begin: Done(func() { large[0]++; close(done) })})
		}, nil)
		<-done
		return weak.Make(large)
	}()
	for n := 0; held.Value() != nil; n++ {
		if n > 1000 {
			t.Fatal("the mailbox keeps it")
		}
		m.Wait(runtime.GC)
	}
}
