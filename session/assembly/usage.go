package assembly

import (
	"strata/history"
	"strata/llm/reply"
	"strata/stability"
	"strata/tokens"
)

// Spent is what a model call used. Figures that the provider did not tell are counted.
type Spent struct {
	Usage     history.Usage
	Cost      float64 // US dollars
	Estimated bool    // some of Usage was counted
	Whole     int     // provider's tokens of request and reply together; never below what is plausible
	Reported  bool    // the provider told the whole input
}

// SpentBy returns what a call of a model used. request and reply are counted tokens: of the whole request, and of the reply
// without its framing.
func (m *Measure) SpentBy(result *reply.Result, request, reply int) Spent {
	s := Spent{Usage: result.Usage, Cost: result.Cost, Estimated: !result.UsageReported}
	if s.Usage.Context() == 0 {
		s.Usage.Input, s.Estimated = m.Calibrated(request), true
	}
	if s.Usage.Output == 0 && reply > 0 {
		s.Usage.Output, s.Estimated = m.Calibrated(reply), true
	}
	if s.Usage != result.Usage {
		s.Cost = m.Model.Cost(s.Usage)
	}
	partial := tokens.Partial(request, s.Usage.Context())
	s.Reported = result.UsageReported && result.Usage.Context() > 0 && !partial
	if s.Whole = s.Usage.Context() + s.Usage.Output; partial {
		s.Whole = m.Calibrated(request) + s.Usage.Output
	}
	return s
}

// SpentUntil returns what a call used that did not end. Its provider's newest report can be older than the end, so the
// counted tokens of the reply count if they are more.
func (m *Measure) SpentUntil(result *reply.Result, request, reply int) Spent {
	s := m.SpentBy(result, request, reply)
	s.Estimated = true
	if more := m.Calibrated(reply) - s.Usage.Output; more > 0 {
		s.Usage.Output, s.Whole = s.Usage.Output+more, s.Whole+more
		s.Cost += m.Model.Cost(history.Usage{Output: more})
	}
	return s
}

// CacheUsage returns the part of a usage from which a mirror learns.
func CacheUsage(u history.Usage) stability.Usage {
	return stability.Usage{Read: u.CacheRead, Write: u.CacheWrite, Input: u.Context()}
}
