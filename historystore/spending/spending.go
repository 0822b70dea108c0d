// Package spending reads the sums of the model calls of all sessions.
//
// It must never read the calls themselves: a year of them is added up while a page loads.
package spending

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"strata/history"
)

// Grain is the period of one Sum. The days of all time zones begin at a multiple of it.
const Grain = 15 * time.Minute

// Sum is the usage of the calls of one session with one model within Grain.
type Sum struct {
	At      time.Time // beginning of the period
	Session string
	Title   string // of the session; empty for none
	CWD     string // of the session
	Deleted bool   // the session can be undeleted
	Model   string // provider/model
	history.Totals
	Expected int // tokens that were expected to be read from the cache
	Free     int // calls with tokens and a cost of 0
	Failed   int // calls that failed
	Stopped  int // calls that were stopped
}

// Querier is a transaction that can read.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A session is looked up by its id and the time: SQLite keeps the order of a CROSS JOIN.
const query = `SELECT session.id, session.title, session.cwd, session.deleted_at IS NOT NULL,
		quarter, model, spending.calls, spending.input, spending.output, spending.cache_read, spending.cache_write, spending.cost, expected, free, failed, stopped
	FROM session CROSS JOIN spending ON spending.session = session.id AND quarter >= ? AND quarter < ?
	WHERE session.hidden = 0`

// Read calls add for each sum between two times, which are multiples of Grain. Deleted sessions count until they are
// purged. A fork has no calls of its origin.
func Read(ctx context.Context, from Querier, since, until time.Time, add func(Sum)) error {
	rows, err := from.QueryContext(ctx, query, quarter(since), quarter(until))
	if err != nil {
		return err
	}
	defer rows.Close()
	var s Sum
	var at, input, output, read, written int64
	for rows.Next() {
		if err := rows.Scan(&s.Session, &s.Title, &s.CWD, &s.Deleted,
			&at, &s.Model, &s.Calls, &input, &output, &read, &written, &s.Cost, &s.Expected, &s.Free, &s.Failed, &s.Stopped); err != nil {
			return fmt.Errorf("sum of calls: %w", err)
		}
		s.At = history.StoredTime(at * Grain.Microseconds())
		s.Usage = history.Usage{Input: int(input), Output: int(output), CacheRead: int(read), CacheWrite: int(written)}
		add(s)
	}
	return rows.Err()
}

func quarter(t time.Time) int64 { return t.UnixMicro() / Grain.Microseconds() }
