package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"strata/history"
	"strata/historystore/blobs"
)

// FileChangeStore is the part of a Store that lists the changes of files by tools, and has the contents of these files, the
// images. Commit stores both.
type FileChangeStore struct{ store *Store }

// FileChangeStore returns the file changes of s.
func (s *Store) FileChangeStore() FileChangeStore { return FileChangeStore{s} }

// view runs fn if the session exists.
func (f FileChangeStore) view(ctx context.Context, session string, fn func(tx *sql.Tx) error) error {
	err := f.store.view(ctx, "file changes", func(tx *sql.Tx) error {
		if _, err := f.store.session(ctx, tx, session, "hidden = 0"); err != nil {
			return err
		}
		return fn(tx)
	})
	if err != nil {
		return fmt.Errorf("file changes of session %s: %w", session, err)
	}
	return nil
}

// List returns file changes of a session, oldest first, and which of their contents are stored. Damaged records are omitted.
// The error is history.ErrNotFound if the session does not exist.
func (f FileChangeStore) List(ctx context.Context, session string, q history.FileChangeQuery) (list []history.FileChange, err error) {
	err = f.view(ctx, session, func(tx *sql.Tx) error {
		list, err = blobs.FileChanges(ctx, tx, session, q, f.store.opt.Log)
		return err
	})
	return list, err
}

// ByTurn returns the file changes of a page of turns, newest turn first: of those whose newest change is before a sequence
// number, or of the newest for 0. The changes of a turn are together, oldest first. older is the number of the page of older
// turns, 0 for none. limit is the number of turns, 50 by default and at most 500.
func (f FileChangeStore) ByTurn(ctx context.Context, session string, before int64, limit int) (turns [][]history.FileChange, older int64, err error) {
	if limit = pageLimit(limit); before <= 0 {
		before = math.MaxInt64
	}
	err = f.view(ctx, session, func(tx *sql.Tx) error {
		turns, older, err = blobs.ByTurn(ctx, tx, session, before, limit, f.store.opt.Log)
		return err
	})
	return turns, older, err
}

// Images returns the contents of a session's changed files with the given hashes. Missing ones, and those whose bytes do not
// match the hash, are omitted. They are not cached: callers should ask for few at a time.
func (f FileChangeStore) Images(ctx context.Context, session string, hashes []string) (found map[string][]byte, err error) {
	err = f.view(ctx, session, func(tx *sql.Tx) error {
		found, err = blobs.Images(ctx, tx, session, hashes, f.store.opt.Log)
		return err
	})
	return found, err
}

func (p *prepared) putFileChanges(tx *writeTx) error {
	gone, taken, err := blobs.PutFiles(tx.blobs(), p.Change, p.images)
	if err == nil && taken != "" {
		err = fmt.Errorf("file change %s: %w", taken, ErrDuplicate)
	}
	p.gone = append(p.gone, gone...)
	return err
}
