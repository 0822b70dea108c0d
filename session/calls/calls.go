// Package calls knows what clients were told of the tool calls of a running turn, for clients that come before their results
// are stored.
//
// It must never run a call, and never tell clients itself: it returns the events.
package calls

import (
	"slices"

	"strata/history"
	"strata/session/events"
	"strata/session/tools"
)

// Told is what clients were told of the calls of a turn. The zero value is that of a turn without calls. It is not safe for
// concurrent use.
type Told struct {
	announced []*history.Block // of the message that arrives
	open      []openCall       // calls whose results are not stored
}

// openCall is what clients were told last of a call.
type openCall struct {
	id     string
	events []events.Event // its present state, and then the plan that it made
}

// Announce notes that a call of the message that arrives was announced.
func (t *Told) Announce(call *history.Block) { t.announced = append(t.announced, call) }

// Announced returns the calls of the message that arrives.
func (t *Told) Announced() []*history.Block { return slices.Clip(t.announced) }

// Open returns the events for a client that comes: the present state of the calls whose results are not stored, and the plans
// that they made.
func (t *Told) Open() (all []events.Event) {
	for i := range t.open {
		all = append(all, t.open[i].events...)
	}
	return all
}

// Changed returns the events for a change of a call, and keeps them for clients that come.
func (t *Told) Changed(turn string, p tools.Progress) []events.Event {
	changed := []events.Event{update(turn, p)}
	if p.Result != nil && p.Result.Plan != nil {
		changed = append(changed, events.Event{Kind: events.Plan, Turn: turn, Data: events.PlanInfo{Entries: p.Result.Plan}})
	}
	now := openCall{p.CallID, changed}
	if i := slices.IndexFunc(t.open, func(c openCall) bool { return c.id == p.CallID }); i >= 0 {
		t.open[i] = now
	} else {
		t.open = append(t.open, now)
	}
	return slices.Clone(changed)
}

// BrokenOff returns the events for the end of all calls of the message that arrives: another one takes its place, with other
// calls.
func (t *Told) BrokenOff(turn string) (ended []events.Event) {
	for _, call := range t.announced {
		result := tools.BrokenOff.Result()
		ended = append(ended, update(turn, tools.Progress{
			CallID: call.CallID, Status: tools.Fails, Kind: tools.KindOf(call.Name), Description: tools.Description{Title: call.Name}, Result: &result,
		}))
	}
	t.announced = nil
	return ended
}

func update(turn string, p tools.Progress) events.Event {
	return events.Event{Kind: events.CallUpdate, Turn: turn, Data: p, Call: p.CallID, Passing: passes(p)}
}

// passes reports whether the next change of a call tells all that this one does. That a call runs in a terminal is no such
// change: requests for the terminal, such as its release, follow that event.
func passes(p tools.Progress) bool {
	showsTerminal := p.Output != nil && p.Output.Terminal != nil && p.Output.Text == ""
	return p.Output != nil && p.Result == nil && !showsTerminal
}

// MessageStored notes that the message with the announced calls is in the transcript.
func (t *Told) MessageStored() { t.announced = nil }

// ResultsStored notes that results of calls are in the transcript.
func (t *Told) ResultsStored(results []history.Block) {
	t.open = slices.DeleteFunc(t.open, func(c openCall) bool {
		return slices.ContainsFunc(results, func(result history.Block) bool { return result.CallID == c.id })
	})
}
