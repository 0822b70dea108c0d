// Package blobs stores bytes by their hash, and what refers to them: layouts, with the rendered entries of requests, and
// changes of files by tools, with the contents of these files.
//
// A blob without a reference must never remain.
package blobs

import (
	"context"
	"database/sql"
)

// Querier is a transaction that can read.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tx is a transaction that can write.
type Tx struct {
	Querier
	Exec func(query string, args ...any) (rows int64, err error) // returns the number of changed rows
}

// background is the context of statements in a transaction that writes, as nothing may interrupt it.
var background = context.Background()

// scanner is a result row.
type scanner = interface{ Scan(dest ...any) error }

// collect runs query and returns the result of scan for each row.
func collect[T any](ctx context.Context, q Querier, scan func(scanner) (T, error), query string, args ...any) (all []T, err error) {
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

// scanOne scans a row with one column.
func scanOne[T any](row scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}
