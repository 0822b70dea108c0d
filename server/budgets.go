package server

import (
	"context"
	"log/slog"
	"time"

	"strata/historystore"
	"strata/historystore/spending"
	"strata/server/budgets"
	"strata/server/wire"
	"strata/session"
)

// newLedger returns the Ledger of the configured budgets.
func newLedger(b *backend) *budgets.Ledger {
	return budgets.New(b.Budgets, budgets.Services{
		Spending: func(ctx context.Context, since, until time.Time, add func(spending.Sum)) error {
			b.lookAtBudgets()
			return historystore.Spending(ctx, b.store, since, until, add)
		},
		Prices: b.prices, Holds: b.folders.Holds, Now: func() time.Time { return b.now().Local() }, Told: historystore.Warnings{Store: b.store},
	})
}

// lookAtBudgets makes the folders of budgets known.
func (b *backend) lookAtBudgets() {
	var folders []string
	for i := range b.Budgets {
		if folder := b.Budgets[i].Folder; folder != "" {
			folders = append(folders, folder)
		}
	}
	b.folders.Look(folders)
}

// watchBudgets warns of budgets that are nearly spent, or exceeded, until ctx ends.
func (b *backend) watchBudgets(ctx context.Context) {
	b.budgets.Run(ctx, func(s wire.BudgetState) {
		b.monitors.send(wire.ServerEvent{Type: "budget", Budget: &s, Text: budgets.Text(&s)})
		for _, id := range b.monitors.working() {
			if s, loaded := b.sessions.get(id); loaded {
				b.warn(s)
			}
		}
	}, func(err error) { b.Log.Warn("budgets not compared", slog.Any("error", err)) })
}

// warn gives a session that runs, or is about to, the warnings that are due in its folder.
func (b *backend) warn(s *session.Session) { s.NotifyIn(b.budgets.Take) }
