package assembly

import (
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"

	"strata/filecontext"
	"strata/session/fit"
	"strata/tokens"
)

// The limits of a diff. Beyond them the file is sent whole, which is never wrong.
const (
	maxDiffBytes = 1 << 20   // of both texts
	maxDiffWork  = 4_000_000 // product of the lines that differ on each side, the work of the worst case
	maxDiffs     = 1024      // remembered
)

// Diffs makes the unified diffs between revisions of files, and remembers them. The texts are read before, so that planning
// does no I/O. The zero value remembers none. It is safe for concurrent use.
type Diffs struct {
	mu    sync.Mutex
	known map[diffKey]fileDiff
}

type diffKey struct{ path, from, to string }

type fileDiff struct {
	text, hash string
	tokens     int
	ok         bool
}

// diff returns the rendered diff of a file between two revisions whose texts are old and now; ok is false if it would be
// too much work.
func (d *Diffs) diff(key diffKey, old, now string, counter *tokens.Counter) fileDiff {
	if known, ok := d.lookup(key); ok {
		return known
	}
	var made fileDiff
	if affordable(old, now) {
		made = renderDiff(key.path, old, now, counter)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxDiffs {
		d.known = make(map[diffKey]fileDiff)
	}
	d.known[key] = made
	return made
}

// lookup returns a diff if it is remembered.
func (d *Diffs) lookup(key diffKey) (fileDiff, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.known[key]
	return known, ok
}

// affordable reports whether the lines that differ are few enough.
func affordable(old, now string) bool {
	if len(old)+len(now) > maxDiffBytes {
		return false
	}
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(now, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a)*len(b) <= maxDiffWork
}

func renderDiff(path, old, now string, counter *tokens.Counter) fileDiff {
	name := filecontext.Printable(path)
	text := filecontext.Fence("Changes to "+name, udiff.Unified(name, name, old, now))
	return fileDiff{text: text, hash: fit.Hash(text), tokens: counter.Count(text), ok: true}
}
