package wire

import (
	"time"

	"strata/history"
	"strata/historystore"
)

// UsageParams are the parameters of _strata/usage/list.
type UsageParams struct {
	HistoryParams
	Newest bool `json:"newest"` // start with the newest page
}

// UsagePage is the result of _strata/usage/list.
type UsagePage struct {
	Calls      []Call      `json:"calls"`
	Totals     UsageTotals `json:"totals"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

// Call is a row of the usage log: one call of a model.
type Call struct {
	ID      string `json:"callId"`
	TurnID  string `json:"turnId,omitempty"`
	Step    int    `json:"step,omitempty"` // of the turn, from 1
	Purpose string `json:"purpose"`
	Model   string `json:"model"`
	history.Usage
	Cost       float64        `json:"cost"`                // US dollars
	Estimated  bool           `json:"estimated,omitempty"` // counted, because the provider reported no usage or not all of it
	Uncached   float64        `json:"uncachedCost"`        // the cost without a cache, at the model's present prices
	Expected   int            `json:"expectedCacheRead"`   // tokens that were expected to be read from the cache
	Categories map[string]int `json:"categories,omitempty"`
	Documents  map[string]int `json:"documents,omitempty"` // tokens by name
	Phase      string         `json:"phase,omitempty"`
	At         time.Time      `json:"at"`

	Status     history.CallStatus `json:"status"`
	Attempts   int                `json:"attempts"` // requests that were sent
	Error      *history.Failure   `json:"error,omitempty"`
	Duration   int64              `json:"durationMs"`
	FirstToken int64              `json:"firstTokenMs"`
}

// UsageTotals are the sums over the whole usage log.
type UsageTotals struct {
	history.Totals
	Uncached float64 `json:"uncachedCost"`
	Expected int     `json:"expectedCacheRead"`
	Stopped  int     `json:"stopped"` // of the calls
	Failed   int     `json:"failed"`  // likewise
}

// NewUsagePage returns a page of the usage log, with the sums of the whole log by model. uncached returns the cost of a
// usage without a cache, in US dollars.
func NewUsagePage(
	calls []history.Call, sums []historystore.ModelTotals, next string, uncached func(model string, u history.Usage) float64,
) UsagePage {
	page := UsagePage{Calls: make([]Call, len(calls)), NextCursor: next}
	for i, c := range calls {
		status, attempts := c.Ended()
		page.Calls[i] = Call{
			ID: c.ID, TurnID: c.Turn, Step: c.Step, Purpose: c.Purpose, Model: c.Model, Usage: c.Usage, Cost: c.Cost, Estimated: c.Estimated,
			Uncached: uncached(c.Model, c.Usage), Expected: c.Expected, Categories: c.Categories, Documents: c.Documents,
			Phase: c.Phase, At: c.At, Status: status, Attempts: attempts, Error: c.Failure, Duration: c.Duration, FirstToken: c.FirstToken,
		}
	}
	t := &page.Totals
	for _, sum := range sums {
		t.Calls, t.Usage, t.Cost = t.Calls+sum.Calls, t.Usage.Add(sum.Usage), t.Cost+sum.Cost
		t.Uncached, t.Expected = t.Uncached+uncached(sum.Model, sum.Usage), t.Expected+sum.Expected
		t.Stopped, t.Failed = t.Stopped+sum.Stopped, t.Failed+sum.Failed
	}
	return page
}
