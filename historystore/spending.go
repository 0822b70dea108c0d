package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"strata/historystore/spending"
)

// Spending calls add for the sums of the model calls of all sessions of a store between two times, from one snapshot. See
// spending.Read.
func Spending(ctx context.Context, s *Store, since, until time.Time, add func(spending.Sum)) error {
	err := s.view(ctx, "spending", func(tx *sql.Tx) error { return spending.Read(ctx, tx, since, until, add) })
	if err != nil {
		return fmt.Errorf("add up the calls of all sessions: %w", err)
	}
	return nil
}
