package server

import (
	"context"

	"strata/rpc"
	"strata/server/past"
)

func (b *backend) requests() *past.Requests {
	return &past.Requests{Store: b.store, Model: b.Models.Model, Now: b.now, Age: b.RequestAge}
}

// getRequest returns the layout of the request of a call.
func getRequest(p *peer, r *rpc.Request, _ past.GetParams, params *past.GetParams) {
	r.Go(func(ctx context.Context) (any, error) { return p.requests().Get(ctx, params) })
}

// compareRequests compares the requests of two calls.
func compareRequests(p *peer, r *rpc.Request, params past.CompareParams) {
	r.Go(func(ctx context.Context) (any, error) { return p.requests().Compare(ctx, &params) })
}
