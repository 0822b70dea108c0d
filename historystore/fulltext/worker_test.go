package fulltext

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// serve does the work of the writer's goroutine until stop is closed.
func serve(w *Worker, stop chan struct{}) {
	for {
		for w.Step() {
		}
		select {
		case <-stop:
			w.Close()
			return
		case <-w.Due():
			w.Start()
		case done := <-w.Asked():
			w.StartFor(done)
		}
	}
}

// index is a fake index that is some steps behind.
type index struct {
	mu    sync.Mutex
	left  int
	steps []time.Duration // since the start
	err   error
	start time.Time
}

func (x *index) step() (bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.steps = append(x.steps, time.Since(x.start))
	if x.err != nil {
		return false, x.err
	}
	x.left = max(0, x.left-1)
	return x.left > 0, nil
}

// state returns the number of steps that are left, and when those so far were.
func (x *index) state() (left int, steps []time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.left, x.steps
}

func (x *index) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = err
}

func TestRunIsDueAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &index{left: 3, start: time.Now()}
		w, stop := NewWorker(x.step, time.Second, slog.New(slog.DiscardHandler)), make(chan struct{})
		go serve(w, stop)
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		if left, _ := x.state(); left != 3 {
			t.Error("a step before the delay")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if left, steps := x.state(); left != 0 || len(steps) != 3 {
			t.Errorf("%d left after %d steps", left, len(steps))
		}
		close(stop)
		synctest.Wait()
	})
}

// Changes that follow another do not move the run.
func TestChangesMakeOneRunDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &index{start: time.Now()}
		w := NewWorker(x.step, time.Second, slog.New(slog.DiscardHandler))
		<-w.Due()
		w.Start()
		for w.Step() {
		}
		for range 20 {
			w.Changed()
			time.Sleep(100 * time.Millisecond)
		}
		for none := false; !none; {
			select {
			case <-w.Due():
				w.Start()
				for w.Step() {
				}
			default:
				none = true
			}
		}
		if len(x.steps) != 2 {
			t.Errorf("steps at %v", x.steps)
		}
		w.Close()
	})
}

func TestSearchStartsARunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &index{left: 5, start: time.Now()}
		w, stop := NewWorker(x.step, time.Hour, slog.New(slog.DiscardHandler)), make(chan struct{})
		go serve(w, stop)
		for range 3 {
			w.CatchUp(t.Context())
		}
		if left, _ := x.state(); left != 0 || time.Since(x.start) != 0 {
			t.Errorf("%d left after %v", left, time.Since(x.start))
		}
		close(stop)
		synctest.Wait()
	})
}

// A search that gives up, before or after its request was received, returns in time.
func TestSearchWaitsWithinItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorker(func() (bool, error) { return false, nil }, time.Hour, slog.New(slog.DiscardHandler))
		for _, received := range []bool{false, true} {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if received {
				go func() { w.StartFor(<-w.Asked()) }()
			}
			w.CatchUp(ctx)
			if took := time.Since(start); took != time.Second {
				t.Errorf("received: %v, returned after %v", received, took)
			}
			cancel()
		}
		w.Close()
	})
}

// After a failure a run ends, for searches, too. The next ones are due after growing delays; the first failure is logged,
// and the end of the failures.
func TestFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		x := &index{left: 2, start: time.Now(), err: errors.New("no room")}
		w, stop := NewWorker(x.step, time.Second, slog.New(slog.NewTextHandler(&log, nil))), make(chan struct{})
		go serve(w, stop)
		time.Sleep(5*time.Minute + time.Millisecond)
		synctest.Wait()
		var gaps []time.Duration
		_, steps := x.state()
		for i := 1; i < len(steps); i++ {
			gaps = append(gaps, (steps[i]-steps[i-1])/time.Second)
		}
		want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}
		if len(gaps) < len(want) || gaps[0] != want[0] || gaps[5] != want[5] || gaps[8] != want[8] {
			t.Errorf("gaps %v, want %v", gaps, want)
		}
		before := time.Now()
		w.CatchUp(t.Context())
		if time.Since(before) != 0 {
			t.Error("a search waits although the index cannot be written")
		}
		x.fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		close(stop)
		synctest.Wait()
		left, _ := x.state()
		if n := strings.Count(log.String(), "\n"); left != 0 || n != 2 {
			t.Errorf("%d left, %d lines: %s", left, n, &log)
		}
	})
}
