package assembly

import (
	"strata/history"
	"strata/llm"
)

// InputCost returns the expected cost of a request's input, in US dollars: with what its cache is expected to hold, and with an
// empty cache. ok is false for a model without a price.
func (b *Built) InputCost(m *Measure) (expected, cold float64, ok bool) {
	if m.Model.Price == (llm.Price{}) {
		return 0, 0, false
	}
	cost := func(read int) float64 { return m.Model.InputCost(b.expectedUsage(m, read), b.Plan.Long) }
	return cost(b.Plan.Expect), cost(0), true
}

// expectedUsage returns the input of a request of which so many counted tokens are read from the cache. Whatever else a marked
// prefix has is written to the cache.
func (b *Built) expectedUsage(m *Measure, read int) history.Usage {
	marked, size := 0, 0
	for i := range b.Plan.Entries {
		size += b.Plan.Entries[i].Tokens
		if b.Plan.Entries[i].Mark {
			marked = size
		}
	}
	used := m.Calibrated(b.Counted)
	u := history.Usage{CacheRead: min(m.Calibrations.Apply(m.Model.Name, read), used)}
	if m.Model.Marks && !m.Model.NoCache {
		u.CacheWrite = min(m.Calibrated(max(marked-read, 0)), used-u.CacheRead)
	}
	u.Input = used - u.CacheRead - u.CacheWrite
	return u
}
