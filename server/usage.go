package server

import (
	"context"
	"strings"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/server/overview"
	"strata/server/wire"
)

// listUsage returns a page of a session's usage log and the sums over the whole log.
func listUsage(p *peer, r *rpc.Request, params wire.UsageParams, size int) {
	r.Go(func(ctx context.Context) (any, error) {
		list := p.store.Calls
		if params.Newest {
			list = p.store.NewestCalls
		}
		calls, next, err := list(ctx, params.SessionID, params.Cursor, size)
		if err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		sums, err := p.store.CallTotals(ctx, params.SessionID)
		if err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		return wire.NewUsagePage(calls, sums, next, p.uncachedCost), nil
	})
}

// usageOverview returns the sums over the calls of all sessions in the days up to today.
func usageOverview(p *peer, r *rpc.Request, params wire.OverviewParams) {
	days, zone, err := params.Period()
	if err != nil {
		r.Fail(err)
		return
	}
	r.Go(func(ctx context.Context) (any, error) {
		times := overview.Days(p.now(), days, zone)
		table := overview.NewTable(times, p.prices(), p.realFolder)
		folders, err := p.store.Folders(ctx)
		if err != nil {
			return nil, err
		}
		p.folders.Look(folders)
		if err := historystore.Spending(ctx, p.store, times[0], times[days], table.Add); err != nil {
			return nil, err
		}
		o := table.Overview()
		o.Budgets, err = p.budgets.States(ctx)
		return o, err
	})
}

// realFolder returns the one spelling of a session's folder, as far as it is known.
func (b *backend) realFolder(cwd string) string {
	real, _ := b.folders.Known(cwd)
	return real
}

// prices returns the present prices. Offline models cost nothing.
func (b *backend) prices() overview.Prices {
	free := make(map[string]bool)
	for _, p := range b.Models.Providers() {
		free[p.Name] = p.Kind == "offline"
	}
	return func(model string, u history.Usage) (uncached float64, known bool) {
		uncached = b.uncachedCost(model, u)
		provider, _, _ := strings.Cut(model, "/")
		return uncached, uncached > 0 || free[provider]
	}
}

// uncachedCost returns the cost of a usage without a prompt cache, in US dollars; 0 if the model has no price.
func (b *backend) uncachedCost(model string, u history.Usage) float64 {
	m, ok := b.Models.Model(model)
	if !ok {
		return 0
	}
	return m.Cost(history.Usage{Input: u.Context(), Output: u.Output})
}
