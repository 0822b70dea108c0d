package spending

import (
	"context"
	"fmt"
	"time"

	"strata/history"
)

// Warned is the newest warning about a budget.
type Warned struct {
	Since  time.Time // beginning of its period
	Event  int       // number of thresholds that clients were told
	Notice int       // number of thresholds that a session was told
}

// Warnings returns the newest warnings about all budgets, by budget.
func Warnings(ctx context.Context, from Querier) (map[string]Warned, error) {
	rows, err := from.QueryContext(ctx, "SELECT budget, since, event, notice FROM budget_warning")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[string]Warned)
	for rows.Next() {
		var budget string
		var since int64
		var w Warned
		if err := rows.Scan(&budget, &since, &w.Event, &w.Notice); err != nil {
			return nil, fmt.Errorf("warning about a budget: %w", err)
		}
		w.Since = history.StoredTime(since)
		all[budget] = w
	}
	return all, rows.Err()
}
