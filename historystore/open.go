package historystore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"strata/history"
	"strata/historystore/backup"
	"strata/historystore/cache"
	"strata/historystore/database"
	"strata/historystore/disk"
	"strata/historystore/fulltext"
	"strata/historystore/heads"
	"strata/historystore/lock"
	"strata/historystore/schema"
)

// Open opens the database at path, or creates it (0600) and its folder (0700).
//
// Only one process can have a database open; others get ErrLocked. The error is ErrDamaged if the header or the schema is
// damaged. The content is checked before the first change, as reading it takes time. If it is damaged, all changes fail with
// the same error, and Options.OnDamage is called. A database larger than 64 MiB is checked in the background, and the result
// is only logged. If the schema has to be migrated, Open checks the content, keeps a copy of the database, and migrates it in
// one transaction. Open also completes a restore that was interrupted.
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
	if path, err = disk.Resolve(path); err != nil {
		return nil, err
	}
	s := &Store{
		opt: opt, path: path,
		messages: cache.New[messageKey, history.Message](opt.CacheBytes),
		blobs:    cache.New[string, []byte](blobCacheBytes),
	}
	s.closing, s.end = context.WithCancel(background)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if s.lock, err = lock.Acquire(path); err != nil {
		return nil, err
	}
	if _, err := backup.Finish(path); err != nil {
		return nil, err
	}
	by := schema.Program{Version: opt.Version, At: opt.Now()}
	found, err := database.Prepare(ctx, path, opt.BusyTimeout, by)
	if err != nil {
		return nil, backup.Advise(path, err)
	}
	if found.Outdated {
		if err := backup.Keep(ctx, path, found.Schema, opt.Log); err != nil {
			return nil, err
		}
	}
	if err := s.start(ctx, found, by); err != nil {
		return nil, database.Translate(path, err)
	}
	backup.Prune(path, opt.Now(), opt.Log)
	return s, nil
}

// start migrates an outdated database and starts the writer.
func (s *Store) start(ctx context.Context, found database.Contents, by schema.Program) error {
	db, err := database.OpenWriter(s.path, s.opt.BusyTimeout)
	if err != nil {
		return err
	}
	s.writer = &writer{db: db, heads: heads.NewPacker(s.opt.Log)}
	if found.Outdated {
		all, err := schema.Migrations()
		if err != nil {
			return err
		}
		if err := schema.Migrate(ctx, db, all, by); err != nil {
			return err
		}
	}
	if s.read, err = database.OpenReaders(s.path, s.opt.BusyTimeout, readers); err != nil {
		return err
	}
	if s.present, err = newPresence(s.path, s.opt.Log); err != nil {
		return err
	}
	sound := untilKnown(func() error { return s.check(found.Unchecked) })
	s.writer.prepare = func() error { return s.prepareWriter(sound) }
	s.writer.present = s.present.check
	s.writer.queue = make(chan *job, queueLength)
	s.writer.onCommit = s.opt.OnCommit
	s.writer.index = fulltext.NewWorker(s.writer.upkeep, s.opt.indexDelay, s.opt.Log)
	s.done.Go(s.writer.run)
	return nil
}

// prepareWriter opens the writer's connection if the content is sound. A damaged database is not opened for writing: that
// would move its log into it.
func (s *Store) prepareWriter(sound func() error) error {
	if err := s.present.check(); err != nil {
		return err
	}
	if err := sound(); err != nil {
		return err
	}
	if s.writer.tx == nil {
		if err := s.writer.connect(background, s.opt.BusyTimeout); err != nil {
			return err
		}
	}
	if err := dropUnfinishedImports(s.writer.tx, s.opt.Now()); err != nil {
		s.opt.Log.Warn("interrupted imports not marked as deleted, the next start does it", "err", err)
	}
	return s.present.rememberLog()
}

// untilKnown returns a check that is not repeated once it has found the content sound or damaged.
func untilKnown(check func() error) func() error {
	var known bool
	var result error
	return func() error {
		if !known {
			result = check()
			known = result == nil || errors.Is(result, ErrDamaged)
		}
		return result
	}
}

// check checks size bytes of content, in the background if they are many. Only an error of a smaller database is returned.
func (s *Store) check(size int64) error {
	switch {
	case size == 0:
		return nil
	case size > database.QuickCheckBytes:
		s.done.Go(func() { s.checkContent(s.closing) })
		return nil
	}
	err := s.checkContent(background)
	if errors.Is(err, ErrDamaged) {
		s.opt.OnDamage(err)
	}
	return err
}

// checkContent reads the whole database and logs the result, unless ctx has ended.
func (s *Store) checkContent(ctx context.Context) error {
	err := database.Translate(s.path, database.QuickCheck(ctx, s.read, s.path))
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.opt.Log.Error("database check", "err", err)
	default:
		s.opt.Log.Info("database check passed", "path", s.path)
	}
	return err
}

// Check reads the whole database at path through a read-only connection. It returns an error if Open would refuse the
// database, or if it is damaged, which Open detects only later in a large database. Another process may have the
// database open; this process must not, as SQLite's locks end when any file descriptor of the file is closed. The error
// for a missing file wraps os.ErrNotExist.
func Check(ctx context.Context, path string) error {
	return backup.Advise(path, database.Check(ctx, path))
}

// Holder reports whether a process has the database at path open, and its process id, or 0 if that is unknown.
func Holder(path string) (pid int, held bool) {
	path, err := disk.Resolve(path)
	if err != nil {
		return 0, false
	}
	return lock.Holder(path)
}
