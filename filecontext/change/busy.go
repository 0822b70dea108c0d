package change

import (
	"context"
	"sync"
)

// busy are the files that changes of this process are checking and replacing. Between the check and the replacement no other
// change of this process may replace the file: it would be lost. It is safe for concurrent use; its lock is a leaf.
type busy struct {
	mu    sync.Mutex
	until map[string]chan struct{} // by path without links; closed when the file is free
}

var busyFiles = &busy{until: make(map[string]chan struct{})}

// heldFiles are the files that changes of this process, those by an editor too, are making. An editor may take longer than
// work on a disk, so that a change enters it before it begins that work. It comes before busyFiles.
var heldFiles = &busy{until: make(map[string]chan struct{})}

// enter waits until a file is free, and makes it busy until leave is called. The error is that of ctx.
func (b *busy) enter(ctx context.Context, path string) (leave func(), err error) {
	for {
		free := b.try(path)
		if free == nil {
			return func() { b.leave(path) }, nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try makes a file busy. If it is already, try returns when it will be free.
func (b *busy) try(path string) (free <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if free, ok := b.until[path]; ok {
		return free
	}
	b.until[path] = make(chan struct{})
	return nil
}

func (b *busy) leave(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.until[path])
	delete(b.until, path)
}
