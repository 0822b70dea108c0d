package compaction

import "fmt"

// rolling keeps the newest iterations and folds older ones into a running summary. An iteration is an exchange; the older
// steps of a running turn are an iteration of their own. If a summary fails, its iterations are kept and folded with the
// next one.
type rolling struct{}

func (rolling) NeedsBoundary(History, Numbers) bool { return false }

func (rolling) Fill(h History, n Numbers) Fill {
	s := shapeOf(h.Messages)
	return fuller(from(rawWindow(n)+1, s.iterations(), Iterations), s.outgrows(s.shown(&h), &n))
}

func (rolling) Plan(h History, n Numbers, _ Boundary) Plan {
	s := shapeOf(h.Messages)
	leaving := s.leaving(n)
	switch {
	case leaving == len(s.exchanges) && leaving > 0, s.outgrows(s.shown(&h), &n).Due:
		return s.insideTurn(&n, nil).summarised(&n)
	case leaving == 0:
		return Plan{}
	}
	drop := s.dropped(s.from(s.exchanges[leaving].start))
	summarised := h.Summarised + leaving
	return Plan{
		Drop:      drop,
		Summarise: drop,
		Budget:    n.SummaryBudgetTokens,
		Rewrite:   h.Summary == "" || n.SummarizeEvery > 0 && summarised/n.SummarizeEvery > h.Summarised/n.SummarizeEvery,
		Reason:    fmt.Sprintf("iterations 1 to %d summarised", summarised),
	}
}

// iterations returns the number of exchanges, the older steps of a running turn counted as one.
func (s *shape) iterations() int { return len(s.exchanges) + min(s.older(), 1) }

// leaving returns the number of exchanges before the raw window: all of them if older steps of the running turn leave too.
func (s *shape) leaving(n Numbers) int {
	return max(s.iterations()-rawWindow(n), 0)
}

// shown returns the size of the summary and of the newest exchange: of others a loop shows only an abstract.
func (s *shape) shown(h *History) int {
	if n := len(s.exchanges); n > 0 {
		return h.SummaryTokens + s.tokens(s.exchanges[n-1].span)
	}
	return h.SummaryTokens
}

// rawWindow returns the number of newest exchanges that are kept.
func rawWindow(n Numbers) int { return max(n.RawWindowSize, 1) }
