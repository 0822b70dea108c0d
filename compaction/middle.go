package compaction

import "fmt"

// The modes of middle: what is left behind the first pair.
const (
	KeepNone    = "none"
	KeepLastTwo = "lastTwo" // messages: the last pair
	KeepHalf    = "half"
	KeepQuarter = "quarter"
)

// MiddleModes are the modes that can be asked for.
var MiddleModes = []string{KeepNone, KeepLastTwo, KeepHalf, KeepQuarter}

// middle keeps the first pair and removes pairs behind it. A pair is a user message with the first step
// behind it, or a further step of its exchange; whole pairs leave, so that roles alternate as before.
type middle struct{}

func (middle) NeedsBoundary() bool { return false }

func (middle) Due(h History, n Numbers) bool { return overTrigger(&h, n) }

func (middle) Plan(h History, n Numbers, _ Boundary) Plan {
	s := shapeOf(h.Messages)
	pairs := s.pairsBehindFirst()
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
		k[s.newest()] = true // it waits for its answer
	}
	if leaving < len(pairs) && !pairs[leaving].opens {
		k[s.exchanges[pairs[leaving].exchange].start] = true
	}
	plan := Plan{Drop: s.dropped(k), Reason: fmt.Sprintf("%d pairs behind the first removed (%s)", leaving, mode)}
	plan.digest(n)
	return plan
}

// digest asks for a summary without a model where there is a budget for one.
func (p *Plan) digest(n Numbers) {
	if n.SummaryBudgetTokens > 0 && !p.Empty() {
		p.Summarise, p.Budget, p.Anew, p.Words = p.Drop, n.SummaryBudgetTokens, true, true
	}
}

// byNeed returns the mode for a history of the given size.
func byNeed(used, room int) string {
	if room > 0 && used >= 2*room {
		return KeepQuarter
	}
	return KeepHalf
}

// leavingPairs returns how many of the oldest pairs behind the first leave.
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

// pair is what middle removes as a whole.
type pair struct {
	span
	exchange int
	opens    bool // it begins with the user message of its exchange
}

// pairsBehindFirst returns the pairs that can leave, in order. Of the first exchange the first step always
// stays, and the last one too where another exchange follows: it is the reply that the next user message answers.
func (s *shape) pairsBehindFirst() []pair {
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
