// Package silence ends a call when its peer sends nothing for too long.
package silence

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Err is the cause with which a Watch cancels.
var Err = errors.New("the provider sent nothing for too long")

// Watch ends a call when its provider sends nothing for too long. It is safe for concurrent use.
type Watch struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // nil where nothing limits the wait
	limit time.Duration
}

// New waits for the first byte. first is 0 for an unlimited wait; between limits each later wait.
func New(cancel context.CancelCauseFunc, first, between time.Duration) *Watch {
	w := &Watch{cancel: cancel, limit: between}
	if first > 0 {
		w.timer = time.AfterFunc(first, w.expire)
	}
	return w
}

func (w *Watch) expire() { w.cancel(Err) }

// arrived starts the wait for the next byte.
func (w *Watch) arrived() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.limit, w.expire)
	} else {
		w.timer.Reset(w.limit)
	}
}

// Shorten limits the waits from now on.
func (w *Watch) Shorten(limit time.Duration) {
	w.mu.Lock()
	w.limit = cmp.Or(min(w.limit, limit), limit)
	w.mu.Unlock()
	w.arrived()
}

// Stop ends the watch.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Body returns a reader that notifies the watch of every byte that arrives, also of a comment.
func (w *Watch) Body(r io.Reader) io.Reader { return &body{r, w} }

type body struct {
	io.Reader
	watch *Watch
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.watch.arrived()
	}
	return n, err
}
