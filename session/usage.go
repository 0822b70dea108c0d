package session

import (
	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// spent is what a model call used. What the provider did not tell was counted.
type spent struct {
	usage     history.Usage
	cost      float64 // US dollars
	estimated bool    // some of usage was counted
	whole     int     // tokens of request and answer together, as the provider counts them; never below what is plausible
	reported  bool    // the provider told the whole input
}

// spentBy returns what a call of a model used: what its result tells, and what it does not tell as it was counted.
// counted is the request in counted tokens, request the same and answer the answer in the provider's.
func spentBy(result *llm.Result, model llm.Model, counted, request, answer int) spent {
	s := spent{usage: result.Usage, cost: result.Cost, estimated: !result.UsageReported}
	if s.usage.Context() == 0 {
		s.usage.Input, s.estimated = request, true
	}
	if s.usage.Output == 0 && answer > 0 {
		s.usage.Output, s.estimated = answer, true
	}
	if s.usage != result.Usage {
		s.cost = model.Cost(s.usage)
	}
	partial := tokens.Partial(counted, s.usage.Context())
	s.reported = result.UsageReported && result.Usage.Context() > 0 && !partial
	if s.whole = s.usage.Context() + s.usage.Output; partial {
		s.whole = request + s.usage.Output
	}
	return s
}
