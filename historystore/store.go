package historystore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"strata/history"
)

const (
	defaultCacheBytes  = 64 << 20
	defaultBusyTimeout = 5 * time.Second

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

	// OnCommit is called after each commit with the number of its changes. It runs on the writer's goroutine and delays
	// the next commit.
	OnCommit func(changes int)

	// Observe is called after each operation with its name (load, commit, search, …) and duration.
	Observe func(op string, took time.Duration)
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
		o.BusyTimeout = defaultBusyTimeout
	}
	if o.OnCommit == nil {
		o.OnCommit = func(int) {}
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	return o
}

// Store is an open database. Its methods are safe for concurrent use.
//
// It owns a goroutine that writes and, for a large database, one that checks it. Close waits for both.
type Store struct {
	opt      Options
	path     string
	lock     *fileLock
	read     *sql.DB
	writer   *writer
	messages *cache[messageKey, history.Message]
	blobs    *cache[string, []byte] // by hash

	stop context.CancelFunc // ends the background check
	done sync.WaitGroup

	// Every operation holds a read lock of mu while it runs. Close takes the write lock to wait for all of them.
	mu     sync.RWMutex
	closed bool
}

// Open opens the database at path, or creates it (0600) and its folder (0700).
//
// Only one process can have a database open; others get ErrLocked. The error is ErrDamaged if the file is damaged; Open
// does not change such a file. Open checks a database of up to 64 MiB completely. For a larger one it checks the header
// and the schema version, and then the content in the background; the result is logged.
// Imports that were interrupted by a crash are marked as deleted.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	s, err := open(ctx, path, opt.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, path string, opt Options) (_ *Store, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if path, err = resolve(path); err != nil {
		return nil, err
	}
	s := &Store{
		opt: opt, path: path, stop: func() {},
		messages: newCache[messageKey, history.Message](opt.CacheBytes),
		blobs:    newCache[string, []byte](blobCacheBytes),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if s.lock, err = acquireLock(path); err != nil {
		return nil, err
	}
	size, err := prepareFile(ctx, path, opt.BusyTimeout)
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, translate(path, err)
	}
	if size > quickCheckBytes {
		s.checkInBackground()
	}
	return s, nil
}

// start opens the connections, migrates the database and starts the writer.
func (s *Store) start(ctx context.Context) error {
	db, err := openWriter(s.path, s.opt.BusyTimeout)
	if err != nil {
		return err
	}
	s.writer = &writer{db: db}
	all, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	if err := migrate(ctx, db, all); err != nil {
		return err
	}
	if err := dropUnfinishedImports(ctx, db, s.opt.Now()); err != nil {
		return err
	}
	if err := s.writer.connect(ctx); err != nil {
		return err
	}
	if s.read, err = openReaders(s.path, s.opt.BusyTimeout, readers); err != nil {
		return err
	}
	s.writer.queue = make(chan *job, queueLength)
	s.writer.onCommit = s.opt.OnCommit
	s.done.Go(s.writer.run)
	return nil
}

func (s *Store) checkInBackground() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.done.Go(func() {
		err := translate(s.path, quickCheck(ctx, s.read, s.path))
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.opt.Log.Error("database check", "err", err)
		default:
			s.opt.Log.Info("database check passed", "path", s.path)
		}
	})
}

// Close waits for running operations, writes the queued changes and releases the lock.
// Later calls have no effect.
func (s *Store) Close() error {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if err := s.release(); err != nil {
		return fmt.Errorf("close database: %w", translate(s.path, err))
	}
	return nil
}

// release ends everything that open has started. It closes the writer's connection last, which moves the write-ahead log
// into the database.
func (s *Store) release() error {
	var errs []error
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
		errs = append(errs, s.lock.release())
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

// view runs fn on a consistent snapshot of the database.
func (s *Store) view(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	leave, err := s.enter(op)
	if err != nil {
		return err
	}
	defer leave()
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil {
		err = fn(tx)
		tx.Rollback()
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return translate(s.path, err)
}

// Stats are the sizes of a store.
type Stats struct {
	Path     string
	Bytes    int64 // of the database file
	WALBytes int64 // of the write-ahead log
	Sessions int   // including deleted ones that are not purged
	Messages int   // of those sessions
}

// Stats returns the current sizes.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Path: s.path}
	err := s.view(ctx, "stats", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(messages), 0) FROM session").Scan(&stats.Sessions, &stats.Messages)
	})
	if err == nil {
		stats.Bytes, err = fileSize(s.path)
	}
	if err == nil {
		stats.WALBytes, err = fileSize(s.path + "-wal")
	}
	if err != nil {
		return Stats{}, fmt.Errorf("database stats: %w", err)
	}
	return stats, nil
}

// fileSize returns the size of a file in bytes, 0 if it does not exist.
func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Calibrations returns the stored calibrations, sorted by model.
func (s *Store) Calibrations(ctx context.Context) ([]history.Calibration, error) {
	var all []history.Calibration
	err := s.view(ctx, "calibrations", func(tx *sql.Tx) (err error) {
		all, err = collect(ctx, tx, func(row scanner) (c history.Calibration, err error) {
			err = row.Scan(&c.Model, &c.Ratio, &c.Weight)
			return c, err
		}, "SELECT model, ratio, weight FROM calibration ORDER BY model")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	return all, nil
}
