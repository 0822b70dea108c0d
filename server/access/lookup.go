package access

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"strata/internal/patience"
)

// folderTime bounds the wait for a folder: a dead network mount can keep a look at it for ever.
const folderTime = 3 * time.Second

// maxKnown is the maximum number of folders that are remembered.
const maxKnown = 10_000

// lookup is a look at one folder. Its results are set when done is closed.
type lookup struct {
	until time.Time // nobody waits longer
	done  chan struct{}

	folder
	err error // the disk does not respond
}

// folder is what a look sees.
type folder struct {
	real    string // resolved
	missing bool   // nothing is there, or no folder
}

// lookups are the looks at folders. A look that does not return is given up; until it does, others at the same folder fail
// at once. Safe for concurrent use.
type lookups struct {
	disk  disk
	limit time.Duration   // how long one waits
	watch *patience.Watch // how long a look may take

	mu      sync.Mutex
	running map[string]*lookup // by cleaned path
	known   map[string]*lookup // the last result
}

func newLookups(d disk, limit time.Duration) *lookups {
	return &lookups{disk: d, limit: limit, watch: patience.Files, running: make(map[string]*lookup), known: make(map[string]*lookup)}
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
	l.running[dir] = at
	go func() {
		defer close(at.done)
		seen, err := patience.Do(context.Background(), l.watch, dir, dir, func() (folder, error) { return look(l.disk, dir), nil })
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, dir)
		if at.folder, at.err = seen, err; err != nil {
			return
		}
		if len(l.known) >= maxKnown {
			clear(l.known)
		}
		l.known[dir] = at
	}()
	return at
}

func look(d disk, dir string) folder {
	real := resolve(d, dir)
	info, err := os.Stat(real)
	return folder{real: real, missing: err != nil || !info.IsDir()}
}

// wait reports whether the look has ended in time.
func (at *lookup) wait(ctx context.Context) bool {
	timer := time.NewTimer(time.Until(at.until))
	defer timer.Stop()
	select {
	case <-at.done:
		return at.err == nil
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
