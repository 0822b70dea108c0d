package server

import (
	"context"
	"strings"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/historystore/spending"
	"strata/server/access"
	"strata/server/budgets"
	"strata/server/overview"
)

// newLedger returns the Ledger of the configured budgets.
func newLedger(store *historystore.Store, opt Options, folders *access.Folders) *budgets.Ledger {
	var limited []string // folders
	for i := range opt.Budgets {
		if folder := opt.Budgets[i].Folder; folder != "" {
			limited = append(limited, folder)
		}
	}
	return budgets.New(opt.Budgets, budgets.Services{
		Spending: func(ctx context.Context, since, until time.Time, add func(spending.Sum)) error {
			folders.Look(limited)
			return historystore.Spending(ctx, store, since, until, add)
		},
		Prices: func() overview.Prices { return pricesOf(opt.Models) }, Holds: folders.Holds,
		Now: func() time.Time { return opt.Host.Now().Local() }, Told: historystore.Warnings{Store: store},
	})
}

// pricesOf returns the present prices. Offline models cost nothing.
func pricesOf(models Models) overview.Prices {
	free := make(map[string]bool)
	for _, p := range models.Providers() {
		free[p.Name] = p.Kind == "offline"
	}
	return func(model string, u history.Usage) (uncached float64, known bool) {
		uncached = uncachedCost(models, model, u)
		provider, _, _ := strings.Cut(model, "/")
		return uncached, uncached > 0 || free[provider]
	}
}

// uncachedCost returns the cost of a usage without a prompt cache, in US dollars; 0 if the model has no price.
func uncachedCost(models Models, model string, u history.Usage) float64 {
	m, ok := models.Model(model)
	if !ok {
		return 0
	}
	return m.Cost(history.Usage{Input: u.Context(), Output: u.Output})
}
