// Package events is the event log of a session and its subscribers' positions in it: bounded, numbered within an
// epoch, and replayed from the transcript where the log no longer reaches.
//
// It must never know what happens in a session: it numbers, keeps and delivers events, whatever their payload is.
package events

import (
	"strata/history"
)

// Kind says what an event tells.
type Kind string

// The kinds of events. Those of the first group are session/update for all clients of the session; the others are
// _strata/event for attached clients.
const (
	Block            Kind = "block"             // Role, Message, Block: a whole block of a message
	Thought          Kind = "thought"           // Message, Text: a delta of the model's thinking
	Text             Kind = "text"              // Message, Text: a delta of the reply
	CallUpdate       Kind = "call_update"       // the state of a tool call that was announced as a block
	Plan             Kind = "plan"              // what the model plans to do
	Usage            Kind = "usage"             // how full the window is
	Info             Kind = "info"              // the session has another title
	Options          Kind = "options"           // the config options changed
	Notice           Kind = "notice"            // Text: something that the user should know
	Mode             Kind = "mode"              // the phase in force changed; Text: its id
	CompactionUpdate Kind = "compaction_update" // the state of a compaction; for clients that can show it
	SummaryChunk     Kind = "summary_chunk"     // Message: id of a compaction, Text: more of its summary

	TurnStarted    Kind = "turn_started"
	TurnFinished   Kind = "turn_finished"
	ContextChanged Kind = "context_changed" // the working history changed other than by a turn
	Compaction     Kind = "compaction"      // the state of a compaction
	TiersChanged   Kind = "tiers_changed"   // items moved between tiers with a reply
	FilesChanged   Kind = "files_changed"
	Index          Kind = "index"    // how far the index of the workspace is
	LeftOut        Kind = "left_out" // what a request omits
	Retrying       Kind = "retrying"
	Saved          Kind = "saved"       // a turn's result is stored
	SaveFailed     Kind = "save_failed" // it could not be stored yet
	Progress       Kind = "progress"
	Completed      Kind = "completed"
	ConfigChanged  Kind = "config_changed"
	Resynced       Kind = "resynced" // the events First to Seq were dropped; their text was sent again
	Closed         Kind = "closed"   // always the last

	PermissionsChanged Kind = "permissions_changed" // the rules by which calls run without asking
)

// Update reports whether clients that are not attached receive events of this kind.
func (k Kind) Update() bool {
	switch k {
	case Block, Thought, Text, CallUpdate, Plan, Usage, Info, Options, Notice, Mode, CompactionUpdate, SummaryChunk:
		return true
	}
	return false
}

// delta reports whether adjacent events of this kind and message can be merged into one.
func (k Kind) delta() bool { return k == Thought || k == Text }

// Event is one entry of a session's event log, as a cursor delivers it.
type Event struct {
	// First and Seq are the sequence numbers that the event covers. They differ where deltas were merged, where passing
	// events were removed, and where earlier events were not for the subscriber. Both are 0 for an event that a cursor makes
	// from the transcript.
	First, Seq uint64

	Kind    Kind
	Turn    string
	Message string // message id
	Role    history.Role
	Text    string
	Block   *history.Block
	Data    any // payload, immutable, marshals to a JSON object; its Size, if it has one, counts towards the log's limit

	// Call is the tool call whose whole state the event contains; empty for none. The next event of the call replaces a
	// Passing event, which is not sent to subscribers that have not received it yet.
	Call    string
	Passing bool

	Origin  *Identity // of the subscriber that caused the event and receives it only if it wants that; nil for none
	Settled int64     // transcript position up to which a subscriber has everything after this event

	at  sent     // what of the message was sent before this event
	was progress // of a subscriber that has received all earlier events; set by the log
}

// sent is how much of a message was sent.
type sent struct {
	text, thought int // bytes
	blocks        int // events that bring blocks
}

// brings reports whether e contains a part of a message.
func (e *Event) brings() bool { return e.Kind.delta() || e.Kind == Block }

// past returns what of e's message was sent after e.
func (e *Event) past() sent {
	s := e.at
	switch e.Kind {
	case Text:
		s.text += len(e.Text)
	case Thought:
		s.thought += len(e.Text)
	case Block:
		s.blocks++
	}
	return s
}

// size returns the bytes of the event that count towards the log's limit.
func (e *Event) size() int {
	n := eventOverhead + len(e.Text)
	if e.Block != nil {
		n += len(e.Block.Text) + len(e.Block.Data) + len(e.Block.Args)
		for i := range e.Block.Content {
			n += len(e.Block.Content[i].Text) + len(e.Block.Content[i].Data)
		}
	}
	if data, ok := e.Data.(interface{ Size() int }); ok {
		n += data.Size()
	}
	return n
}

// eventOverhead is the size in bytes of an event without its text: the struct and a payload without a Size.
const eventOverhead = 192
