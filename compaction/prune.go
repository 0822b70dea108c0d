package compaction

import (
	"fmt"
	"strings"
)

// prune summarizes all steps when their number reaches the threshold, but for the answer of the newest prompt and the last
// steps of a running turn, which do not count. Without summaries it keeps the first steps, the last ones, all failures, and
// the answers of the prompts of these. A step is an assistant message with its tool results.
type prune struct{}

func (prune) NeedsBoundary(History, Numbers) bool { return false }

func (prune) Fill(h History, n Numbers) Fill {
	s := shapeOf(h.Messages)
	return fuller(from(atSteps(n), s.steps()-s.lastRunning(&n), Steps), s.outgrows(h.Tokens(), &n))
}

// atSteps returns the number of steps at which prune is due.
func atSteps(n Numbers) int {
	if n.NoSummary {
		return n.MaxSteps + 1
	}
	return max(n.SummaryThreshold, 1)
}

func (prune) Plan(h History, n Numbers, _ Boundary) Plan {
	s := shapeOf(h.Messages)
	steps := s.steps()
	leaving := steps - s.lastRunning(&n)
	outgrown := s.outgrows(h.Tokens(), &n).Due
	if leaving == 0 || !n.Asked && leaving < atSteps(n) && !outgrown {
		return Plan{}
	}
	if n.NoSummary && len(s.exchanges) > 0 {
		return s.pruned(n)
	} else if n.NoSummary {
		return Plan{} // nothing of it could begin a conversation
	}
	k := s.withoutSteps()
	if e := s.running(); e != nil {
		k.add(s.recent(e, &n, n.KeepLast))
	}
	plan := Plan{Drop: s.dropped(k)}
	plan.Reason = fmt.Sprintf("%d steps summarised", steps-s.stepsKept(k))
	return plan.summarised(&n)
}

// lastRunning returns how many of the last steps of a running turn a summary of the others leaves. Without summaries it is
// 0: the last steps are then those of all turns.
func (s *shape) lastRunning(n *Numbers) int {
	e := s.running()
	if e == nil || n.NoSummary {
		return 0
	}
	return s.stepsKept(s.recent(e, n, n.KeepLast))
}

// steps returns the number of steps, those before the first user message included.
func (s *shape) steps() int {
	sum := len(s.lead.steps)
	for i := range s.exchanges {
		sum += len(s.exchanges[i].steps)
	}
	return sum
}

// stepsKept returns how many steps are kept.
func (s *shape) stepsKept(k keeping) int {
	sum := 0
	for i := range s.exchanges {
		for _, step := range s.exchanges[i].steps {
			if k[step.start] {
				sum++
			}
		}
	}
	return sum
}

// withoutSteps keeps only the newest user message and the unanswered ones directly before it; nothing of a history without
// user messages.
func (s *shape) withoutSteps() keeping {
	if len(s.exchanges) == 0 {
		return make(keeping, len(s.messages))
	}
	k := s.none()
	for i := len(s.exchanges) - 1; i >= 0 && len(s.exchanges[i].steps) == 0; i-- {
		k[s.exchanges[i].start] = true
	}
	return k
}

// pruned returns the plan without a summary.
func (s *shape) pruned(n Numbers) Plan {
	k := s.none()
	steps, at := s.steps(), 0
	for i := range s.exchanges {
		e := &s.exchanges[i]
		for _, step := range e.steps {
			if at < n.KeepFirst || at >= steps-n.KeepLast || s.failed(step, n.FailureWords) {
				k.set(step, true)
				k[e.start] = true
			}
			at++
		}
	}
	s.keepUnanswered(k)
	if e := s.running(); e != nil {
		k.add(s.recent(e, &n, recentSteps))
	}
	return Plan{
		Drop:   s.dropped(k),
		Reason: fmt.Sprintf("all but the first %d steps, the last %d and failures removed", n.KeepFirst, n.KeepLast),
	}
}

// keepUnanswered keeps the user messages without steps that directly precede a kept one.
func (s *shape) keepUnanswered(k keeping) {
	for i := len(s.exchanges) - 2; i >= 0; i-- {
		if e := &s.exchanges[i]; len(e.steps) == 0 {
			k[e.start] = k[e.end]
		}
	}
}

// failed reports whether a step has a failed tool result or contains one of words.
func (s *shape) failed(step span, words []string) bool {
	for _, m := range s.messages[step.start:step.end] {
		if m.Failed {
			return true
		}
		for _, word := range words {
			if word != "" && strings.Contains(m.Text, word) {
				return true
			}
		}
	}
	return false
}
