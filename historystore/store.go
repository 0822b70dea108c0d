package historystore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"strata/history"
	"strata/historystore/cache"
	"strata/historystore/database"
	"strata/historystore/lock"
	"strata/historystore/requests"
)

// MaxFileImageBytes is the maximum size of the images of a session's changed files.
const MaxFileImageBytes = 256 << 20

const (
	defaultCacheBytes = 64 << 20

	// blobCacheBytes bounds the cached blobs: enough for about fifty layouts of half a megabyte each.
	blobCacheBytes = 32 << 20

	// readers is the maximum number of concurrent reads; more reads wait.
	readers = 4
)

// Options configure a store. A zero field means its default.
type Options struct {
	Log         *slog.Logger     // default: no logging
	Now         func() time.Time // default: time.Now
	CacheBytes  int              // maximum size of the decoded messages in memory, default 64 MiB
	BusyTimeout time.Duration    // maximum wait for another process's lock, default 5 s
	Version     string           // of the program, for the database and for errors of older programs

	// OnCommit is called after each commit with the number of its changes. It runs on the writer's goroutine and delays
	// the next commit.
	OnCommit func(changes int)

	// OnDamage is called if the check of the content finds damage. All changes fail then.
	OnDamage func(error)

	// Observe is called after each operation with its name (load, commit, search, …) and duration.
	Observe func(op string, took time.Duration)

	indexDelay time.Duration // default indexDelay
	imageBytes int64         // maximum size of a session's images, default MaxFileImageBytes
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = database.DefaultBusyTimeout
	}
	if o.indexDelay == 0 {
		o.indexDelay = indexDelay
	}
	if o.imageBytes == 0 {
		o.imageBytes = MaxFileImageBytes
	}
	if o.OnCommit == nil {
		o.OnCommit = func(int) {}
	}
	if o.OnDamage == nil {
		o.OnDamage = func(error) {}
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	return o
}

// Store is an open database. Its methods are safe for concurrent use.
//
// It owns the goroutine of the writer, and one that checks a large database. Close waits for both.
type Store struct {
	opt      Options
	path     string
	lock     *lock.Lock
	present  *presence
	read     *sql.DB
	writer   *writer
	messages *cache.Cache[messageKey, history.Message]
	blobs    *cache.Cache[string, []byte] // by hash
	bases    requests.Bases

	closing context.Context    // ends with the store
	end     context.CancelFunc // ends closing
	done    sync.WaitGroup

	// Every operation holds a read lock of mu while it runs. Close takes the write lock to wait for all of them.
	mu     sync.RWMutex
	closed bool
}

// Files returns the paths of the files of the open database. Some of them exist only at times.
func (s *Store) Files() []string {
	return []string{s.path, s.path + "-wal", s.path + "-shm", s.path + "-journal", lock.Path(s.path)}
}

// Close waits for running operations, writes the queued changes and releases the lock.
// Later calls have no effect.
func (s *Store) Close() error {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if err := s.release(); err != nil {
		return fmt.Errorf("close database: %w", database.Translate(s.path, err))
	}
	return nil
}

// release ends everything that open has started. It closes the writer's connection last, which moves the write-ahead log
// into the database.
func (s *Store) release() error {
	var errs []error
	s.end()
	if s.writer != nil && s.writer.queue != nil {
		close(s.writer.queue)
	}
	s.done.Wait()
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Release())
	}
	return errors.Join(errs...)
}

// enter starts an operation. The caller must call leave at its end.
func (s *Store) enter(op string) (leave func(), err error) {
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return nil, ErrClosed
	}
	start := time.Now()
	return func() {
		s.opt.Observe(op, time.Since(start))
		s.mu.RUnlock()
	}, nil
}

// view runs fn on a consistent snapshot of the database. If the file is gone, it reads as long as a connection is open.
func (s *Store) view(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	leave, err := s.enter(op)
	if err != nil {
		return err
	}
	defer leave()
	gone := s.present.check()
	if errors.Is(gone, errReplaced) {
		return gone
	}
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil {
		err = fn(tx)
		tx.Rollback()
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	err = database.Translate(s.path, err)
	if gone != nil && err != nil && !errors.Is(err, history.ErrNotFound) {
		return gone
	}
	return err
}

// write queues a change and waits for its result. If ctx ends while the change is queued, write withdraws the change and
// returns the error of ctx; after the writer has taken it, write returns its result. On error nothing was stored.
func (s *Store) write(ctx context.Context, op string, kinds []string, apply func(tx *writeTx) error) error {
	return s.run(ctx, op, &job{kinds: kinds, apply: apply})
}

func (s *Store) run(ctx context.Context, op string, j *job) error {
	leave, err := s.enter(op)
	if err != nil {
		return err
	}
	defer leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	j.done = make(chan error, 1)
	select {
	case s.writer.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err = <-j.done:
	case <-ctx.Done():
		if j.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err()
		}
		err = <-j.done
	}
	return database.Translate(s.path, err)
}
