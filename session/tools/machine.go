package tools

import "fmt"

// State is what a turn is doing. A turn is a state machine: its goroutine does what the state says, which ends with an event,
// and Next gives the state after it.
type State int

// The states of a turn.
const (
	Streaming State = iota // the model is asked, and its reply arrives
	Reviewing              // the next calls of the step are looked at
	Preparing              // the next call changes files: what it would change is found out
	Asking                 // the next call can change something: the rules, or else the user, decide whether it may run
	Running                // the calls run that may
	Fitting                // the step is over: its results are stored, and the next request is built
	Ended                  // the ending of the turn is stored
)

// Event is how what a state does ended.
type Event int

// The events of a turn.
const (
	Replied   Event = iota // the reply has no call that may run: it is the answer, or it was cut off
	Called                 // the reply has calls, and its message is stored
	GaveUp                 // the provider failed and is not asked again, or the store failed
	Prepares               // the next call changes files, and what it would change is not known yet
	Asks                   // the next call can change something
	Refused                // the next call does not run: its result says why
	Allowed                // the next calls may run
	Reviewed               // no call is left
	Returned               // the calls that ran have results
	Built                  // the next request may be sent
	Exhausted              // the turn has reached a limit
	Stopped                // the turn was cancelled, or the session closes
)

// transitions are the events that happen in a state, and the state after each. Stopped ends a turn in every state.
var transitions = [...]struct {
	at    State
	event Event
	next  State
}{
	{Streaming, Replied, Ended},
	{Streaming, Called, Reviewing},
	{Streaming, GaveUp, Ended},
	{Reviewing, Refused, Reviewing},
	{Reviewing, Allowed, Running},
	{Reviewing, Prepares, Preparing},
	{Reviewing, Asks, Asking},
	{Reviewing, Reviewed, Fitting},
	{Preparing, Refused, Reviewing},
	{Preparing, Asks, Asking},
	{Asking, Allowed, Running},
	{Asking, Refused, Reviewing},
	{Running, Returned, Reviewing},
	{Running, GaveUp, Ended},
	{Fitting, Built, Streaming},
	{Fitting, Exhausted, Ended},
	{Fitting, GaveUp, Ended},
}

// Next returns the state after an event. It panics if the event does not happen in the state.
func Next(at State, event Event) State {
	if event == Stopped && at != Ended {
		return Ended
	}
	for _, t := range transitions {
		if t.at == at && t.event == event {
			return t.next
		}
	}
	panic(fmt.Sprintf("event %d in state %d of a turn", event, at))
}
