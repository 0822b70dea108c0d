package assembly

import (
	"strata/history"
	"strata/llm"
)

// InputCost returns the expected cost of a request's input, in US dollars: with what its cache is expected to hold, and with an
// empty cache. ok is false for a model without a price.
func (b *Built) InputCost(m *Measure) (expected, cold float64, ok bool) {
	expected, ok = b.CostOf(m, b.ExpectedInput(m, b.Plan.Expect))
	cold, _ = b.CostOf(m, b.ExpectedInput(m, 0))
	return expected, cold, ok
}

// CostOf returns the cost of an input of the request, in US dollars; ok is false for a model without a price.
func (b *Built) CostOf(m *Measure, input history.Usage) (cost float64, ok bool) {
	if m.Model.Price == (llm.Price{}) {
		return 0, false
	}
	return m.Model.InputCost(input, b.Plan.Long), true
}

// ExpectedInput returns the input of a request, in the provider's tokens, of which so many counted tokens are read from the
// cache. Whatever else a marked prefix has is written to the cache.
func (b *Built) ExpectedInput(m *Measure, read int) history.Usage {
	whole, marked := m.Calibrated(b.Counted), b.Plan.Marked()
	if m.Model.NoCache {
		read, marked = 0, 0
	}
	u := history.Usage{CacheRead: min(m.Calibrated(read), whole)}
	u.CacheWrite = min(max(m.Calibrated(marked)-u.CacheRead, 0), whole-u.CacheRead)
	u.Input = whole - u.CacheRead - u.CacheWrite
	return u
}
