package session

import (
	"context"
	"errors"

	"strata/history"
)

// commitTries limits the attempts to learn the outcome of a change.
const commitTries = 3

// commit stores a change. If the store does not say whether the change is on disk, commit tries again: a change that is
// stored already succeeds without effect. Otherwise the session would lag behind its store, which then refuses every later
// change.
func commit(ctx context.Context, store Store, change history.Change) (err error) {
	for range commitTries {
		err = store.Commit(ctx, change)
		if err == nil || ctx.Err() != nil || errors.Is(err, history.ErrUnchanged) || errors.Is(err, history.ErrNotFound) {
			return err
		}
	}
	return err
}
