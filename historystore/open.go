package historystore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"strata/history"
	"strata/historystore/disk"
	"strata/historystore/fulltext"
	"strata/historystore/heads"
	"strata/historystore/lock"
)

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
	if path, err = disk.Resolve(path); err != nil {
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
	if s.lock, err = lock.Acquire(path); err != nil {
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
	s.writer = &writer{db: db, heads: heads.NewPacker(s.opt.Log)}
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
	if err := s.writer.connect(ctx, s.opt.BusyTimeout); err != nil {
		return err
	}
	if s.read, err = openReaders(s.path, s.opt.BusyTimeout, readers); err != nil {
		return err
	}
	if s.present, err = newPresence(s.path, s.opt.Log); err != nil {
		return err
	}
	s.writer.present = s.present.check
	s.writer.queue = make(chan *job, queueLength)
	s.writer.onCommit = s.opt.OnCommit
	s.writer.index = fulltext.NewWorker(s.writer.upkeep, s.opt.indexDelay, s.opt.Log)
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
