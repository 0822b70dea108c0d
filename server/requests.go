package server

import (
	"context"
	"errors"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/server/compare"
	"strata/server/wire"
)

// getRequest returns how the request of a call was laid out.
func getRequest(p *peer, r *rpc.Request, params wire.RequestParams, _ *wire.RequestParams) {
	r.Go(func(ctx context.Context) (any, error) {
		if params.MessageID == "" {
			k, err := p.keptRequest(ctx, params.SessionID, params.CallID)
			if err != nil {
				return nil, err
			}
			return p.requestResult(&k), nil
		}
		k, err := p.store.RequestStore().OfReply(ctx, params.SessionID, params.MessageID)
		if !errors.Is(err, history.ErrNotFound) {
			return p.requestResult(&k), err
		}
		if _, err := p.store.Session(ctx, params.SessionID); err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		return wire.RequestResult{Reason: wire.NotKept}, nil
	})
}

// keptRequest returns a call of a session, with its request if that is kept.
func (b *backend) keptRequest(ctx context.Context, session, call string) (historystore.KeptRequest, error) {
	k, err := b.store.RequestStore().Of(ctx, session, call)
	if errors.Is(err, history.ErrNotFound) {
		if _, err := b.store.Session(ctx, session); err != nil {
			return k, wire.SessionError(session, err)
		}
		return k, wire.NotFound("call", call)
	}
	return k, err
}

func (b *backend) requestResult(k *historystore.KeptRequest) wire.RequestResult {
	result := wire.RequestResult{Call: wire.NewRequestCall(&k.Call)}
	if k.Request == nil {
		result.Reason = wire.WhyNotKept(k, b.now(), b.RequestAge)
		return result
	}
	result.Kept, result.Request = true, wire.NewSentRequest(k.Request)
	return result
}

// compareRequests compares the requests of two calls.
func compareRequests(p *peer, r *rpc.Request, params wire.CompareParams) {
	r.Go(func(ctx context.Context) (any, error) { return p.compareRequests(ctx, &params) })
}

func (b *backend) compareRequests(ctx context.Context, params *wire.CompareParams) (any, error) {
	later, err := b.keptRequest(ctx, params.SessionID, params.CallID)
	if err != nil {
		return nil, err
	}
	result := wire.CompareResult{Call: wire.NewRequestCall(&later.Call)}
	if later.Request == nil {
		result.Reason = wire.WhyNotKept(&later, b.now(), b.RequestAge)
		return result, nil
	}
	earlier, err := b.requestBefore(ctx, params)
	if errors.Is(err, history.ErrNotFound) {
		result.Reason = wire.NotKeptFirst
		return result, nil
	}
	if err != nil {
		return nil, err
	}
	result.With = wire.NewRequestCall(&earlier.Call)
	if earlier.Request == nil {
		result.Reason = wire.WhyNotKept(&earlier, b.now(), b.RequestAge)
		return result, nil
	}
	edits, err := b.store.RequestStore().EditsBetween(ctx, params.SessionID, earlier.Request.Seq, later.Request.Seq)
	if err != nil {
		return nil, err
	}
	compared := compare.Requests(earlier.Request, later.Request, edits)
	model, _ := b.Models.Model(later.Call.Model)
	result.Kept, result.Comparison, result.Anew = true, &compared, wire.NewAnew(&later.Call, &model, compared.After)
	return result, nil
}

// requestBefore returns the call with which one is compared.
func (b *backend) requestBefore(ctx context.Context, params *wire.CompareParams) (historystore.KeptRequest, error) {
	if params.With != "" {
		return b.keptRequest(ctx, params.SessionID, params.With)
	}
	return b.store.RequestStore().Before(ctx, params.SessionID, params.CallID)
}
