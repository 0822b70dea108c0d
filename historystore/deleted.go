package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"strata/history"
)

// Bin lists and purges the deleted sessions of a store. It is safe for concurrent use.
type Bin struct{ store *Store }

// NewBin returns the bin of a store.
func NewBin(s *Store) *Bin { return &Bin{store: s} }

// DeletedSession is a session that can be undeleted.
type DeletedSession struct {
	history.Session
	Cost float64 // of its model calls, in US dollars
}

// List returns a page of deleted sessions, most recently deleted first, and the cursor of the next page, empty after the
// last. limit is as in SessionQuery. A bad cursor is ErrCursor. Sessions whose purge has started are not among them.
func (b *Bin) List(ctx context.Context, after string, limit int) (list []DeletedSession, next string, err error) {
	limit = pageLimit(limit)
	from, err := decodeCursor(after, cursor{list: deletedList, n: math.MaxInt64})
	if err == nil {
		err = b.store.view(ctx, "deleted sessions", func(tx *sql.Tx) error {
			list, err = collect(ctx, tx, b.scan, "SELECT "+sessionColumns+`, cost FROM session
				WHERE hidden = 0 AND deleted_at IS NOT NULL AND (deleted_at, id) < (?, ?)
				ORDER BY deleted_at DESC, id DESC LIMIT ?`, from.n, from.id, limit+1)
			return err
		})
	}
	if err != nil {
		return nil, "", fmt.Errorf("list deleted sessions: %w", err)
	}
	list, next = page(list, limit, func(d DeletedSession) cursor { return cursor{deletedList, micros(d.DeletedAt), d.ID} })
	return list, next, nil
}

func (b *Bin) scan(row scanner) (d DeletedSession, err error) {
	d.Session, err = b.store.scanSession(longer{row, &d.Cost})
	return d, err
}

// longer is a row with one more column than its reader knows.
type longer struct {
	row  scanner
	last any
}

// Scan implements scanner.
func (l longer) Scan(columns ...any) error { return l.row.Scan(append(columns, l.last)...) }

// PurgeNext makes a deleted session due for the next Purge. From now on it cannot be undeleted. The error is
// history.ErrNotFound if the session is not deleted or its purge has started.
func (b *Bin) PurgeNext(ctx context.Context, id string) error {
	return b.store.mark(ctx, "purge", id, "UPDATE session SET hidden = 1, deleted_at = 0 WHERE id = ? AND deleted_at IS NOT NULL AND hidden = 0", id)
}
