package saving

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
)

// fullDisk notes when a change came, and has room for it from a time on.
type fullDisk struct {
	begun time.Time
	until time.Duration
	tries []time.Duration
}

func (s *fullDisk) Commit(context.Context, history.Change) error {
	at := time.Since(s.begun)
	s.tries = append(s.tries, at)
	if at < s.until {
		return errors.New("no room on the disk")
	}
	return nil
}

func TestAChangeIsTriedAgainAtGrowingIntervalsUntilItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fullDisk{begun: time.Now(), until: time.Minute}
		if !Later(t.Context(), store, history.Change{}, make(chan struct{})) {
			t.Error("it was given up")
		}
		last := time.Duration(0)
		for i, at := range store.tries {
			if wait := at - last; wait != min(retryFirst<<i, RetryMax) {
				t.Errorf("%s before attempt %d", wait, i+1)
			}
			last = at
		}
		if last < store.until || last >= store.until+RetryMax {
			t.Errorf("the last attempt was after %s", last)
		}
	})
}

func TestAServerThatStopsTriesAtOnceAndGivesUpAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fullDisk{begun: time.Now(), until: time.Hour}
		stopping := make(chan struct{})
		const asked = 25 * time.Second // when the interval is the longest
		time.AfterFunc(asked, func() { close(stopping) })
		if Later(t.Context(), store, history.Change{}, stopping) {
			t.Error("it was stored")
		}
		if ended := time.Since(store.begun); ended != asked+ShutdownGrace {
			t.Errorf("given up after %s", ended)
		}
		late := 0
		for _, at := range store.tries {
			if at >= asked {
				late++
			}
		}
		if late < 4 || store.tries[len(store.tries)-late] != asked {
			t.Errorf("attempts at %s", store.tries)
		}
	})
}
