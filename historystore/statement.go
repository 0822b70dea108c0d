package historystore

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"modernc.org/sqlite"

	"strata/history"
	"strata/historystore/database"
	"strata/historystore/heads"
)

// writeTx runs statements on the writer's connection and caches them. Their number is bounded by the SQL texts in this
// package.
type writeTx struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	busy  time.Duration // how long a change waits for locks of other processes
	loose bool          // commits are not synced
}

// background is the context of the writer's statements: a caller that gives up must not interrupt a transaction.
// The busy timeout bounds their wait for locks.
var background = context.Background()

func (tx *writeTx) stmt(query string) (*sql.Stmt, error) {
	if stmt := tx.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := tx.conn.PrepareContext(background, query)
	if err == nil {
		tx.stmts[query] = stmt
	}
	return stmt, err
}

// begin starts a transaction. If durable is unset, a power failure can undo it, until the next durable one is committed.
// It then hardly waits for locks, as changes would wait with it. SQLite refuses to change the mode within a transaction, so a
// transaction that could not be ended is never taken for a durable one.
func (tx *writeTx) begin(durable bool) error {
	if tx.loose == durable {
		mode := map[bool]string{true: "FULL", false: "NORMAL"}[durable]
		// Compiling these pragmas runs them, so that their statement cannot be kept.
		if _, err := tx.conn.ExecContext(background, "PRAGMA synchronous("+mode+"); PRAGMA "+tx.patience(durable)); err != nil {
			return err
		}
		tx.loose = !durable
	}
	_, err := tx.exec("BEGIN IMMEDIATE")
	return err
}

// patience returns the pragma that sets how long a transaction waits for locks.
func (tx *writeTx) patience(durable bool) string {
	brief := min(tx.busy, 50*time.Millisecond)
	return database.BusyPragma(map[bool]time.Duration{true: tx.busy, false: brief}[durable])
}

// written returns the number of pages that were written since the last reset.
func (tx *writeTx) written(reset bool) (pages int) {
	// Neither call fails: the connection is SQLite's and has the counter.
	_ = tx.conn.Raw(func(conn any) (err error) {
		pages, _, err = conn.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, reset)
		return err
	})
	return pages
}

// exec runs a statement and returns the number of changed rows.
func (tx *writeTx) exec(query string, args ...any) (rows int64, err error) {
	stmt, err := tx.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(background, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// must runs a statement and returns history.ErrNotFound if it changes no row.
func (tx *writeTx) must(query string, args ...any) error {
	rows, err := tx.exec(query, args...)
	if err == nil && rows == 0 {
		return history.ErrNotFound
	}
	return err
}

func (tx *writeTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := tx.stmt(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (tx *writeTx) close() error {
	for _, stmt := range tx.stmts {
		stmt.Close()
	}
	return tx.conn.Close()
}

// querier is a *sql.Tx or a *writeTx.
type querier = heads.Querier

// scanner is a result row.
type scanner = interface{ Scan(dest ...any) error }

// collect runs query and returns the result of scan for each row.
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// first runs query and returns the result of scan for the first row, or history.ErrNotFound if there is none.
func first[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	all, err := collect(ctx, q, scan, query, args...)
	if err == nil && len(all) == 0 {
		err = history.ErrNotFound
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return all[0], nil
}

// scanOne scans a row with one column.
func scanOne[T any](row scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// sumOf returns the sum of a column with numbers of tokens, 0 for no rows. It is exact up to 2^53. SQLite's sum fails if
// damaged rows exceed 64 bits.
func sumOf(column string) string { return "CAST(total(" + column + ") AS INTEGER)" }

// micros returns the stored form of a time: microseconds since 1970. The zero time is preserved.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(n int64) time.Time { return history.StoredTime(n) }

// orNull returns text, or nil for an empty text, which is stored as NULL.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// notNil returns data, or empty data for nil, which would be NULL.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// asJSON returns v encoded for a JSON column.
func asJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
