package session

import (
	"strata/history"
	"strata/llm"
	"strata/session/profile"
)

// Info tells about a session.
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
