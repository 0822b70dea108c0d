package outlines

import (
	"context"
	"database/sql"
	"encoding/json"
)

// DB is the database of a Store. Its methods are safe for concurrent use.
type DB interface {
	// View runs fn on a consistent snapshot.
	View(ctx context.Context, op string, fn func(Querier) error) error

	// Write runs a change that is in no hurry, in a transaction of its own.
	Write(ctx context.Context, op string, change func(Tx) error) error

	// Purge runs step, each time in a new transaction, until it returns false.
	Purge(ctx context.Context, step func(Tx) (more bool, err error)) error

	// Vacuum returns free pages to the file system.
	Vacuum(ctx context.Context) error
}

// Querier is a transaction that can read.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tx is a transaction that can write.
type Tx struct {
	Exec func(query string, args ...any) (rows int64, err error) // returns the number of changed rows
}

// each runs a query and calls scan for each row.
func each(ctx context.Context, q Querier, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// notNil returns data, or empty data for nil, which would be NULL.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// asJSON returns keys for a comparison with json_each.
func asJSON(keys []string) (string, error) {
	text, err := json.Marshal(keys)
	return string(text), err
}
