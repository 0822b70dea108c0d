package fulltext

import (
	"context"
	"log/slog"
	"time"
)

const (
	// retryFirst and retryMost are the delays after the first failure and after many.
	retryFirst = time.Second
	retryMost  = time.Minute
)

// Worker brings the search index up to date in steps, a while after messages were stored or as soon as a search asks for
// it. It has no goroutine: its methods, except CatchUp, belong to the goroutine of the writer, which calls Step while
// nothing else waits.
type Worker struct {
	step  func() (more bool, err error)
	delay time.Duration // from a change to the first step
	log   *slog.Logger

	timer   *time.Timer // fires when the next run is due
	armed   bool        // the timer runs
	running bool
	asked   chan chan struct{}
	waiters []chan struct{} // closed when the run ends
	retry   time.Duration   // the last delay after a failure; 0 after a success
}

// NewWorker returns a worker whose first run is due after delay. step indexes some messages and returns whether more are
// left.
func NewWorker(step func() (more bool, err error), delay time.Duration, log *slog.Logger) *Worker {
	return &Worker{step: step, delay: delay, log: log, timer: time.NewTimer(delay), armed: true, asked: make(chan chan struct{})}
}

// Changed makes a run due after the delay, so that a prompt and its reply are often indexed together.
func (w *Worker) Changed() {
	if !w.armed && !w.running {
		w.arm(w.delay)
	}
}

func (w *Worker) arm(delay time.Duration) {
	w.armed = true
	w.timer.Reset(delay)
}

// Due returns the channel that tells when to call Start.
func (w *Worker) Due() <-chan time.Time { return w.timer.C }

// Start starts a run that is due.
func (w *Worker) Start() { w.armed, w.running = false, true }

// Asked returns the channel of the searches that wait in CatchUp, for StartFor.
func (w *Worker) Asked() <-chan chan struct{} { return w.asked }

// StartFor starts a run, at whose end it closes done.
func (w *Worker) StartFor(done chan struct{}) {
	w.waiters, w.running = append(w.waiters, done), true
}

// Step does one step of a run. It returns false if no run is under way. After a failure the run ends, and the next one is
// due after a delay; of failures in a row, the first is logged.
func (w *Worker) Step() bool {
	if !w.running {
		return false
	}
	more, err := w.step()
	switch {
	case err != nil:
		w.failed(err)
		w.end()
	case !more:
		w.succeeded()
		w.end()
	}
	return true
}

func (w *Worker) failed(err error) {
	if w.retry == 0 {
		w.log.Warn("search index is behind", "err", err)
		w.retry = retryFirst / 2
	}
	w.retry = min(2*w.retry, retryMost)
	w.arm(w.retry)
}

func (w *Worker) succeeded() {
	if w.retry != 0 {
		w.log.Info("search index is complete again")
		w.retry = 0
	}
}

func (w *Worker) end() {
	w.running = false
	for _, done := range w.waiters {
		close(done)
	}
	w.waiters = nil
}

// GiveUp ends a run without a further step.
func (w *Worker) GiveUp() {
	if w.running {
		w.end()
	}
}

// Close stops the timer.
func (w *Worker) Close() { w.timer.Stop() }

// CatchUp asks for a run and returns at its end, or when ctx ends. It is safe for concurrent use.
func (w *Worker) CatchUp(ctx context.Context) {
	done := make(chan struct{})
	select {
	case w.asked <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
