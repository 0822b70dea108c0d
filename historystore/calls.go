package historystore

import (
	"context"
	"database/sql"
	"fmt"

	"strata/history"
)

// Calls returns a page of a session's usage log, in the order in which it was written, and the cursor of the next
// page, empty after the last. limit is 50 by default and at most 500.
func (s *Store) Calls(ctx context.Context, session, from string, limit int) (list []history.Call, next string, err error) {
	limit = pageLimit(limit)
	after, err := decodeCursor(from, cursor{list: callList})
	if err != nil {
		return nil, "", fmt.Errorf("list calls of session %s: %w", session, err)
	}
	var rows []callRow
	err = s.view(ctx, "calls", func(tx *sql.Tx) error {
		if _, err := s.session(ctx, tx, session, "hidden = 0"); err != nil {
			return err
		}
		rows, err = collect(ctx, tx, s.scanCall, `SELECT rowid, id, turn, purpose, model, input, output, cache_read, cache_write, cost, expected, categories, at
			FROM usage WHERE session = ? AND rowid > ? ORDER BY rowid LIMIT ?`, session, after.n, limit+1)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list calls of session %s: %w", session, err)
	}
	rows, next = page(rows, limit, func(r callRow) cursor { return cursor{list: callList, n: r.rowid} })
	for _, r := range rows {
		list = append(list, r.Call)
	}
	return list, next, nil
}

type callRow struct {
	history.Call
	rowid int64
}

func (s *Store) scanCall(row scanner) (r callRow, err error) {
	var categories string
	var at int64
	err = row.Scan(&r.rowid, &r.ID, &r.Turn, &r.Purpose, &r.Model,
		&r.Usage.Input, &r.Usage.Output, &r.Usage.CacheRead, &r.Usage.CacheWrite, &r.Cost, &r.Expected, &categories, &at)
	r.At = fromMicros(at)
	s.decode("call", r.ID, categories, &r.Categories)
	return r, err
}
