package compaction

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// The errors of Submit.
var (
	ErrRunning   = errors.New("a compaction of this session is already running or queued")
	ErrQueueFull = errors.New("too many compactions are queued")
	ErrClosed    = errors.New("the compaction pool is closed")
)

// Job is one compaction. It must return soon after ctx ends. The pool calls every job, even one that was cancelled
// before it started, which must return immediately.
type Job func(ctx context.Context) Result

// PoolOptions are the settings of a Pool. A zero field means its default.
type PoolOptions struct {
	Workers int        // maximum concurrent jobs, default 2
	Queue   int        // maximum queued jobs, default 1,024
	Observe func(Done) // called at the end of each job, on the job's goroutine
}

// Done describes a finished job.
type Done struct {
	Session string
	Result  Result
	Waited  time.Duration // in the queue
	Ran     time.Duration
}

const (
	defaultWorkers = 2
	defaultQueue   = 1024
)

// Pool runs a bounded number of concurrent jobs in the background, in the order of Submit. Each session has at most one
// job, so no session can crowd out another. It is safe for concurrent use.
type Pool struct {
	opt    PoolOptions
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	slots  *semaphore.Weighted // one per running job
	jobs   errgroup.Group      // owns the goroutines

	mu       sync.Mutex // held briefly, never while a job or Observe runs
	closed   bool
	queue    []*task
	sessions map[string]bool // sessions with a job
}

// task is a submitted job.
type task struct {
	session string
	job     Job
	ctx     context.Context
	stop    context.CancelFunc
	queued  time.Time
}

// NewPool returns a pool that runs until Close.
func NewPool(opt PoolOptions) *Pool {
	if opt.Workers <= 0 {
		opt.Workers = defaultWorkers
	}
	if opt.Queue <= 0 {
		opt.Queue = defaultQueue
	}
	if opt.Observe == nil {
		opt.Observe = func(Done) {}
	}
	p := &Pool{opt: opt, slots: semaphore.NewWeighted(int64(opt.Workers)), sessions: make(map[string]bool)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Submit queues a job and returns without waiting. cancel ends the job's context; it does not wait, and may be called at
// any time and more than once. The error is ErrClosed, ErrRunning or ErrQueueFull.
func (p *Pool) Submit(session string, job Job) (cancel func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, ErrClosed
	case p.sessions[session]:
		return nil, ErrRunning
	case len(p.queue) >= p.opt.Queue:
		return nil, ErrQueueFull
	}
	t := &task{session: session, job: job, queued: time.Now()}
	t.ctx, t.stop = context.WithCancel(p.ctx)
	p.sessions[session] = true
	p.queue = append(p.queue, t)
	p.startNext()
	return func() { p.cancelTask(t) }, nil
}

// startNext starts queued jobs while workers are free. mu must be held.
func (p *Pool) startNext() {
	for len(p.queue) > 0 && p.slots.TryAcquire(1) {
		t := p.queue[0]
		p.queue = slices.Delete(p.queue, 0, 1)
		p.start(t, func() { p.slots.Release(1) })
	}
}

// start runs a job in a new goroutine. mu must be held, so that Close waits for all started jobs.
func (p *Pool) start(t *task, release func()) {
	p.jobs.Go(func() error {
		begun := time.Now()
		result := t.job(t.ctx)
		t.stop()
		p.end(t, release)
		p.opt.Observe(Done{Session: t.session, Result: result, Waited: begun.Sub(t.queued), Ran: time.Since(begun)})
		return nil
	})
}

// end removes a finished job and starts the next one.
func (p *Pool) end(t *task, release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, t.session)
	release()
	p.startNext()
}

// cancelTask cancels a job. A queued job is called immediately instead of waiting for a worker, as other jobs can take
// long.
func (p *Pool) cancelTask(t *task) {
	t.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.queue, t); i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
		p.start(t, func() {})
	}
}

// Load returns the number of running and of queued jobs.
func (p *Pool) Load() (running, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sessions) - len(p.queue), len(p.queue)
}

// Close refuses new jobs, cancels all others and waits for their end.
func (p *Pool) Close() {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	for _, t := range p.queue {
		p.start(t, func() {})
	}
	p.queue = nil
	p.mu.Unlock()
	_ = p.jobs.Wait() // jobs return no errors
}
