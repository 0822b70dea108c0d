package index

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"strata/filecontext"
)

// Index is the index of one folder. Its queries are safe for concurrent use and never wait for the disk or the store.
//
// One goroutine sweeps the folder and replaces the snapshot; only it uses the sweeper.
type Index struct {
	roots  *filecontext.Roots
	opt    Options
	room   func(*Index) int // how many bytes of outlines it may have
	begun  time.Time
	users  int // guarded by the Registry
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended
	wake   chan struct{} // has one element if a sweep is wanted

	snapshot atomic.Pointer[snapshot]

	mu      sync.Mutex    // guards the rest
	wanted  uint64        // number of the last sweep that was asked for
	ended   uint64        // number of the last sweep that has ended
	took    time.Duration // by that sweep to list the folder
	sweep   chan struct{} // closed when a sweep ends, and replaced
	reports map[*func(Status)]bool
}

// start returns an index whose first sweep is under way.
func start(roots *filecontext.Roots, opt Options, room func(*Index) int, progress *func(Status)) *Index {
	ctx, cancel := context.WithCancel(context.Background())
	i := &Index{roots: roots, opt: opt, room: room, begun: time.Now(), cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
		sweep: make(chan struct{}), reports: make(map[*func(Status)]bool)}
	i.snapshot.Store(&snapshot{status: Status{fileLimit: opt.Files}, graph: new(lazyGraph)})
	i.watch(progress) // before the first report
	i.want()
	go i.run(ctx)
	return i
}

// stop ends the goroutine and waits for it.
func (i *Index) stop() {
	i.cancel()
	<-i.done
}

func (i *Index) now() *snapshot { return i.snapshot.Load() }

// want asks for a sweep and returns its number.
func (i *Index) want() uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wanted++
	select {
	case i.wake <- struct{}{}:
	default:
	}
	return i.wanted
}

func (i *Index) run(ctx context.Context) {
	defer close(i.done)
	s := &sweeper{index: i, roots: i.roots, opt: i.opt}
	for {
		select {
		case <-i.wake:
		case <-ctx.Done():
			return
		}
		i.mu.Lock()
		number := i.wanted
		i.mu.Unlock()
		s.sweep(ctx)
		if ctx.Err() != nil {
			return
		}
		i.mu.Lock()
		i.ended, i.took = number, s.listed
		close(i.sweep)
		i.sweep = make(chan struct{})
		i.mu.Unlock()
	}
}

// Refresh compares the index to the disk and returns the state after that. It waits at most RefreshWait, and not at all
// during the first sweep, nor if the last sweep took longer than that to list the folder, which is too large then to wait
// for. If the sweep is not finished by then, Complete is false, and the sweep goes on. The error is that of ctx, or ErrClosed.
func (i *Index) Refresh(ctx context.Context) (Status, error) {
	number := i.want()
	timer := time.NewTimer(i.opt.RefreshWait)
	defer timer.Stop()
	for {
		i.mu.Lock()
		last, took, next := i.ended, i.took, i.sweep
		i.mu.Unlock()
		switch {
		case last >= number:
			return i.Status(), nil
		case last == 0, took > i.opt.RefreshWait:
			return i.unfinished(), nil
		}
		select {
		case <-next:
		case <-timer.C:
			return i.unfinished(), nil
		case <-i.done:
			return i.Status(), ErrClosed
		case <-ctx.Done():
			return i.Status(), context.Cause(ctx)
		}
	}
}

// unfinished returns the state during a sweep.
func (i *Index) unfinished() Status {
	s := i.Status()
	s.Complete = false
	return s
}

// Begun returns when the first sweep began.
func (i *Index) Begun() time.Time { return i.begun }

// Ready reports whether the first sweep has ended.
func (i *Index) Ready() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ended > 0
}

// Wait waits until the first sweep has ended, and returns the state. The error is that of ctx, or ErrClosed.
func (i *Index) Wait(ctx context.Context) (Status, error) {
	for {
		i.mu.Lock()
		last, next := i.ended, i.sweep
		i.mu.Unlock()
		if last > 0 {
			return i.Status(), nil
		}
		select {
		case <-next:
		case <-i.done:
			return i.Status(), ErrClosed
		case <-ctx.Done():
			return i.Status(), context.Cause(ctx)
		}
	}
}

// watch adds a progress function; nil is none.
func (i *Index) watch(report *func(Status)) {
	if report == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reports[report] = true
}

func (i *Index) unwatch(report *func(Status)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.reports, report)
}

// report calls the progress functions.
func (i *Index) report(status Status) {
	i.mu.Lock()
	var all []*func(Status)
	for report := range i.reports {
		all = append(all, report)
	}
	i.mu.Unlock()
	for _, report := range all {
		(*report)(status)
	}
}
