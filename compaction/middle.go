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

func (middle) NeedsBoundary(History, Numbers) bool { return false }

func (middle) Fill(h History, n Numbers) Fill {
	s := shapeOf(h.Messages)
	return fuller(above(s.finished(&h), n.TriggerTokens), s.outgrows(h.Tokens(), &n))
}

func (middle) Plan(h History, n Numbers, _ Boundary) Plan {
	s := shapeOf(h.Messages)
	if s.outgrows(h.Tokens(), &n).Due {
		return s.insideTurn(&n, s.firstExchange()).digested(&n)
	}
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
	if _, answered := s.answer(&s.exchanges[len(s.exchanges)-1]); !answered {
		k[s.newest()] = true
	}
	if leaving < len(pairs) && !pairs[leaving].opens {
		k[s.exchanges[pairs[leaving].exchange].start] = true
	}
	plan := Plan{Drop: s.dropped(k), Reason: fmt.Sprintf("%d pairs after the first removed (%s)", leaving, mode)}
	return plan.digested(&n)
}

// digested returns the plan with a summary without a model if there is a budget for one.
func (p Plan) digested(n *Numbers) Plan {
	if n.SummaryBudgetTokens > 0 && !p.Empty() {
		p = p.summarised(n)
		p.Words = true
	}
	return p
}

// firstExchange returns a keeping of the first prompt with its answer.
func (s *shape) firstExchange() keeping {
	k := make(keeping, len(s.messages))
	k[s.exchanges[0].start] = true
	s.keepAnswers(k)
	return k
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
// and so is the last step if another exchange follows: it is the reply to which the next user message responds. Of a running
// turn the newest steps are kept.
func (s *shape) removablePairs() []pair {
	var pairs []pair
	running := s.running()
	for i := range s.exchanges {
		e := &s.exchanges[i]
		of := e.pairs(i)
		first, last := 0, len(of)
		if i == 0 {
			first = 1
		}
		switch {
		case e == running:
			last -= recentSteps
		case i == 0 && len(s.exchanges) > 1:
			last--
		}
		pairs = append(pairs, of[first:max(first, last)]...)
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
