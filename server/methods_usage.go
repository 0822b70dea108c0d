package server

import (
	"context"
	"time"

	"strata/history"
	"strata/rpc"
)

type usageParams struct {
	historyParams
	Newest bool `json:"newest"` // begin with the newest page
}

// wireCall is one row of the usage log.
type wireCall struct {
	ID      string `json:"callId"`
	TurnID  string `json:"turnId,omitempty"`
	Purpose string `json:"purpose"`
	Model   string `json:"model"`
	history.Usage
	Cost       float64        `json:"cost"`                // US dollars
	Estimated  bool           `json:"estimated,omitempty"` // the provider did not tell all of it: it was counted
	Uncached   float64        `json:"uncachedCost"`        // what it would have cost without a cache, at the model's present price
	Expected   int            `json:"expectedCacheRead"`   // tokens that were expected to be read from the cache
	Categories map[string]int `json:"categories,omitempty"`
	Documents  map[string]int `json:"documents,omitempty"` // by name
	Phase      string         `json:"phase,omitempty"`
	At         time.Time      `json:"at"`
}

// wireUsageTotals are the sums over the whole usage log.
type wireUsageTotals struct {
	history.Totals
	Uncached float64 `json:"uncachedCost"`
	Expected int     `json:"expectedCacheRead"`
}

type usagePage struct {
	Calls      []wireCall      `json:"calls"`
	Totals     wireUsageTotals `json:"totals"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

func listUsage(p *peer, r *rpc.Request, params usageParams) {
	limit, err := params.limit()
	if err != nil {
		r.Fail(err)
		return
	}
	r.Go(func(ctx context.Context) (any, error) {
		page, err := p.server.usage(ctx, params, limit)
		if err != nil {
			return nil, sessionError(clip(params.SessionID), err)
		}
		return page, nil
	})
}

// usage returns a page of a session's usage log and the sums over all of it.
func (s *Server) usage(ctx context.Context, params usageParams, limit int) (page usagePage, err error) {
	list := s.store.Calls
	if params.Newest {
		list = s.store.NewestCalls
	}
	calls, next, err := list(ctx, params.SessionID, params.Cursor, limit)
	if err != nil {
		return page, err
	}
	sums, err := s.store.CallTotals(ctx, params.SessionID)
	if err != nil {
		return page, err
	}
	page.Calls, page.NextCursor = make([]wireCall, len(calls)), next
	for i, c := range calls {
		page.Calls[i] = wireCall{
			ID: c.ID, TurnID: c.Turn, Purpose: c.Purpose, Model: c.Model, Usage: c.Usage, Cost: c.Cost, Estimated: c.Estimated,
			Uncached: s.uncachedCost(c.Model, c.Usage), Expected: c.Expected, Categories: c.Categories, Documents: c.Documents, Phase: c.Phase, At: c.At,
		}
	}
	for _, sum := range sums {
		t := &page.Totals
		t.Calls, t.Usage, t.Cost = t.Calls+sum.Calls, t.Usage.Add(sum.Usage), t.Cost+sum.Cost
		t.Uncached, t.Expected = t.Uncached+s.uncachedCost(sum.Model, sum.Usage), t.Expected+sum.Expected
	}
	return page, nil
}

// uncachedCost is what a usage would have cost without a prompt cache, in US dollars; 0 where the model has no price.
func (s *Server) uncachedCost(model string, u history.Usage) float64 {
	m, ok := s.opt.Sessions.Model(model)
	if !ok {
		return 0
	}
	return m.Cost(history.Usage{Input: u.Context(), Output: u.Output})
}
