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

// warningRetention is how long the warnings about budgets that are no longer configured are kept: longer than any period.
const warningRetention = 62 * 24 * time.Hour

// Warnings are the warnings about budgets that a store remembers. They are safe for concurrent use.
type Warnings struct{ Store *Store }

// Warnings returns the newest warnings about all budgets, by budget.
func (w Warnings) Warnings(ctx context.Context) (all map[string]spending.Warned, err error) {
	err = w.Store.view(ctx, "warnings", func(tx *sql.Tx) error {
		all, err = spending.Warnings(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list warnings: %w", err)
	}
	return all, nil
}

// SetWarning stores the newest warning about a budget, and deletes those that are old.
func (w Warnings) SetWarning(ctx context.Context, budget string, warned spending.Warned) error {
	err := w.Store.write(ctx, "warning", []string{"warning"}, func(tx *writeTx) error {
		if _, err := tx.exec("DELETE FROM budget_warning WHERE since < ?", micros(warned.Since.Add(-warningRetention))); err != nil {
			return err
		}
		_, err := tx.exec("INSERT OR REPLACE INTO budget_warning VALUES (?, ?, ?, ?)", budget, micros(warned.Since), warned.Event, warned.Notice)
		return err
	})
	if err != nil {
		return fmt.Errorf("store warning: %w", err)
	}
	return nil
}
