package tools

import (
	"slices"
	"testing"
)

var (
	states = []State{Streaming, Reviewing, Asking, Running, Fitting, Ended}
	events = []Event{Replied, Called, GaveUp, Asks, Refused, Allowed, Reviewed, Returned, Built, Exhausted, Stopped}
)

// next is Next, false for an event that does not happen in the state.
func next(at State, event Event) (to State, happens bool) {
	defer func() { happens = recover() == nil }()
	return Next(at, event), true
}

// The specification's table, state by state: each event that is not in it does not happen.
func TestEachEventInEachState(t *testing.T) {
	want := map[State]map[Event]State{
		Streaming: {Replied: Ended, Called: Reviewing, GaveUp: Ended, Stopped: Ended},
		Reviewing: {Refused: Reviewing, Allowed: Running, Asks: Asking, Reviewed: Fitting, Stopped: Ended},
		Asking:    {Allowed: Running, Refused: Reviewing, Stopped: Ended},
		Running:   {Returned: Reviewing, GaveUp: Ended, Stopped: Ended},
		Fitting:   {Built: Streaming, Exhausted: Ended, GaveUp: Ended, Stopped: Ended},
		Ended:     {},
	}
	for _, at := range states {
		for _, event := range events {
			to, happens := next(at, event)
			wanted, listed := want[at][event]
			if happens != listed || happens && to != wanted {
				t.Errorf("event %d in state %d leads to %d (it happens: %t), want %d (%t)", event, at, to, happens, wanted, listed)
			}
		}
	}
}

// Every state is reached, and every turn can end.
func TestAllStatesAreReached(t *testing.T) {
	reached := []State{Streaming}
	for i := 0; i < len(reached); i++ {
		for _, event := range events {
			if to, happens := next(reached[i], event); happens && !slices.Contains(reached, to) {
				reached = append(reached, to)
			}
		}
	}
	for _, at := range states {
		if !slices.Contains(reached, at) {
			t.Errorf("state %d is never reached", at)
		}
		if _, ends := next(at, Stopped); ends != (at != Ended) {
			t.Errorf("a turn in state %d can be stopped: %t", at, ends)
		}
	}
}
