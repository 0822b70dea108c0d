// Package patience does work on files that may never return. A system call for a file of a dead network mount, or of some
// files below /proc, blocks forever, and nothing in the program can end it. So the work runs in a goroutine of its own that
// is given up after a while: it ends when the system call returns, if ever.
//
// It must never keep more than a fixed number of goroutines: beyond it all work fails at once.
package patience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"
)

// The limits of work on files.
const (
	// Limit is how long a piece of work may take.
	Limit = 10 * time.Second
	// Short is how long it may take in a folder in which other work has been given up and has not returned.
	Short = time.Second
	// MaxRunning is the number of pieces of work at a time, those that were given up included.
	MaxRunning = 64
	// MaxLost is the number of pieces of work in one folder that may be given up and not have returned.
	MaxLost = 16
)

// The reasons for which work is given up or not begun. They are predicates, for the caller to put the path before.
var (
	ErrNoResponse = errors.New("the disk does not respond")
	ErrTooMany    = errors.New("too many files wait for disks that do not respond")
)

// A Watch does work, as much at a time as its limits allow. It is safe for concurrent use.
type Watch struct {
	limit time.Duration
	slots chan struct{}

	mu   sync.Mutex
	lost map[*work]bool // given up, and not returned
}

// Files is the watch of the program.
var Files = New(Limit)

// New returns a watch with a limit of its own. The time in a folder that does not respond is a tenth of it.
func New(limit time.Duration) *Watch {
	return &Watch{limit: limit, slots: make(chan struct{}, MaxRunning), lost: make(map[*work]bool)}
}

// work is a piece of work that was begun.
type work struct {
	folder, path string
	begun        time.Time
	returned     bool
	overdue      bool // it took longer than it may
}

// Do does work on a path in a folder and returns its result. It returns earlier with the error of ctx if that ends, and
// with ErrNoResponse or ErrTooMany, wrapped, if the disk takes too long. A result that comes too late is closed if it can be.
// A panic of the work is one of Do, unless it comes too late. The work must not use anything that its caller changes.
func Do[T any](ctx context.Context, w *Watch, folder, path string, do func() (T, error)) (T, error) {
	var none T
	one := &work{folder: folder, path: path, begun: time.Now()}
	left, err := w.begin(ctx, one)
	if err != nil {
		return none, err
	}
	results := make(chan result[T], 1)
	go func() {
		r := run(do)
		if w.end(one) {
			r.discard()
			return
		}
		results <- r
	}()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case r := <-results:
		return r.get()
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = fmt.Errorf("%w within %v", ErrNoResponse, left.Round(time.Millisecond))
	}
	if w.giveUp(one, errors.Is(err, ErrNoResponse)) {
		return none, err
	}
	r := <-results // it has just returned
	return r.get()
}

// begin waits until there is room for a piece of work, and returns how long it may take.
func (w *Watch) begin(ctx context.Context, one *work) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	left, err := w.left(one)
	if err != nil {
		return 0, err
	}
	select {
	case w.slots <- struct{}{}:
		return left, nil
	default:
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case w.slots <- struct{}{}:
		one.begun = time.Now()
		return left, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timer.C:
		return 0, ErrTooMany
	}
}

// left returns how long a piece of work may take, given what has not returned. Work on the same path continues the time of
// the work before it.
func (w *Watch) left(one *work) (time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left, overdue, here := w.limit, 0, 0
	for lost := range w.lost {
		rest := w.limit - one.begun.Sub(lost.begun)
		if lost.overdue {
			rest = 0
		}
		if lost.path == one.path {
			left = min(left, rest)
		}
		if rest > 0 {
			continue // it was cancelled, and may still return
		}
		overdue++
		if lost.folder == one.folder {
			here++
		}
	}
	switch {
	case left <= 0:
		return 0, fmt.Errorf("%w: an earlier read has not returned", ErrNoResponse)
	case overdue >= MaxRunning, here >= MaxLost:
		return 0, ErrTooMany
	case here > 0:
		left = min(left, w.limit/time.Duration(Limit/Short))
	}
	return left, nil
}

// end notes that a piece of work has returned, and reports whether it had been given up.
func (w *Watch) end(one *work) (late bool) {
	w.mu.Lock()
	late = w.lost[one]
	delete(w.lost, one)
	one.returned = true
	w.mu.Unlock()
	<-w.slots
	return late
}

// giveUp reports whether a piece of work is given up; false: it has returned.
func (w *Watch) giveUp(one *work, overdue bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.overdue = overdue; !one.returned {
		w.lost[one] = true
	}
	return !one.returned
}

// Lost returns how many pieces of work were given up and have not returned.
func (w *Watch) Lost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.lost)
}

// result is how work ended.
type result[T any] struct {
	value T
	err   error
	panic any
	stack []byte
}

func run[T any](do func() (T, error)) (r result[T]) {
	defer func() {
		if r.panic = recover(); r.panic != nil {
			r.stack = debug.Stack()
		}
	}()
	r.value, r.err = do()
	return r
}

func (r *result[T]) get() (T, error) {
	if r.panic != nil {
		panic(fmt.Sprintf("%v\n%s", r.panic, r.stack))
	}
	return r.value, r.err
}

// discard closes a result that comes after its caller has left.
func (r *result[T]) discard() {
	if c, ok := any(r.value).(io.Closer); ok && r.err == nil && r.panic == nil {
		c.Close()
	}
}
