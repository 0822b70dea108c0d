package historystore

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/historystore/database"
)

// gatedStore returns a store whose writer blocks after its first commit until open is called.
// commits returns the number of changes of each commit.
func gatedStore(t *testing.T) (s *Store, open func(), commits func() []int) {
	t.Helper()
	gate, reached := make(chan struct{}), make(chan struct{}, 1)
	var mu sync.Mutex
	var sizes []int
	s = openTest(t, "", Options{OnCommit: func(changes int) {
		mu.Lock()
		sizes = append(sizes, changes)
		mu.Unlock()
		select {
		case reached <- struct{}{}:
		default:
		}
		<-gate
	}})
	s.writer.queue <- &job{apply: insertFirst, done: make(chan error, 1)}
	<-reached
	open = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	return s, open, func() []int {
		mu.Lock()
		defer mu.Unlock()
		return sizes
	}
}

func insertFirst(tx *writeTx) error { return insertSession(tx, createSession("sess_a").Create) }

// awaitQueued returns when n changes are queued.
func awaitQueued(t *testing.T, s *Store, n int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for len(s.writer.queue) < n {
		if time.Now().After(deadline) {
			t.Fatalf("%d changes queued, want %d", len(s.writer.queue), n)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestWaitingChangesShareACommit(t *testing.T) {
	s, open, commits := gatedStore(t)
	const callers = 40
	var all sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		all.Go(func() {
			ch := createSession(fmt.Sprint("sess_", i))
			if i%10 == 0 {
				ch = beginTurn("sess_unknown", int64(i))
			}
			errs[i] = s.Commit(ctx, ch)
		})
	}
	awaitQueued(t, s, callers)
	open()
	all.Wait()
	for i, err := range errs {
		if i%10 == 0 {
			wantError(t, err, history.ErrNotFound)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "commits", commits(), []int{1, callers - callers/10})
}

func TestGroupAndQueueAreBounded(t *testing.T) {
	s, open, commits := gatedStore(t)
	var all sync.WaitGroup
	for i := range queueLength {
		all.Go(func() {
			if err := s.Commit(ctx, createSession(fmt.Sprint("sess_", i))); err != nil {
				t.Error(err)
			}
		})
	}
	awaitQueued(t, s, queueLength)
	full, cancel := context.WithCancel(ctx)
	refused := make(chan error)
	go func() { refused <- s.Commit(full, createSession("sess_more")) }()
	cancel()
	wantError(t, <-refused, context.Canceled)
	open()
	all.Wait()
	for _, n := range commits() {
		if n > groupLength {
			t.Fatalf("commit of %d changes", n)
		}
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "sessions", stats.Sessions, queueLength+1)
}

func TestCancelWithdrawsAWaitingChange(t *testing.T) {
	s, open, commits := gatedStore(t)
	cancelled, cancel := context.WithCancel(ctx)
	result := make(chan error)
	go func() { result <- s.Commit(cancelled, createSession("sess_b")) }()
	awaitQueued(t, s, 1)
	cancel()
	wantError(t, <-result, context.Canceled)
	open()
	commit(t, s, createSession("sess_c"))
	_, err := s.Load(ctx, "sess_b")
	wantError(t, err, history.ErrNotFound)
	equal(t, "commits", commits(), []int{1, 1})
}

// A caller whose context ends while its change is being committed gets the result of the commit.
func TestCancelDoesNotInterruptACommit(t *testing.T) {
	cancelled, cancel := context.WithCancel(ctx)
	s := openTest(t, "", Options{OnCommit: func(int) { cancel() }})
	if err := s.Commit(cancelled, createSession("sess_a")); err != nil {
		t.Fatal(err)
	}
	load(t, s, "sess_a")
	wantError(t, s.Commit(cancelled, createSession("sess_b")), context.Canceled)
	_, err := s.Load(cancelled, "sess_a")
	wantError(t, err, context.Canceled)
}

func TestCloseStoresQueuedChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	committed := make(chan struct{}, 100)
	s, err := Open(ctx, path, Options{OnCommit: func(int) { committed <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	accepted := make([]bool, 50)
	for i := range accepted {
		all.Go(func() {
			err := s.Commit(ctx, createSession(fmt.Sprint("sess_", i)))
			accepted[i] = err == nil
			if err != nil {
				wantError(t, err, ErrClosed)
			}
		})
	}
	<-committed
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Load(ctx, "sess_0")
	wantError(t, err, ErrClosed)

	s = openTest(t, path, Options{})
	for i, ok := range accepted {
		if _, err := s.Load(ctx, fmt.Sprint("sess_", i)); (err == nil) != ok {
			t.Errorf("session %d: accepted %v, load %v", i, ok, err)
		}
	}
}

// A full disk makes SQLite abort the whole transaction; the other changes of the group are stored nevertheless.
func TestFullDisk(t *testing.T) {
	s, open, _ := gatedStore(t)
	limitPages(t, s, 64)
	huge := appendText("sess_a", 1, strings.Repeat("much too large ", 1<<16))
	results := make(chan error, 3)
	for _, ch := range []history.Change{createSession("sess_b"), huge, createSession("sess_c")} {
		waiting := len(s.writer.queue)
		go func() { results <- s.Commit(ctx, ch) }()
		awaitQueued(t, s, waiting+1)
	}
	open()
	var failed []error
	for range 3 {
		if err := <-results; err != nil {
			failed = append(failed, err)
		}
	}
	equal(t, "failures", len(failed), 1)
	wantError(t, failed[0], ErrFull)
	load(t, s, "sess_b")
	load(t, s, "sess_c")
	equal(t, "messages", len(load(t, s, "sess_a").Heads), 0)

	limitPages(t, s, 1<<20)
	commit(t, s, huge)
	checkIndex(t, s)
}

// limitPages imitates a small disk. It uses the writer's connection while the writer is blocked.
func limitPages(t *testing.T, s *Store, pages int) {
	t.Helper()
	if _, err := s.writer.tx.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

func TestReadOnlyDatabase(t *testing.T) {
	s := openTest(t, "", Options{})
	if _, err := s.writer.tx.conn.ExecContext(ctx, "PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Commit(ctx, createSession("sess_a")), ErrReadOnly)
}

func TestK4_03_AnotherProcessWritesFor3Seconds(t *testing.T) {
	t.Parallel()
	if database.DefaultBusyTimeout <= 3*time.Second {
		t.Errorf("another process is waited for for %v only", database.DefaultBusyTimeout)
	}
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, Options{BusyTimeout: 2 * time.Minute}) // on a busy machine the three seconds may become more
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0))
	_, release := startChild(t, childHolds, path)
	var released atomic.Bool
	timer := time.AfterFunc(3*time.Second, func() {
		released.Store(true)
		release()
	})
	defer timer.Stop()
	commit(t, s, endTurn("sess_a", 0))
	if !released.Load() {
		t.Fatal("the commit did not wait for the lock of the other process")
	}
}

func TestK4_03_AnotherProcessWritesForTooLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, Options{BusyTimeout: 50 * time.Millisecond})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0))
	_, release := startChild(t, childHolds, path)
	wantError(t, s.Commit(ctx, endTurn("sess_a", 0)), ErrBusy)
	equal(t, "unfinished turn", load(t, s, "sess_a").Unfinished.ID, turnID(0))
	release()
	commit(t, s, endTurn("sess_a", 0))
	equal(t, "messages", len(load(t, s, "sess_a").Heads), 2)
}

func TestOperationsAreObserved(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	s := openTest(t, "", Options{Observe: func(op string, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		seen[op]++
	}})
	commit(t, s, createSession("sess_a"), appendText("sess_a", 1, "text"))
	load(t, s, "sess_a")
	mu.Lock()
	defer mu.Unlock()
	equal(t, "operations", seen, map[string]int{"commit": 2, "load": 1})
}
