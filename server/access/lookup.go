package access

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// folderTime bounds the wait for a folder: a dead network mount can keep a look at it for ever.
const folderTime = 3 * time.Second

// The limits of lookups.
const (
	maxRunning = 1000   // concurrent looks, including those that do not return
	maxKnown   = 10_000 // remembered folders
)

// lookup is a look at one folder. Its results are set when done is closed.
type lookup struct {
	until time.Time // deadline of all waits
	done  chan struct{}

	real    string // resolved
	missing bool   // nothing is there, or no folder
}

// lookups are the looks at folders. A look that does not return is left behind; until it does, no other one at the same
// folder starts. Above maxRunning, a folder counts as one that does not respond. Safe for concurrent use.
type lookups struct {
	disk  disk
	limit time.Duration

	mu      sync.Mutex
	running map[string]*lookup // by cleaned path
	known   map[string]*lookup // the last result
}

func newLookups(d disk, limit time.Duration) *lookups {
	return &lookups{disk: d, limit: limit, running: make(map[string]*lookup), known: make(map[string]*lookup)}
}

// start returns the running look at a folder, a new one if there is none.
func (l *lookups) start(dir string) *lookup {
	dir = filepath.Clean(dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.running[dir]; at != nil {
		return at
	}
	at := &lookup{until: time.Now().Add(l.limit), done: make(chan struct{})}
	if len(l.running) >= maxRunning {
		at.until = time.Now() // done is never closed
		return at
	}
	l.running[dir] = at
	go func() {
		at.real = resolve(l.disk, dir)
		info, err := os.Stat(at.real)
		at.missing = err != nil || !info.IsDir()
		defer close(at.done)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, dir)
		if len(l.known) >= maxKnown {
			clear(l.known)
		}
		l.known[dir] = at
	}()
	return at
}

// wait reports whether the look has ended in time, and before ctx has.
func (at *lookup) wait(ctx context.Context) bool {
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
func (l *lookups) last(dir string) *lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[filepath.Clean(dir)]
}
