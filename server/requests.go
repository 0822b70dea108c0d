package server

import (
	"context"

	"strata/rpc"
	"strata/server/past"
	"strata/server/wire"
)

func (b *backend) requests() *past.Requests {
	return &past.Requests{Store: b.store, Model: b.Models.Model, Now: b.now, Age: b.RequestAge}
}

// getRequest returns how the request of a call was laid out.
func getRequest(p *peer, r *rpc.Request, _ wire.RequestParams, params *wire.RequestParams) {
	r.Go(func(ctx context.Context) (any, error) { return p.requests().Get(ctx, params) })
}

// compareRequests compares the requests of two calls.
func compareRequests(p *peer, r *rpc.Request, params wire.CompareParams) {
	r.Go(func(ctx context.Context) (any, error) { return p.requests().Compare(ctx, &params) })
}
