package compaction

import "fmt"

// The modes of middle: the part that is kept after the first pair.
const (
	KeepNone    = "none"
	KeepLastTwo = "lastTwo" // messages: the last pair
	KeepHalf    = "half"
	KeepQuarter = "quarter"
)

// MiddleModes are the valid modes.
var MiddleModes = []string{KeepNone, KeepLastTwo, KeepHalf, KeepQuarter}

// middle keeps the first pair and removes pairs after it. A pair is a user message with the first step of its exchange,
// or a further step. It removes whole pairs, so that roles still alternate.
type middle struct{}

func (middle) NeedsBoundary() bool { return false }

func (middle) Fill(h History, n Numbers) Fill { return above(h.Tokens(), n.TriggerTokens) }

func (middle) Plan(h History, n Numbers, _ Boundary) Plan {
	s := shapeOf(h.Messages)
	pairs := s.removablePairs()
	mode := n.MiddleMode
	if mode == "" {
		mode = byNeed(h.Tokens(), n.RoomTokens)
	}
	leaving := leavingPairs(mode, len(pairs))
	if leaving == 0 {
		return Plan{}
	}
	k := s.all()
	for _, p := range pairs[:leaving] {
		k.set(p.span, false)
	}
	if len(s.exchanges[len(s.exchanges)-1].steps) == 0 {
		k[s.newest()] = true // not answered yet
	}
	if leaving < len(pairs) && !pairs[leaving].opens {
		k[s.exchanges[pairs[leaving].exchange].start] = true
	}
	plan := Plan{Drop: s.dropped(k), Reason: fmt.Sprintf("%d pairs after the first removed (%s)", leaving, mode)}
	plan.digest(n)
	return plan
}

// digest adds a summary without a model to the plan if there is a budget for one.
func (p *Plan) digest(n Numbers) {
	if n.SummaryBudgetTokens > 0 && !p.Empty() {
		p.Summarise, p.Budget, p.Rewrite, p.Words = p.Drop, n.SummaryBudgetTokens, true, true
	}
}

// byNeed returns the mode for a history of the given size.
func byNeed(used, room int) string {
	if room > 0 && used >= 2*room {
		return KeepQuarter
	}
	return KeepHalf
}

// leavingPairs returns how many of the oldest removable pairs are removed.
func leavingPairs(mode string, pairs int) int {
	switch mode {
	case KeepNone:
		return pairs
	case KeepLastTwo:
		return max(pairs-1, 0)
	case KeepQuarter:
		return pairs * 3 / 4
	default:
		return pairs / 2
	}
}

// pair is a unit that middle removes as a whole.
type pair struct {
	span
	exchange int
	opens    bool // starts with the user message of its exchange
}

// removablePairs returns the pairs that can be removed, in order. In the first exchange the first step is always kept,
// and so is the last step if another exchange follows: it is the reply to which the next user message responds.
func (s *shape) removablePairs() []pair {
	var pairs []pair
	for i := range s.exchanges {
		of := s.exchanges[i].pairs(i)
		if i == 0 {
			last := len(of)
			if len(s.exchanges) > 1 {
				last = max(last-1, 1)
			}
			of = of[1:last]
		}
		pairs = append(pairs, of...)
	}
	return pairs
}

func (e *exchange) pairs(index int) []pair {
	if len(e.steps) == 0 {
		return []pair{{span: e.span, exchange: index, opens: true}}
	}
	pairs := make([]pair, len(e.steps))
	for i, step := range e.steps {
		pairs[i] = pair{span: step, exchange: index}
	}
	pairs[0].start, pairs[0].opens = e.start, true
	return pairs
}
