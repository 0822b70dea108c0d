package slash

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"strata/session/commands"
)

// listener is a Listener that reads commands when the test lets it.
type listener struct {
	gate chan struct{} // one token for each read

	mu      sync.Mutex
	skipped []commands.Skipped
	err     error
	told    int
	logged  int
}

func (l *listener) Commands(context.Context) (commands.Set, []commands.Skipped, error) {
	<-l.gate
	l.mu.Lock()
	defer l.mu.Unlock()
	return commands.Set{}, slices.Clone(l.skipped), l.err
}

func (l *listener) TellCommands([]commands.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told++
}

func (l *listener) SkippedCommands([]commands.Skipped) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logged++
}

// started runs a test with a list whose goroutines it counts.
func started(t *testing.T, test func(t *testing.T, list *List, l *listener, started *int)) {
	synctest.Test(t, func(t *testing.T) {
		l := &listener{gate: make(chan struct{}, 100)}
		n := 0
		list := NewList(l, func(run func()) { n++; go run() })
		test(t, list, l, &n)
	})
}

func (l *listener) want(t *testing.T, told, logged int) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told != told || l.logged != logged {
		t.Errorf("told %d times and logged %d, want %d and %d", l.told, l.logged, told, logged)
	}
}

func TestListTellsOnlyChangesUnlessItMust(t *testing.T) {
	started(t, func(t *testing.T, list *List, l *listener, _ *int) {
		for range 10 {
			l.gate <- struct{}{}
		}
		list.Update(false)
		l.want(t, 1, 0)
		list.Update(false)
		l.want(t, 1, 0)
		list.Update(true)
		l.want(t, 2, 0)
		l.skipped = []commands.Skipped{{Path: "a.md", Reason: "is wrong"}}
		list.Update(false)
		l.want(t, 2, 1)
		list.Update(true)
		l.want(t, 3, 1)
		l.err = errors.New("closed")
		list.Update(true)
		l.want(t, 3, 1)
	})
}

// However many updates are asked for while the folders are read, they are read once more, by one goroutine.
func TestListReadsOnceMore(t *testing.T) {
	started(t, func(t *testing.T, list *List, l *listener, started *int) {
		list.Update(false)
		synctest.Wait()
		for range 50 {
			list.Update(false)
		}
		list.Update(true)
		list.Update(false)
		l.gate <- struct{}{}
		l.want(t, 1, 0)
		l.gate <- struct{}{}
		l.want(t, 2, 0)
		if *started != 1 {
			t.Errorf("%d goroutines", *started)
		}
		l.gate <- struct{}{}
		list.Update(true)
		l.want(t, 3, 0)
	})
}
