package following

import (
	"time"

	"strata/internal/clip"
)

// Kind is the kind of an Activity.
type Kind string

// The activities of a session that is not idle.
const (
	Waiting   Kind = "waiting"   // for the model
	Thinking  Kind = "thinking"  // the model thinks
	Answering Kind = "answering" // the model writes
	Calling   Kind = "calling"   // a tool call runs; the title is the call's
	Asking    Kind = "asking"    // the user has to decide whether a call may run; the title is the call's
	Compacts  Kind = "compacting"
)

// maxActivityTitle is the maximum length of the title of an activity, in bytes.
const maxActivityTitle = 200

// Activity is what a session does, in more detail than its State. The zero Activity is none.
type Activity struct {
	Kind  Kind
	Title string // of a call, at most maxActivityTitle bytes
	Since time.Time
}

// EndedTurn is a turn that has ended.
type EndedTurn struct {
	TurnID string
	Status string // as in turn_finished
}

// Doing is what a session does.
type Doing struct {
	State    State
	Activity Activity
	Ended    *EndedTurn // since the report before; nil for none
}

// Doings follows what a session does. It belongs to the session's mailbox.
type Doings struct {
	now   func() time.Time
	at    Activity
	ended *EndedTurn
}

// NewDoings returns the Doings of an idle session.
func NewDoings(now func() time.Time) *Doings { return &Doings{now: now} }

// Begin notes an activity and reports whether it is another one than before.
func (d *Doings) Begin(kind Kind, title string) (another bool) {
	title = clip.Bytes(title, maxActivityTitle)
	if d.at.Kind == kind && d.at.Title == title {
		return false
	}
	d.at = Activity{Kind: kind, Title: title, Since: d.now()}
	return true
}

// End notes the end of a turn.
func (d *Doings) End(turnID, status string) { d.ended = &EndedTurn{TurnID: turnID, Status: status} }

// Report returns what a session in a state does. The activity of an earlier state ends.
func (d *Doings) Report(state State) Doing {
	switch compacts := d.at.Kind == Compacts; {
	case state == StateCompacting:
		d.Begin(Compacts, "")
	case state != StateRunning:
		d.at = Activity{}
	case compacts || d.at.Kind == "":
		d.Begin(Waiting, "")
	}
	doing := Doing{State: state, Activity: d.at, Ended: d.ended}
	d.ended = nil
	return doing
}
