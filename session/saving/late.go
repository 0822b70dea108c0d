package saving

import (
	"context"
	"time"

	"strata/history"
)

// How a change that could not be stored is stored later.
const (
	RetryMax      = 10 * time.Second // longest interval
	ShutdownGrace = 5 * time.Second  // of attempts at shutdown
	retryFirst    = 250 * time.Millisecond
)

// Later stores a change that could not be stored, in attempts at growing intervals, and returns true once it is. From the
// moment that stopping is closed it tries at once and then from the shortest interval, and returns false after
// ShutdownGrace. No error ends it, nor the end of ctx, with which it calls the store.
func Later(ctx context.Context, store Store, change history.Change, stopping <-chan struct{}) bool {
	var grace <-chan time.Time
	for wait := retryFirst; ; wait = min(2*wait, RetryMax) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-stopping:
			timer.Stop()
			stopping, grace, wait = nil, time.After(ShutdownGrace), retryFirst
		case <-grace:
			timer.Stop()
			return false
		}
		if store.Commit(ctx, change) == nil {
			return true
		}
	}
}
