package compaction

import (
	"fmt"

	"strata/internal/clip"
)

// topic keeps the newest topic, or a summary and the newest part verbatim.
type topic struct{}

// NeedsBoundary returns false if steps of a running turn leave: a turn is of one topic.
func (topic) NeedsBoundary(h History, n Numbers) bool {
	s := shapeOf(h.Messages)
	return !s.outgrows(h.Tokens(), &n).Due
}

func (topic) Fill(h History, n Numbers) Fill {
	s := shapeOf(h.Messages)
	return fuller(above(s.finished(&h), n.TriggerTokens), s.outgrows(h.Tokens(), &n))
}

// Plan returns an empty plan if the whole history is in the verbatim part.
func (topic) Plan(h History, n Numbers, b Boundary) Plan {
	s := shapeOf(h.Messages)
	if s.outgrows(h.Tokens(), &n).Due {
		return s.insideTurn(&n, nil).summarised(&n)
	}
	verbatim := s.verbatim(n)
	if verbatim == 0 {
		return Plan{}
	}
	first, reason := verbatim, fmt.Sprintf("all but the last %d exchanges summarised", len(s.exchanges)-verbatim)
	confidence := 0.0
	if inside := b.Index >= s.exchanges[verbatim].start; inside && b.Confidence >= n.MinConfidence {
		first, reason, confidence = min(s.exchangeOf(b.Index), s.atLeast(n)), "a new topic began"+b.why(), b.Confidence
	}
	plan := Plan{Drop: s.dropped(s.from(s.exchanges[first].start)), Reason: reason, Confidence: confidence}
	if confidence == 0 || b.By != ByModel {
		return plan.summarised(&n)
	}
	return plan
}

// summarised returns the plan with a summary that replaces the previous one.
func (p Plan) summarised(n *Numbers) Plan {
	p.Summarise, p.Budget, p.Rewrite = p.Drop, n.SummaryBudgetTokens, true
	return p
}

// maxReason limits the reason that a model gives, in characters.
const maxReason = 200

// why returns the reason for a boundary, after a colon: if the model gave none, what the topics before it were about.
func (b *Boundary) why() string {
	switch {
	case b.Reason != "":
		return ": " + clip.Line(b.Reason, maxReason)
	case b.Summary != "":
		return " after: " + clip.Line(b.Summary, maxReason)
	}
	return fmt.Sprintf(" with message %d, found by %s", b.Index+1, b.By)
}

// verbatim returns the index of the first exchange that is kept verbatim: as many as fit the verbatim window, of which a
// running turn takes nothing, at least the minimum. It returns 0 if all fit or there are none.
//
// The window is at most half of the trigger. A larger one would gain little, and the next compaction would follow soon.
func (s *shape) verbatim(n Numbers) int {
	room := n.VerbatimWindowTokens
	if n.TriggerTokens > 0 {
		room = min(room, n.TriggerTokens/2)
	}
	first := len(s.exchanges)
	if s.running() != nil {
		first--
	}
	for first > 0 {
		room -= s.tokens(s.exchanges[first-1].span)
		if room < 0 {
			break
		}
		first--
	}
	return min(first, s.atLeast(n))
}

// atLeast returns the index of the first exchange that is always kept.
func (s *shape) atLeast(n Numbers) int {
	return max(len(s.exchanges)-max(n.MinVerbatimExchanges, 1), 0)
}

// exchangeOf returns the index of the exchange of a message, 0 for messages before the first exchange.
func (s *shape) exchangeOf(message int) int {
	for i := len(s.exchanges) - 1; i > 0; i-- {
		if s.exchanges[i].start <= message {
			return i
		}
	}
	return 0
}
