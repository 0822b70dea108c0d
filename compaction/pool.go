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

// Why a pool refuses a job.
var (
	ErrRunning   = errors.New("a compaction of this session is running or queued already")
	ErrQueueFull = errors.New("too many compactions are queued")
	ErrClosed    = errors.New("the compaction pool is closed")
)

// Job is one compaction. When ctx is done it must end soon; it is called even where it was cancelled before
// a worker was free, and must then return at once.
type Job func(ctx context.Context) Result

// PoolOptions are the settings of a Pool. Zero values are the defaults.
type PoolOptions struct {
	Workers int        // how many jobs run at once, default 2
	Queue   int        // how many jobs wait at most, default 1,024
	Observe func(Done) // told of each job's end, on its goroutine
}

// Done is the end of a job.
type Done struct {
	Session string
	Result  Result
	Waited  time.Duration // for a worker
	Ran     time.Duration
}

const (
	defaultWorkers = 2
	defaultQueue   = 1024
)

// Pool runs jobs in the background, a bounded number at once, in the order in which they came. A session
// has at most one, so none can crowd out another.
type Pool struct {
	opt    PoolOptions
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	slots  *semaphore.Weighted // one for each job that runs
	jobs   errgroup.Group      // owns the goroutines

	mu       sync.Mutex // held for moments only, never while a job or Observe runs
	closed   bool
	queue    []*task
	sessions map[string]bool // that have a job
}

// task is a job on its way through the pool.
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

// Submit puts a job in the queue and returns at once. cancel ends the job's context and may be called at
// any time, more than once; it does not wait.
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

// startNext starts queued jobs as long as workers are free. mu is held.
func (p *Pool) startNext() {
	for len(p.queue) > 0 && p.slots.TryAcquire(1) {
		t := p.queue[0]
		p.queue = slices.Delete(p.queue, 0, 1)
		p.start(t, func() { p.slots.Release(1) })
	}
}

// start runs a job on a goroutine of its own. mu is held, so that Close waits for all that were started.
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

// end gives a job's place to the next one.
func (p *Pool) end(t *task, release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, t.session)
	release()
	p.startNext()
}

// cancelTask ends a job. One that is queued does not wait for a worker to learn it: other sessions' jobs
// can take long.
func (p *Pool) cancelTask(t *task) {
	t.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.queue, t); i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
		p.start(t, func() {})
	}
}

// Load returns how many jobs run and how many wait for a worker.
func (p *Pool) Load() (running, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sessions) - len(p.queue), len(p.queue)
}

// Close refuses further jobs, cancels all that there are and waits until they have ended.
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
