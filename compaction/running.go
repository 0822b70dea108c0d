package compaction

// The newest exchange of a history can be one whose turn is still running: it has no answer yet, and the model goes on with
// the results of its newest step. The numbers of a strategy bound the finished part of the history; a running turn may fill
// the room. Before it does not fit any more its older steps leave, as an exchange of their own.

// recentSteps is the number of newest steps of a running turn that always stay.
const recentSteps = 2

// The parts of the room, in percent, at which the older steps of a running turn are due to leave, and that the newest steps
// may keep.
const (
	outgrownPercent = 85
	keptPercent     = 50
)

// running returns the newest exchange if its turn is still running, nil if it is not.
func (s *shape) running() *exchange {
	if len(s.exchanges) == 0 {
		return nil
	}
	e := &s.exchanges[len(s.exchanges)-1]
	if _, answered := s.answer(e); answered || len(e.steps) == 0 {
		return nil
	}
	return e
}

// runningSteps returns the messages of the running turn but for its prompt, an empty range if there is none.
func (s *shape) runningSteps() span {
	if e := s.running(); e != nil {
		return span{e.start + 1, e.end}
	}
	return span{len(s.messages), len(s.messages)}
}

// finished returns the size of the history without the steps of a running turn.
func (s *shape) finished(h *History) int { return h.Tokens() - s.tokens(s.runningSteps()) }

// older returns how many steps of a running turn can leave while it runs.
func (s *shape) older() int {
	e := s.running()
	if e == nil {
		return 0
	}
	return max(len(e.steps)-recentSteps, 0)
}

// outgrows returns how far a history of the given size is on its way to the size at which steps of its running turn leave;
// the zero Fill if none can.
func (s *shape) outgrows(size int, n *Numbers) Fill {
	if s.older() == 0 {
		return Fill{}
	}
	return above(size, n.TurnRoomTokens*outgrownPercent/100)
}

// fuller returns the fill that is nearer to its trigger.
func fuller(a, b Fill) Fill {
	if b.Percent() > a.Percent() {
		return b
	}
	return a
}

// recent returns a keeping of the prompt of a running turn with its newest steps: as many as fit their part of the room, and
// at most so many, but at least recentSteps.
func (s *shape) recent(e *exchange, n *Numbers, most int) keeping {
	k := s.none()
	room := n.TurnRoomTokens*keptPercent/100 - n.SummaryBudgetTokens - s.messages[e.start].Tokens
	for i := 1; i <= len(e.steps); i++ {
		step := e.steps[len(e.steps)-i]
		room -= s.tokens(step)
		if i > recentSteps && (i > most || room < 0 && n.TurnRoomTokens > 0) {
			break
		}
		k.set(step, true)
	}
	return k
}

// insideTurn returns the plan for a running turn that has outgrown the room, without a summary. keep are messages to keep
// beside the prompt with its newest steps; nil for none.
func (s *shape) insideTurn(n *Numbers, keep keeping) Plan {
	e := s.running()
	k := s.recent(e, n, len(e.steps))
	k.add(keep)
	return Plan{Drop: s.dropped(k), Reason: "the running turn had filled the window; its newest steps remain"}
}
