// Package finding finds messages in the full-text index, and what the index does not hold: sessions by their titles and
// folders, and a text within the messages of one session. For these it reads the rows themselves, within bounds.
package finding

import (
	"context"
	"database/sql"
)

// Querier is a transaction that can read.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each runs a query and calls scan for each row until it returns false.
func each(ctx context.Context, q Querier, scan func(*sql.Rows) (more bool, err error), query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := scan(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
