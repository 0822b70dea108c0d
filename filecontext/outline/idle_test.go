package outline

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tetratelabs/wazero"
)

// isLoaded reports whether the module is loaded, when all timers that are due have ended.
func isLoaded(p *Parser) bool {
	synctest.Wait()
	p.loading <- struct{}{}
	defer func() { <-p.loading }()
	return p.module != nil
}

func TestIdleParsersAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		p := newParser(t, Options{Timeout: patient, Idle: idle})
		loaded := loads(p)
		step := func(name string, wait time.Duration, want bool) {
			t.Helper()
			if _, err := p.Parse(t.Context(), name, "x"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			if got := isLoaded(p); got != want {
				t.Errorf("%s after %v: loaded %v, want %v", name, wait, got, want)
			}
		}
		step("x.go", 2*idle, false)
		step("x.py", idle-1, true)
		step("x.rb", idle-1, true)
		step("x.go", 1, false) // is no use of the parsers
		step("x.py", idle-1, true)
		if !p.Release() || isLoaded(p) {
			t.Error("idle parsers are not released at once")
		}
		step("x.py", idle-1, true) // the timer of the former module has no effect
		time.Sleep(time.Nanosecond)
		if isLoaded(p) || *loaded != 3 {
			t.Errorf("loaded %d times, want 3, and released", *loaded)
		}
	})
}

func TestParsersAreKeptByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParser(t, Options{Timeout: patient})
		if _, err := p.Parse(t.Context(), "x.py", "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10_000 * time.Hour)
		if !isLoaded(p) {
			t.Error("the parsers were released")
		}
	})
}

// A parse that runs for long keeps the parsers, whenever the timer fires.
func TestIdleTimeStartsAfterTheLastParse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		p := newParser(t, Options{Idle: idle})
		use := func() {
			if _, err := p.take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		use()
		p.put()
		time.Sleep(idle - 1)
		use()
		use()
		p.expire() // as if the timer had fired just before
		time.Sleep(10 * idle)
		p.put()
		time.Sleep(10 * idle)
		if !isLoaded(p) {
			t.Fatal("parsers in use were released")
		}
		p.put()
		p.expire()
		time.Sleep(idle - 1)
		if !isLoaded(p) {
			t.Error("the parsers were released too early")
		}
		time.Sleep(time.Nanosecond)
		if isLoaded(p) {
			t.Error("the parsers are kept")
		}
	})
}

func TestCloseStopsTheIdleTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParser(t, Options{Timeout: patient, Idle: time.Minute})
		if _, err := p.Parse(t.Context(), "x.py", "x"); err != nil {
			t.Fatal(err)
		}
		p.Close()
		if p.timer.Stop() {
			t.Error("the timer was running")
		}
		p.expire()
	})
}

// closable is a runtime of which only Close is called.
type closable struct {
	wazero.Runtime
	closed atomic.Bool
}

func (c *closable) Close(context.Context) error {
	c.closed.Store(true)
	return nil
}

// No parse sees a module that is released, however often that happens.
func TestConcurrentUseAndRelease(t *testing.T) {
	const workers, uses = 4, 200
	p := New(Options{Parallel: workers, Idle: time.Nanosecond})
	var open []*closable
	p.load = func(string) (*module, error) {
		c := &closable{}
		open = append(open, c)
		return &module{runtime: c}, nil
	}
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for n := range uses {
				if err := p.enter(context.Background()); err != nil {
					t.Error(err)
					return
				}
				m, err := p.take(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
				if m.runtime.(*closable).closed.Load() {
					t.Error("the module was released during a parse")
				}
				p.put()
				<-p.slots
				switch {
				case n%4 == worker:
					p.Release()
				case n%4 == 0:
					time.Sleep(time.Microsecond) // so that the timer can fire
				}
			}
		})
	}
	group.Wait()
	p.Close()
	for n, c := range open {
		if !c.closed.Load() {
			t.Errorf("module %d of %d is not closed", n, len(open))
		}
	}
	t.Logf("loaded %d times", len(open))
}
