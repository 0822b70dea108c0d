package compaction

import "fmt"

// rolling keeps the newest iterations and folds older ones into a running summary. An iteration is an exchange.
// If a summary fails, its iterations are kept and folded with the next one.
type rolling struct{}

func (rolling) NeedsBoundary() bool { return false }

func (rolling) Fill(h History, n Numbers) Fill {
	s := shapeOf(h.Messages)
	return from(rawWindow(n)+1, len(s.exchanges), Iterations)
}

func (rolling) Plan(h History, n Numbers, _ Boundary) Plan {
	s := shapeOf(h.Messages)
	leaving := s.leaving(n)
	if leaving == 0 {
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

// leaving returns the number of exchanges before the raw window.
func (s *shape) leaving(n Numbers) int {
	return max(len(s.exchanges)-rawWindow(n), 0)
}

// rawWindow returns the number of newest exchanges that are kept.
func rawWindow(n Numbers) int { return max(n.RawWindowSize, 1) }
