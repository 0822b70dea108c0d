// Package saving puts changes of a session on disk.
//
// It must never report a change as failed that is stored.
package saving

import (
	"context"
	"errors"

	"strata/history"
)

// Store is the part of the store that takes changes.
type Store interface {
	// Commit stores all of a change or nothing, and returns once it is on disk.
	Commit(ctx context.Context, change history.Change) error
}

// tries limits the attempts to learn the outcome of a change.
const tries = 3

// Commit stores a change. If the store does not say whether the change is on disk, Commit tries again: a change that is
// stored already succeeds without effect. Otherwise the session would lag behind its store, which then refuses every later
// change.
func Commit(ctx context.Context, store Store, change history.Change) (err error) {
	for range tries {
		err = store.Commit(ctx, change)
		if err == nil || ctx.Err() != nil || errors.Is(err, history.ErrUnchanged) || errors.Is(err, history.ErrNotFound) {
			return err
		}
	}
	return err
}
