package past

import (
	"time"

	"strata/history"
	"strata/historystore"
	"strata/llm"
	"strata/server/compare"
	"strata/server/wire"
)

// GetParams are the parameters of _strata/requests/get: a call, by its id or by the message that is its reply.
type GetParams struct {
	wire.SessionParams
	CallID    string `json:"callId"`
	MessageID string `json:"messageId"`
}

// Checked returns the parameters if they name one call.
func (p *GetParams) Checked() (*GetParams, error) {
	if (p.CallID == "") == (p.MessageID == "") {
		return nil, wire.InvalidParams("params: exactly one of callId and messageId is required")
	}
	return p, nil
}

// CompareParams are the parameters of _strata/requests/compare.
type CompareParams struct {
	wire.SessionParams
	CallID string `json:"callId" need:"content"`
	With   string `json:"with"` // default: the newest call of the same purpose before that has a kept request
}

// The reasons for which the request of a call is not kept.
const (
	NotKeptPurpose = "purpose" // the call has no items: a summary, or a search for a topic
	NotKeptExpired = "expired" // older than storage.request_age
	NotKept        = "not_kept"
	NotKeptStopped = "interrupted" // the server stopped, so that nothing of the call was kept but its estimated usage
	NotKeptFirst   = "first"       // there is no earlier request to compare with
)

// GetResult is the result of _strata/requests/get.
type GetResult struct {
	Kept    bool         `json:"kept"`
	Reason  string       `json:"reason,omitempty"` // why it is not kept
	Call    *Call        `json:"call,omitempty"`
	Request *SentRequest `json:"request,omitempty"`
}

// Call is the call that sent a request.
type Call struct {
	ID      string `json:"callId"`
	TurnID  string `json:"turnId,omitempty"`
	Step    int    `json:"step,omitempty"`
	Purpose string `json:"purpose"`
	Model   string `json:"model"`
	history.Usage
	Cost      float64            `json:"cost"` // US dollars
	Estimated bool               `json:"estimated,omitempty"`
	Status    history.CallStatus `json:"status"`
	Expected  int                `json:"expectedCacheRead"`
	At        time.Time          `json:"at"`
}

// newCall returns a call of the usage log.
func newCall(c *history.Call) *Call {
	status, _ := c.Ended()
	return &Call{
		ID: c.ID, TurnID: c.Turn, Step: c.Step, Purpose: c.Purpose, Model: c.Model, Usage: c.Usage, Cost: c.Cost, Estimated: c.Estimated,
		Status: status, Expected: c.Expected, At: c.At,
	}
}

// SentRequest is a request as it was sent. Tokens are counted; those of the items and the overhead come to Tokens.
type SentRequest struct {
	MessageID string                    `json:"messageId,omitempty"` // of the reply
	Layout    string                    `json:"layout"`
	Cut       string                    `json:"cut,omitempty"`
	Tokens    int                       `json:"tokens"`
	Overhead  int                       `json:"overhead"`
	Items     []SentItem                `json:"items"`
	Omitted   []history.RequestOmission `json:"leftOut"`
}

// SentItem is an item of a request.
type SentItem struct {
	history.RequestItem
	Shortened *Shortened `json:"shortened,omitempty"` // a part of it was omitted
}

// Shortened is what a request omits of an item.
type Shortened struct {
	Tokens int    `json:"tokens"`
	Reason string `json:"reason"`
}

// newSent returns a kept request.
func newSent(r *history.Request) *SentRequest {
	omitted := make(map[string]*history.RequestOmission, len(r.Omitted))
	for i := range r.Omitted {
		omitted[r.Omitted[i].Key] = &r.Omitted[i]
	}
	sent := &SentRequest{
		MessageID: r.Message, Layout: r.Layout, Cut: r.Cut, Tokens: r.Tokens, Overhead: r.Overhead,
		Items: make([]SentItem, len(r.Items)), Omitted: append([]history.RequestOmission{}, r.Omitted...),
	}
	for i, it := range r.Items {
		sent.Items[i].RequestItem = it
		if o := omitted[it.Key]; o != nil && !it.Dead {
			sent.Items[i].Shortened = &Shortened{Tokens: o.Tokens, Reason: o.Reason}
		}
	}
	return sent
}

// CompareResult is the result of _strata/requests/compare.
type CompareResult struct {
	Kept   bool   `json:"kept"`
	Reason string `json:"reason,omitempty"` // why a request is not kept
	Call   *Call  `json:"call,omitempty"`
	With   *Call  `json:"with,omitempty"` // the earlier one
	Anew   *Anew  `json:"anew,omitempty"`

	*compare.Comparison
}

// The sources of the tokens that were read anew.
const (
	BasisReported = "reported" // by the provider: what it did not read from its cache
	BasisCounted  = "counted"  // by Strata: the items after those that are the same
)

// Anew is what a provider read of a request other than from its cache.
type Anew struct {
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"` // US dollars more than if these tokens had been read from the cache; 0 if the price is unknown
	Basis  string  `json:"basis"`
}

// newAnew returns what the provider of a call read anew. after are the counted tokens after those that are the same.
func newAnew(c *history.Call, m *llm.Model, after int) *Anew {
	const million = 1e6
	more := func(price float64) float64 { return max(price-m.Price.CacheRead, 0) / million }
	written := m.Price.CacheWrite
	if written == 0 {
		written = m.Price.Input
	}
	if !c.Estimated && c.TellsCache() {
		return &Anew{
			Tokens: c.Usage.Input + c.Usage.CacheWrite, Basis: BasisReported,
			Cost: float64(c.Usage.Input)*more(m.Price.Input) + float64(c.Usage.CacheWrite)*more(written),
		}
	}
	price := m.Price.Input
	if m.Marks {
		price = written
	}
	return &Anew{Tokens: after, Cost: float64(after) * more(price), Basis: BasisCounted}
}

// whyNotKept returns why the request of a call is not kept. age is how long requests are kept.
func whyNotKept(k *historystore.KeptRequest, now time.Time, age time.Duration) string {
	switch {
	case k.Call.Purpose == history.PurposeSummary || k.Call.Purpose == history.PurposeDetection:
		return NotKeptPurpose
	case k.Call.At.Before(now.Add(-age)):
		return NotKeptExpired
	case k.Call.Status == history.CallStopped:
		return NotKeptStopped
	}
	return NotKept
}
