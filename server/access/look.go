package access

import (
	"context"
	"path/filepath"
	"sync"
	"time"
)

// folderTime is the maximum wait for a folder: a dead network mount can block for ever.
const folderTime = 3 * time.Second

// look is a look at one folder. found is set when done is closed.
type look[T any] struct {
	until time.Time // deadline of all waits
	done  chan struct{}
	found T
}

// looks are concurrent looks at folders. Until a look returns, no other look at the same folder starts. Above the maximum
// number of looks, a folder counts as not responding. Safe for concurrent use.
type looks[T any] struct {
	at    func(dir string) T
	limit time.Duration // of each wait
	most  int           // concurrent looks, including those that do not return
	kept  int           // results that are remembered

	mu      sync.Mutex
	running map[string]*look[T] // by cleaned path
	known   map[string]*look[T] // the last result
}

func newLooks[T any](at func(dir string) T, limit time.Duration, most, kept int) *looks[T] {
	return &looks[T]{at: at, limit: limit, most: most, kept: kept, running: make(map[string]*look[T]), known: make(map[string]*look[T])}
}

// start returns the running look at a folder, or starts one.
func (l *looks[T]) start(dir string) *look[T] {
	dir = filepath.Clean(dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.running[dir]; at != nil {
		return at
	}
	at := &look[T]{until: time.Now().Add(l.limit), done: make(chan struct{})}
	if len(l.running) >= l.most {
		at.until = time.Now() // done is never closed
		return at
	}
	l.running[dir] = at
	go func() {
		at.found = l.at(dir)
		defer close(at.done)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, dir)
		l.keep(dir, at)
	}()
	return at
}

// keep remembers a result. l.mu is held.
func (l *looks[T]) keep(dir string, at *look[T]) {
	if l.kept == 0 {
		return
	}
	if len(l.known) >= l.kept {
		clear(l.known)
	}
	l.known[dir] = at
}

// wait reports whether the look has ended in time, and before ctx has.
func (at *look[T]) wait(ctx context.Context) bool {
	timer := time.NewTimer(time.Until(at.until))
	defer timer.Stop()
	select {
	case <-at.done:
		return true
	case <-timer.C:
		return false
	case <-ctx.Done():
		return false
	}
}

// last returns the last result for a folder without looking again, nil if there is none.
func (l *looks[T]) last(dir string) *look[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[filepath.Clean(dir)]
}
