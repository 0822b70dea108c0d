// Package past serves the methods of kept requests: it returns the layout of one, and compares two.
package past

import (
	"context"
	"errors"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/llm"
	"strata/server/compare"
	"strata/server/wire"
)

// Requests are the kept requests of a server's sessions. It is safe for concurrent use.
type Requests struct {
	Store *historystore.Store
	Model func(name string) (llm.Model, bool)
	Now   func() time.Time
	Age   time.Duration // how long requests are kept
}

// Get returns the layout of the request of a call.
func (r *Requests) Get(ctx context.Context, params *GetParams) (any, error) {
	if params.MessageID == "" {
		k, err := r.of(ctx, params.SessionID, params.CallID)
		if err != nil {
			return nil, err
		}
		return r.result(&k), nil
	}
	k, err := historystore.RequestsOf(r.Store).OfReply(ctx, params.SessionID, params.MessageID)
	if !errors.Is(err, history.ErrNotFound) {
		return r.result(&k), err
	}
	if _, err := r.Store.Session(ctx, params.SessionID); err != nil {
		return nil, wire.SessionError(params.SessionID, err)
	}
	return GetResult{Reason: NotKept}, nil
}

// of returns a call of a session, with its request if that is kept.
func (r *Requests) of(ctx context.Context, session, call string) (historystore.KeptRequest, error) {
	k, err := historystore.RequestsOf(r.Store).Of(ctx, session, call)
	if errors.Is(err, history.ErrNotFound) {
		if _, err := r.Store.Session(ctx, session); err != nil {
			return k, wire.SessionError(session, err)
		}
		return k, wire.NotFound("call", call)
	}
	return k, err
}

func (r *Requests) result(k *historystore.KeptRequest) GetResult {
	result := GetResult{Call: newCall(&k.Call)}
	if k.Request == nil {
		result.Reason = r.missing(k)
		return result
	}
	result.Kept, result.Request = true, newSent(k.Request)
	return result
}

// missing returns why the request of a call is not kept.
func (r *Requests) missing(k *historystore.KeptRequest) string {
	return whyNotKept(k, r.Now(), r.Age)
}

// Compare compares the requests of two calls.
func (r *Requests) Compare(ctx context.Context, params *CompareParams) (any, error) {
	later, err := r.of(ctx, params.SessionID, params.CallID)
	if err != nil {
		return nil, err
	}
	result := CompareResult{Call: newCall(&later.Call)}
	if later.Request == nil {
		result.Reason = r.missing(&later)
		return result, nil
	}
	earlier, err := r.before(ctx, params)
	if errors.Is(err, history.ErrNotFound) {
		result.Reason = NotKeptFirst
		return result, nil
	}
	if err != nil {
		return nil, err
	}
	result.With = newCall(&earlier.Call)
	if earlier.Request == nil {
		result.Reason = r.missing(&earlier)
		return result, nil
	}
	edits, err := historystore.RequestsOf(r.Store).EditsBetween(ctx, params.SessionID, earlier.Request.Seq, later.Request.Seq)
	if err != nil {
		return nil, err
	}
	compared := compare.Requests(earlier.Request, later.Request, edits)
	model, _ := r.Model(later.Call.Model)
	result.Kept, result.Comparison, result.Anew = true, &compared, newAnew(&later.Call, &model, compared.After)
	return result, nil
}

// before returns the call with which one is compared.
func (r *Requests) before(ctx context.Context, params *CompareParams) (historystore.KeptRequest, error) {
	if params.With != "" {
		return r.of(ctx, params.SessionID, params.With)
	}
	return historystore.RequestsOf(r.Store).Before(ctx, params.SessionID, params.CallID)
}
