package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"strata/history"
)

// Calls returns a page of a session's usage log, oldest first, and the cursor of the next page, empty after the last.
// limit is 50 by default and at most 500. A bad cursor is ErrCursor.
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
		rows, err = collect(ctx, tx, s.scanCall, callsAt(">", "ASC"), session, after.n, limit+1)
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

// NewestCalls is like Calls, but starts with the newest page, and each cursor leads to an older page. Within a page the
// oldest call is first.
func (s *Store) NewestCalls(ctx context.Context, session, from string, limit int) (list []history.Call, next string, err error) {
	limit = pageLimit(limit)
	before, err := decodeCursor(from, cursor{list: newestCalls, n: math.MaxInt64})
	if err != nil {
		return nil, "", fmt.Errorf("list newest calls of session %s: %w", session, err)
	}
	var rows []callRow
	err = s.view(ctx, "newest calls", func(tx *sql.Tx) error {
		if _, err := s.session(ctx, tx, session, "hidden = 0"); err != nil {
			return err
		}
		rows, err = collect(ctx, tx, s.scanCall, callsAt("<", "DESC"), session, before.n, limit+1)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list newest calls of session %s: %w", session, err)
	}
	rows, next = page(rows, limit, func(r callRow) cursor { return cursor{list: newestCalls, n: r.rowid} })
	slices.Reverse(rows)
	for _, r := range rows {
		list = append(list, r.Call)
	}
	return list, next, nil
}

// ModelTotals are the sums over a session's calls to one model.
type ModelTotals struct {
	Model string // provider/model
	history.Totals
	Expected int // tokens expected to be read from the cache
	Stopped  int // of the calls
	Failed   int // likewise
}

// CallTotals returns the sums of a session's usage log by model, sorted by model name.
func (s *Store) CallTotals(ctx context.Context, session string) (sums []ModelTotals, err error) {
	err = s.view(ctx, "call totals", func(tx *sql.Tx) error {
		if _, err := s.session(ctx, tx, session, "hidden = 0"); err != nil {
			return err
		}
		sums, err = collect(ctx, tx, scanModelTotals, `SELECT model, count(*), `+sumOf("input")+`, `+sumOf("output")+`, `+sumOf("cache_read")+`, `+sumOf("cache_write")+`,
			sum(cost), `+sumOf("expected")+`, sum(status = 'stopped'), sum(status = 'failed')
			FROM usage WHERE session = ? GROUP BY model ORDER BY model`, session)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("add up calls of session %s: %w", session, err)
	}
	return sums, nil
}

func scanModelTotals(row scanner) (t ModelTotals, err error) {
	u := &t.Usage
	err = row.Scan(&t.Model, &t.Calls, &u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &t.Cost, &t.Expected, &t.Stopped, &t.Failed)
	return t, err
}

const callColumns = "SELECT rowid, id, turn, step, purpose, model, input, output, cache_read, cache_write, cost, estimated, expected, categories, documents, phase, at, status, attempts, failure, duration, first_token "

// callsAt returns the query of a page that is before or after a row id. The row ids come from the index, so that only the
// rows of the page are read.
func callsAt(side, order string) string {
	return callColumns + `FROM usage WHERE rowid IN (
			SELECT rowid FROM usage INDEXED BY sqlite_autoindex_usage_1 WHERE session = ? AND rowid ` + side + ` ? ORDER BY rowid ` + order + ` LIMIT ?)
		ORDER BY rowid ` + order
}

type callRow struct {
	history.Call
	rowid int64
}

func (s *Store) scanCall(row scanner) (r callRow, err error) {
	var categories, documents, failure string
	var at int64
	err = row.Scan(&r.rowid, &r.ID, &r.Turn, &r.Step, &r.Purpose, &r.Model,
		&r.Usage.Input, &r.Usage.Output, &r.Usage.CacheRead, &r.Usage.CacheWrite, &r.Cost, &r.Estimated, &r.Expected, &categories, &documents, &r.Phase, &at,
		&r.Status, &r.Attempts, &failure, &r.Duration, &r.FirstToken)
	r.At = fromMicros(at)
	s.decode("call", r.ID, categories, &r.Categories)
	s.decode("call", r.ID, documents, &r.Documents)
	s.decode("call", r.ID, failure, &r.Failure)
	return r, err
}

// insertCalls inserts calls and adds them to the totals of their session.
func (p *prepared) insertCalls(tx *writeTx) error {
	if len(p.Calls) == 0 {
		return nil
	}
	var sum history.Usage
	var cost float64
	for i := range p.Calls {
		c := &p.Calls[i]
		sum, cost = sum.Add(c.Usage), cost+c.Cost
		categories, err := asJSON(c.Categories)
		if err != nil {
			return err
		}
		documents, err := asJSON(c.Documents)
		if err != nil {
			return err
		}
		failure := ""
		if c.Failure != nil {
			if failure, err = asJSON(c.Failure); err != nil {
				return err
			}
		}
		status, attempts := c.Ended()
		if _, err := tx.exec(`INSERT INTO usage (session, id, turn, step, purpose, model, input, output, cache_read, cache_write, cost, estimated, expected, categories, documents, phase, at,
				status, attempts, failure, duration, first_token)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			p.Session, c.ID, c.Turn, c.Step, c.Purpose, c.Model,
			c.Usage.Input, c.Usage.Output, c.Usage.CacheRead, c.Usage.CacheWrite, c.Cost, c.Estimated, c.Expected, categories, documents, c.Phase, micros(c.At),
			status, attempts, failure, c.Duration, c.FirstToken); err != nil {
			return err
		}
	}
	return tx.must(`UPDATE session SET calls = calls + ?, input = input + ?, output = output + ?,
		cache_read = cache_read + ?, cache_write = cache_write + ?, cost = cost + ? WHERE id = ?`,
		len(p.Calls), sum.Input, sum.Output, sum.CacheRead, sum.CacheWrite, cost, p.Session)
}
