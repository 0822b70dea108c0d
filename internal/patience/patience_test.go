package patience

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// hang returns work that returns when the test lets it.
func hang(t *testing.T) (do func() (int, error), let func()) {
	gate := make(chan struct{})
	let = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(let)
	return func() (int, error) { <-gate; return 1, nil }, let
}

func TestR01WorkReturnsItsResult(t *testing.T) {
	w := New(Limit)
	broken := errors.New("broken")
	for range 3 * MaxRunning {
		if n, err := Do(t.Context(), w, "/a", "/a/b", func() (int, error) { return 7, broken }); n != 7 || err != broken {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if w.Lost() != 0 || len(w.slots) != 0 {
		t.Errorf("%d are lost, %d run", w.Lost(), len(w.slots))
	}
}

// Work that does not return is given up after the limit; further work on the same path fails at once, other work in the
// folder soon. When it returns all is as before.
func TestR01WorkIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Limit)
		do, let := hang(t)
		took := func(folder, path string, do func() (int, error)) (time.Duration, error) {
			start := time.Now()
			_, err := Do(t.Context(), w, folder, path, do)
			return time.Since(start), err
		}
		fine := func() (int, error) { return 1, nil }
		for i, step := range []struct {
			folder, path string
			do           func() (int, error)
			took         time.Duration
			err          error
		}{
			{"/a", "/a/1", do, Limit, ErrNoResponse},
			{"/a", "/a/1", fine, 0, ErrNoResponse},
			{"/a", "/a/2", fine, 0, nil},
			{"/a", "/a/2", do, Short, ErrNoResponse},
			{"/b", "/b/1", do, Limit, ErrNoResponse},
			{"/a", "/a/1", fine, 0, ErrNoResponse},
		} {
			if d, err := took(step.folder, step.path, step.do); d != step.took || !errors.Is(err, step.err) {
				t.Errorf("step %d: after %v: %v", i, d, err)
			}
		}
		if w.Lost() != 3 {
			t.Errorf("%d are lost", w.Lost())
		}
		let()
		synctest.Wait()
		if d, err := took("/a", "/a/1", fine); d != 0 || err != nil || w.Lost() != 0 {
			t.Errorf("afterwards: %v, %v, %d are lost", d, err, w.Lost())
		}
	})
}

// The end of a context ends the wait at once, but not the time of the work: the next one on the path continues it.
func TestR01CancelWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Limit)
		do, let := hang(t)
		for _, wait := range []time.Duration{0, time.Second, 4 * time.Second} { // the first begins nothing
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			start := time.Now()
			if _, err := Do(ctx, w, "/a", "/a/1", do); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != wait {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			cancel()
		}
		start := time.Now()
		if _, err := Do(t.Context(), w, "/a", "/a/1", do); !errors.Is(err, ErrNoResponse) || time.Since(start) != 5*time.Second {
			t.Errorf("after %v more: %v", time.Since(start), err)
		}
		let()
		synctest.Wait()
	})
}

// In one folder, and altogether, only so much work is given up: then everything fails at once.
func TestR01LostWorkIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Limit)
		do, let := hang(t)
		var begun atomic.Int32
		counted := func() (int, error) { begun.Add(1); return do() }
		var all sync.WaitGroup
		for i := range MaxLost + 5 {
			_, err := Do(t.Context(), w, "/one", fmt.Sprint("/one/", i), counted)
			if i < MaxLost && !errors.Is(err, ErrNoResponse) || i >= MaxLost && !errors.Is(err, ErrTooMany) {
				t.Errorf("work %d in one folder: %v", i, err)
			}
		}
		if n := begun.Load(); n != MaxLost {
			t.Errorf("%d were begun in one folder", n)
		}
		if _, err := Do(t.Context(), w, "/other", "/other/1", func() (int, error) { return 1, nil }); err != nil {
			t.Errorf("in another folder: %v", err)
		}
		for i := range 3 * MaxRunning { // in a folder each, at the same time
			all.Go(func() {
				path := fmt.Sprint("/", i)
				if _, err := Do(t.Context(), w, path, path, counted); !errors.Is(err, ErrNoResponse) && !errors.Is(err, ErrTooMany) {
					t.Errorf("work %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if n := begun.Load(); n != MaxRunning || w.Lost() != MaxRunning {
			t.Errorf("%d were begun, %d are lost", n, w.Lost())
		}
		start := time.Now()
		if _, err := Do(t.Context(), w, "/new", "/new", counted); !errors.Is(err, ErrTooMany) || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		let()
		synctest.Wait()
		if _, err := Do(t.Context(), w, "/new", "/new", func() (int, error) { return 1, nil }); err != nil || w.Lost() != 0 {
			t.Errorf("afterwards: %v, %d are lost", err, w.Lost())
		}
	})
}

type door struct{ closed *atomic.Int32 }

func (d door) Close() error { d.closed.Add(1); return nil }

// A result that comes too late is closed; one that comes in time is its caller's.
func TestR01LateResultsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Limit)
		var closed atomic.Int32
		for _, wait := range []time.Duration{Limit - 1, Limit + 1} {
			_, err := Do(t.Context(), w, "/a", fmt.Sprint(wait), func() (door, error) { time.Sleep(wait); return door{&closed}, nil })
			time.Sleep(time.Second)
			synctest.Wait()
			late := wait > Limit
			if errors.Is(err, ErrNoResponse) != late || (closed.Load() == 1) != late {
				t.Errorf("%v: %v, closed %d times", wait, err, closed.Load())
			}
		}
	})
}

// A panic is one of the caller, who can handle it; one that comes too late harms nobody.
func TestR01APanicIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Limit)
		func() {
			defer func() {
				if r := recover(); !strings.Contains(fmt.Sprint(r), "broken") || !strings.Contains(fmt.Sprint(r), "patience_test.go") {
					t.Errorf("%v", r)
				}
			}()
			Do(t.Context(), w, "/a", "/a/1", func() (int, error) { panic("broken") })
		}()
		if _, err := Do(t.Context(), w, "/a", "/a/2", func() (int, error) { time.Sleep(Limit + 1); panic("late") }); !errors.Is(err, ErrNoResponse) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if w.Lost() != 0 || len(w.slots) != 0 {
			t.Errorf("%d are lost, %d run", w.Lost(), len(w.slots))
		}
	})
}
