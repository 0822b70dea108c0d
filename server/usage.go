package server

import (
	"context"

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
		return wire.NewUsagePage(calls, sums, next, func(model string, u history.Usage) float64 { return uncachedCost(p.Models, model, u) }), nil
	})
}

// usageOverview returns the sums over the calls of all sessions in the days up to today.
func usageOverview(p *peer, r *rpc.Request, params overview.Params) {
	days, zone, err := params.Period()
	if err != nil {
		r.Fail(err)
		return
	}
	r.Go(func(ctx context.Context) (any, error) {
		times := overview.Days(p.now(), days, zone)
		table := overview.NewTable(times, pricesOf(p.Models), func(cwd string) string {
			real, _ := p.folders.Known(cwd)
			return real
		})
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
