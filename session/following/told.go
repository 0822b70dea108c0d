package following

import (
	"strata/history"
	"strata/llm"
	"strata/session/events"
	"strata/session/profile"
)

// State is the activity of a session.
type State string

// The states of a loaded session.
const (
	StateIdle       State = "idle"
	StateRunning    State = "running"
	StateCompacting State = "compacting"
	StateClosing    State = "closing"
	StateClosed     State = "closed" // not loaded any more
)

// Info is the state of a session for clients.
type Info struct {
	Session  history.Session
	Config   history.Config // choices in force, defaults filled in
	Model    llm.Model
	State    State
	Running  string // id of the running turn
	Unsaved  bool   // a turn's result is not stored yet
	Epoch    string
	Seq      uint64
	Totals   history.Totals
	Messages int // in the transcript
	InView   int // of them in the working history
	Tokens   int // of the working history
	Files    int
	Profiles []profile.Profile // that can be chosen, by name
	Phases   []profile.Phase   // of the profile in force; the current one is Config.Mode
	Notices  []string          // for clients that open the session
}

// Attached is the start of a subscription.
type Attached struct {
	Epoch    string    `json:"epoch"`
	Seq      uint64    `json:"seq"`      // newest event
	Running  string    `json:"running"`  // id of the running turn, empty for none
	Complete bool      `json:"complete"` // every event after Since follows
	Snapshot *Snapshot `json:"snapshot"` // the present state unless Complete, otherwise nil
}

// Snapshot is the current state of a session.
type Snapshot struct {
	Session  history.Session
	Config   history.Config // choices in force, defaults filled in
	Totals   history.Totals
	Messages []history.Message    // the newest, at most 128 KiB or one
	Fates    []history.Visibility // visibility of each message in the working history
	Ends     map[string]Ending    // how the turns of prompts ended, by the id of the prompt's message
	Summary  history.Summary      // replaces the compacted messages in the view
	Older    int64                // sequence number to list older messages before; 0 for none
	Running  *events.Running      // nil while no turn runs
	Compacts string               // id of the running compaction
	Unsaved  bool                 // a turn's result is not stored yet
	Notices  []string             // for clients that open the session
}

// List is one page of the transcript.
type List struct {
	Messages []history.Message
	Fates    []history.Visibility // visibility of each message in the working history
	Ends     map[string]Ending    // how the turns of prompts ended, by the id of the prompt's message
	Summary  history.Summary      // replaces the compacted messages in the view
	Older    int64                // sequence number to list before for the page of older messages, 0 for none
}
