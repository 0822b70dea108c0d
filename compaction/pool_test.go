package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// takes returns a job that runs for d or until it is cancelled.
func takes(d time.Duration) Job {
	return func(ctx context.Context) Result {
		select {
		case <-ctx.Done():
			return Cancelled
		case <-time.After(d):
			return Compacted
		}
	}
}

func submit(t *testing.T, p *Pool, session string, job Job) (cancel func()) {
	t.Helper()
	cancel, err := p.Submit(session, job)
	if err != nil {
		t.Fatalf("submit for %s: %v", session, err)
	}
	return cancel
}

func TestPoolBoundsAndOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(PoolOptions{})
		defer p.Close()
		var mu sync.Mutex
		var begun []string
		for i := range 6 {
			session := fmt.Sprint("s", i)
			submit(t, p, session, func(ctx context.Context) Result {
				mu.Lock()
				begun = append(begun, session)
				mu.Unlock()
				return takes(time.Duration(i+1) * time.Minute)(ctx)
			})
		}
		synctest.Wait()
		if running, queued := p.Load(); running != defaultWorkers || queued != 4 {
			t.Errorf("%d run, %d wait", running, queued)
		}
		time.Sleep(time.Hour)
		p.Close()
		if slices.Sort(begun[:2]); !slices.Equal(begun, []string{"s0", "s1", "s2", "s3", "s4", "s5"}) {
			t.Errorf("started in the order %v", begun)
		}
		if running, queued := p.Load(); running != 0 || queued != 0 {
			t.Errorf("%d run, %d wait", running, queued)
		}
	})
}

func TestPoolRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(PoolOptions{Workers: 1, Queue: 2})
		submit(t, p, "a", takes(time.Minute))
		submit(t, p, "b", takes(time.Minute))
		for _, session := range []string{"a", "b"} {
			if _, err := p.Submit(session, takes(0)); !errors.Is(err, ErrRunning) {
				t.Errorf("second job of %s: %v", session, err)
			}
		}
		submit(t, p, "c", takes(time.Minute))
		if _, err := p.Submit("d", takes(0)); !errors.Is(err, ErrQueueFull) {
			t.Errorf("job above the limit: %v", err)
		}
		time.Sleep(90 * time.Second)
		submit(t, p, "a", takes(time.Minute)) // the session's first job has ended
		p.Close()
		if _, err := p.Submit("e", takes(0)); !errors.Is(err, ErrClosed) {
			t.Errorf("job after the end: %v", err)
		}
	})
}

func TestPoolCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		done := make(map[string]Done)
		p := NewPool(PoolOptions{Workers: 1, Observe: func(d Done) {
			mu.Lock()
			defer mu.Unlock()
			done[d.Session] = d
		}})
		ended := func(session string) Done {
			mu.Lock()
			defer mu.Unlock()
			return done[session]
		}
		defer p.Close()
		cancelRunning := submit(t, p, "running", takes(time.Hour))
		cancelQueued := submit(t, p, "queued", takes(time.Hour))
		submit(t, p, "next", takes(time.Minute))
		time.Sleep(time.Second)
		cancelQueued()
		cancelQueued()
		synctest.Wait()
		if want := (Done{"queued", Cancelled, time.Second, 0}); ended("queued") != want {
			t.Errorf("queued: %+v", ended("queued"))
		}
		cancelRunning()
		synctest.Wait()
		if want := (Done{"running", Cancelled, 0, time.Second}); ended("running") != want {
			t.Errorf("running: %+v", ended("running"))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := (Done{"next", Compacted, time.Second, time.Minute}); ended("next") != want {
			t.Errorf("next: %+v", ended("next"))
		}
		cancelRunning() // after the job's end
	})
}

func TestPoolCloseCancelsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		p := NewPool(PoolOptions{})
		for i := range 5 {
			submit(t, p, fmt.Sprint(i), func(ctx context.Context) Result {
				<-ctx.Done()
				time.Sleep(time.Minute) // it takes a moment to end
				ended.Add(1)
				return Cancelled
			})
		}
		var closing sync.WaitGroup
		closing.Go(p.Close)
		p.Close()
		if ended.Load() != 5 {
			t.Errorf("%d of 5 jobs had ended when Close returned", ended.Load())
		}
		closing.Wait()
	})
}

func TestPoolUnderLoad(t *testing.T) {
	var running, most, ended, told atomic.Int32
	p := NewPool(PoolOptions{Workers: 3, Queue: 1_000, Observe: func(Done) { told.Add(1) }})
	var sessions sync.WaitGroup
	accepted := atomic.Int32{}
	for s := range 20 {
		sessions.Go(func() {
			for i := range 20 {
				cancel, err := p.Submit(fmt.Sprint(s), func(ctx context.Context) Result {
					if ctx.Err() == nil {
						now := running.Add(1)
						for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
						}
						running.Add(-1)
					}
					ended.Add(1)
					return Compacted
				})
				if err == nil {
					accepted.Add(1)
				}
				if err == nil && i%3 == 0 {
					cancel()
				}
			}
		})
	}
	sessions.Wait()
	p.Close()
	if ended.Load() != accepted.Load() || told.Load() != accepted.Load() {
		t.Errorf("%d accepted, %d ended, %d reported", accepted.Load(), ended.Load(), told.Load())
	}
}
