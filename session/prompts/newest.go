package prompts

import (
	"context"
	"errors"
	"sync"
)

// ErrReplaced ends the measurement of a draft when a newer draft of the same client begins.
var ErrReplaced = errors.New("a newer draft replaced this one")

// Newest lets a client measure one draft at a time: the newest. The zero value has none. It is safe for concurrent use.
type Newest struct {
	mu   sync.Mutex
	stop context.CancelCauseFunc // of the newest draft; nil for none
}

// Next returns the context of a draft, which ends with parent, and ends that of the draft before.
func (n *Newest) Next(parent context.Context) context.Context {
	ctx, stop := context.WithCancelCause(parent)
	n.mu.Lock()
	before := n.stop
	n.stop = stop
	n.mu.Unlock()
	if before != nil {
		before(ErrReplaced)
	}
	return ctx
}
