// Package finding reports whether the next request of a session contains a message, a file or a text, and why, and arranges
// single messages of the view.
//
// It must never send a request.
package finding

import (
	"fmt"
	"time"

	"strata/history"
	"strata/internal/clip"
	"strata/session/assembly"
	"strata/session/current"
	"strata/session/mailbox"
)

// Host is a session as its finder sees it. Its methods belong to the mailbox.
type Host interface {
	Context() *current.Manager
	// NextState returns what the next request is made of now.
	NextState() assembly.State
	// Busy returns an error while a turn runs, nil otherwise.
	Busy() error
	// Store returns the work that stores a change under the name of the operation, and then runs then on the mailbox.
	Store(what string, change history.Change, then func()) mailbox.Work
	// Arranged applies a stored edit by which a user arranged messages, and tells the subscribers.
	Arranged(edit history.Edit)
}

// Finder finds things in the next request of a session. Its methods can be called from any goroutine.
type Finder struct {
	host    Host
	mailbox *mailbox.Mailbox
	now     func() time.Time
	newID   func(prefix string) string // prefix + ULID
}

// New returns the Finder of a session.
func New(host Host, box *mailbox.Mailbox, now func() time.Time, newID func(prefix string) string) *Finder {
	return &Finder{host: host, mailbox: box, now: now, newID: newID}
}

// UnknownError says that the session has no message with an id.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string { return fmt.Sprintf("message %s not found", clip.Name(e.ID)) }

// State is how much of a subject the next request contains.
type State string

// The states.
const (
	Whole      State = "whole"
	Shortened  State = "shortened"
	Summarised State = "summarised" // a summary replaces it
	Evicted    State = "evicted"    // removed to fit
	NotIn      State = "not_in"     // for another reason
)

// Found describes how the next request contains a subject.
type Found struct {
	Key   string `json:"key"` // of its item
	State State  `json:"state"`
	Rule  string `json:"rule,omitempty"` // why it is not whole

	Kept   bool   `json:"kept,omitempty"` // a user keeps it: it is neither evicted nor compacted
	Next   bool   `json:"next,omitempty"` // it changes with the next request
	EditID string `json:"editId,omitempty"`

	Since    time.Time `json:"-"` // of the change that led to the state; zero if unknown
	Requests int       `json:"-"` // that contained a file as it is; 0 if unknown

	Tokens int    `json:"tokens"` // in the next request, as the breakdown counts them
	Tier   string `json:"tier,omitempty"`
	Cached bool   `json:"cached"` // all of it is expected in the provider's cache

	Text    *Text    `json:"text,omitempty"` // of the text that was asked for
	Actions []Action `json:"actions"`        // that are possible
}

// Text says where the next request contains a text.
type Text struct {
	Here      bool `json:"here"`      // in what was asked for
	Elsewhere bool `json:"elsewhere"` // not there, but in something else
}

// Action is a change that a user can ask for.
type Action string

// The actions: on messages, and for the files of the context.
const (
	Keep    Action = "keep"     // returns a message, whole, and keeps it
	Release Action = "release"  // does not keep it any longer
	TakeOut Action = "take_out" // removes it from the view
	Add     Action = "add"
	Remove  Action = "remove"
)

// Subject is the message, file or item to find. One of the first three fields is set.
type Subject struct {
	Message string // id
	Path    string
	Key     string // of an item of requests
	Text    string // a text in it, as it is read; may be empty
}
