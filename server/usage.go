package server

import (
	"context"

	"strata/history"
	"strata/rpc"
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

// uncachedCost returns the cost of a usage without a prompt cache, in US dollars; 0 if the model has no price.
func (b *backend) uncachedCost(model string, u history.Usage) float64 {
	m, ok := b.Models.Model(model)
	if !ok {
		return 0
	}
	return m.Cost(history.Usage{Input: u.Context(), Output: u.Output})
}
