package tools

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// maxParallel is the maximum number of calls that run side by side.
const maxParallel = 4

// makeGrace is the longest time that a cancelled turn waits for a change of files that has begun. It ends at once if the disk
// responds.
const makeGrace = 50 * time.Millisecond

// Run runs the calls that may run, side by side, each on a goroutine of spawn. It calls tell for each change of their
// progress, one call at a time. It returns when all have a result or ctx has ended; later results are dropped.
func (s *Step) Run(ctx context.Context, spawn func(func()), tell func(Progress)) {
	group := s.calls[s.next:s.until]
	s.next = s.until
	r := run{step: s, tell: tell, left: len(group), all: make(chan struct{})}
	places := make(chan struct{}, maxParallel)
	for i := range group {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		c := &group[i]
		r.started(c)
		spawn(func() {
			r.returned(c, c.run(ctx, s.limit, func(o Output) { r.showed(c, o) }))
			<-places
		})
	}
	select {
	case <-r.all:
	case <-ctx.Done():
		if group[0].prepared != nil {
			r.wait(makeGrace)
		}
	}
	r.close()
}

// run returns the result of the call, nil if ctx has ended before it had any.
func (c *stepCall) run(ctx context.Context, limit limit, show func(Output)) *Result {
	if c.prepared != nil {
		return c.call.result(ctx, limit, func() (Result, error) { return c.prepared.Make(ctx) })
	}
	return c.call.result(ctx, limit, func() (Result, error) {
		r, err := c.call.Run(ctx, limit.bytes(), show)
		return r, cmp.Or(ctx.Err(), err)
	})
}

// run is the common state of calls that run side by side.
type run struct {
	step *Step
	tell func(Progress)

	mu     sync.Mutex // guards the fields below and the results
	left   int
	closed bool
	all    chan struct{} // closed when all calls have results
}

func (r *run) started(c *stepCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.started = true
	p := r.step.progress(c)
	p.Status = InProgress
	r.tell(p)
}

// showed takes the output of a call that runs.
func (r *run) showed(c *stepCall, o Output) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || c.returned {
		return
	}
	c.output = &o
	p := r.step.progress(c)
	p.Status = InProgress
	r.tell(p)
}

// returned takes the result of a call, nil if its context has ended.
func (r *run) returned(c *stepCall, result *Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	c.returned = true
	if result != nil {
		c.result = result
		r.tell(r.step.progress(c))
	}
	if r.left--; r.left == 0 {
		close(r.all)
	}
}

func (r *run) wait(longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-r.all:
	case <-timer.C:
	}
}

func (r *run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// result does what the call does, and returns its result within the limit; nil for the error of ctx.
func (c *Call) result(ctx context.Context, limit limit, do func() (Result, error)) (result *Result) {
	defer func() {
		if failed := recover(); failed != nil {
			r := Failed("%s failed: internal error", c.Tool.Name)
			result = &r
		}
	}()
	r, err := do()
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil
	case err != nil:
		r = Failed("%s failed: %v", c.Tool.Name, err)
	}
	r = limit.cut(r)
	return &r
}
