// Package cachetime tells how long a provider's cache keeps what a session has sent, what the next request costs before and
// after that moment, and what happened to the cache in the past.
//
// It must never send a request.
package cachetime

import (
	"context"
	"time"

	"strata/history"
	"strata/llm"
	"strata/session/assembly"
)

// Caching says how a provider caches.
type Caching string

// The ways in which a provider caches.
const (
	Marked    Caching = "marked"    // prefixes that bear a mark
	Automatic Caching = "automatic" // by itself, for a time that it does not tell
	Unseen    Caching = "unseen"    // as Automatic, but no call has read from the cache though it was expected to
	None      Caching = "none"
)

// Outlook is the future of the cache for the next request, without the new prompt, and its past.
type Outlook struct {
	Caching  Caching `json:"caching"`
	TTL      int64   `json:"ttlMs,omitempty"`   // lifetime of what the next request finds in the cache, or else of what it writes, since the last use
	Warm     int64   `json:"warmMs,omitempty"`  // time until the expected read is forgotten; 0: nothing is expected to be read
	Expected int     `json:"expectedCacheRead"` // of the next request if it is sent now, as the provider counts
	Now      Cost    `json:"now"`               // of the next request if it is sent now
	Cold     *Cost   `json:"cold,omitempty"`    // if it is sent after Warm; nil if nothing is warm
	Marks    []Mark  `json:"marks"`             // oldest first
}

// Cost is the input of a request, in the provider's tokens, and its price.
type Cost struct {
	Input      int      `json:"input"` // neither read from nor written to the cache
	CacheRead  int      `json:"cacheRead"`
	CacheWrite int      `json:"cacheWrite"`
	Cost       *float64 `json:"cost,omitempty"` // US dollars; nil if the model's price is not known
}

// Of returns the outlook for a session whose next request, of a state, was built. calls are the newest calls of its log,
// oldest first, and edits those of its view.
func Of(ctx context.Context, s *assembly.State, b *assembly.Built, calls []history.Call, edits []history.Edit) (Outlook, error) {
	o := Outlook{Caching: cachingOf(&s.Model, calls), Now: costOf(s, b)}
	o.Expected = o.Now.CacheRead
	until, life := b.Plan.WarmUntil()
	if o.Caching == None {
		life = 0
	}
	o.TTL = life.Milliseconds()
	now := s.Now()
	if o.Expected > 0 && !until.IsZero() {
		o.Warm = max(until.Sub(now).Milliseconds(), 1)
		later := *s
		later.Now = func() time.Time { return until.Add(time.Millisecond) }
		after, err := later.Build(ctx)
		if err != nil {
			return Outlook{}, err
		}
		cold := costOf(s, &after)
		o.Cold = &cold
	}
	o.Marks = marks(&lives{automatic: !s.Model.Marks, none: o.Caching == None, setting: s.Layout.Lifetime()}, calls, edits, now)
	return o, nil
}

func cachingOf(m *llm.Model, calls []history.Call) Caching {
	switch {
	case m.NoCache:
		return None
	case m.Marks:
		return Marked
	}
	expected := false
	for i := range calls {
		if c := &calls[i]; c.Model == m.Name && c.Usage.CacheRead > 0 {
			return Automatic
		} else if c.Model == m.Name && c.Expected > 0 {
			expected = true
		}
	}
	if expected {
		return Unseen
	}
	return Automatic
}

// costOf returns the cost of the input of a built request.
func costOf(s *assembly.State, b *assembly.Built) Cost {
	u := b.ExpectedInput(&s.Measure, b.Plan.Expect)
	c := Cost{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	if cost, ok := b.CostOf(&s.Measure, u); ok {
		c.Cost = &cost
	}
	return c
}
