package historystore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"strata/history"
	"strata/historystore/cache"
	"strata/historystore/disk"
	"strata/historystore/fulltext"
	"strata/historystore/heads"
	"strata/historystore/lock"
)

// Open opens the database at path, or creates it (0600) and its folder (0700).
//
// Only one process can have a database open; others get ErrLocked. The error is ErrDamaged if the header or the schema is
// damaged. The content is checked in the background, as reading it takes time. A database of up to 64 MiB is not changed
// until its content has passed; if it fails, all changes fail with the same error, and Options.OnDamage is called. For a
// larger one, the result is only logged. If the schema has to be migrated, Open waits for the check.
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
		opt: opt, path: path, stop: func() {},
		messages: cache.New[messageKey, history.Message](opt.CacheBytes),
		blobs:    cache.New[string, []byte](blobCacheBytes),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if s.lock, err = lock.Acquire(path); err != nil {
		return nil, err
	}
	found, err := prepareFile(ctx, path, opt.BusyTimeout)
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, found); err != nil {
		return nil, translate(path, err)
	}
	return s, nil
}

// start migrates an outdated database, and starts the check of what was not checked, and the writer.
func (s *Store) start(ctx context.Context, found contents) error {
	db, err := openWriter(s.path, s.opt.BusyTimeout)
	if err != nil {
		return err
	}
	s.writer = &writer{db: db, heads: heads.NewPacker(s.opt.Log)}
	if found.outdated {
		all, err := migrations(migrationFiles)
		if err != nil {
			return err
		}
		if err := migrate(ctx, db, all); err != nil {
			return err
		}
	}
	if s.read, err = openReaders(s.path, s.opt.BusyTimeout, readers); err != nil {
		return err
	}
	if s.present, err = newPresence(s.path, s.opt.Log); err != nil {
		return err
	}
	sound := s.check(found.unchecked)
	s.writer.prepare = func() error { return s.prepareWriter(sound) }
	s.writer.present = s.present.check
	s.writer.queue = make(chan *job, queueLength)
	s.writer.onCommit = s.opt.OnCommit
	s.writer.index = fulltext.NewWorker(s.writer.upkeep, s.opt.indexDelay, s.opt.Log)
	s.done.Go(s.writer.run)
	return nil
}

// check starts the check of size bytes of content, and returns a function that waits until changes are allowed.
func (s *Store) check(size int64) (sound func() error) {
	if size > quickCheckBytes {
		ctx, stop := context.WithCancel(background)
		s.stop = stop
		s.done.Go(func() { s.checkContent(ctx) })
	}
	if size == 0 || size > quickCheckBytes {
		return func() error { return nil }
	}
	result := make(chan error, 1)
	s.done.Go(func() {
		err := s.checkContent(background)
		result <- err
		if err != nil {
			s.opt.OnDamage(err)
		}
	})
	return func() error { return <-result }
}

// checkContent reads the whole database and logs the result, unless ctx has ended.
func (s *Store) checkContent(ctx context.Context) error {
	err := translate(s.path, quickCheck(ctx, s.read, s.path))
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.opt.Log.Error("database check", "err", err)
	default:
		s.opt.Log.Info("database check passed", "path", s.path)
	}
	return err
}

// prepareWriter opens the writer's connection once the content is sound. A damaged database is not opened for writing: that
// would move its log into it.
func (s *Store) prepareWriter(sound func() error) error {
	if err := sound(); err != nil {
		return err
	}
	if err := s.present.check(); err != nil {
		return err
	}
	if err := s.writer.connect(background, s.opt.BusyTimeout); err != nil {
		return err
	}
	if err := dropUnfinishedImports(s.writer.tx, s.opt.Now()); err != nil {
		s.opt.Log.Warn("interrupted imports not marked as deleted, the next start does it", "err", err)
	}
	return s.present.rememberLog()
}
