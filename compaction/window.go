package compaction

import (
	"cmp"
	"fmt"
)

// window keeps the first user message with its answer, and the newest messages that fit the room.
type window struct{}

func (window) NeedsBoundary(History, Numbers) bool { return false }

// Fill is due above the room: a smaller history is kept whole, and a larger one does not fit the next request.
func (window) Fill(h History, n Numbers) Fill {
	s := shapeOf(h.Messages)
	if n.TriggerTokens <= 0 {
		return fuller(above(s.finished(&h), 0), s.outgrows(h.Tokens(), &n))
	}
	return fuller(above(s.finished(&h), n.RoomTokens), s.outgrows(h.Tokens(), &n))
}

func (window) Plan(h History, n Numbers, _ Boundary) Plan {
	s := shapeOf(h.Messages)
	switch {
	case len(s.exchanges) == 0:
		return Plan{}
	case s.outgrows(h.Tokens(), &n).Due:
		return s.insideTurn(&n, s.firstExchange()).digested(&n)
	case s.finished(&h) <= n.RoomTokens:
		return Plan{}
	}
	k := s.none()
	k.add(s.firstExchange())
	s.keepAnswers(k)
	room := cmp.Or(n.FillTokens, n.RoomTokens) - max(h.SummaryTokens, n.SummaryBudgetTokens)
	for i := range k {
		if k[i] {
			room -= h.Messages[i].Tokens
		}
	}
	k.set(s.runningSteps(), true)
	s.fill(k, room)
	plan := Plan{Drop: s.dropped(k)}
	plan.Reason = fmt.Sprintf("%d messages after the first removed", len(plan.Drop))
	return plan.digested(&n)
}

// fill additionally keeps the newest steps and user messages that fit the room.
func (s *shape) fill(k keeping, room int) {
	for i := len(s.exchanges) - 1; i >= 0; i-- {
		e := &s.exchanges[i]
		units := append([]span{{e.start, e.start + 1}}, e.steps...)
		for u := len(units) - 1; u >= 0; u-- {
			if k[units[u].start] {
				continue
			}
			if room -= s.tokens(units[u]); room < 0 {
				return
			}
			k.set(units[u], true)
		}
	}
}
