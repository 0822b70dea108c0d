package session

import (
	"time"

	"strata/history"
)

// EventKind says what an event of a session tells.
type EventKind string

// The kinds of events. Those of the first group are what any client of the session sees (they become
// session/update); the others go to attached clients only (they become _strata/event).
const (
	EventBlock            EventKind = "block"             // Role, Message, Block: a whole block of a message
	EventThought          EventKind = "thought"           // Message, Text: a delta of the model's thinking
	EventText             EventKind = "text"              // Message, Text: a delta of the answer
	EventUsage            EventKind = "usage"             // Data: UsageInfo
	EventInfo             EventKind = "info"              // Data: TitleInfo
	EventOptions          EventKind = "options"           // the config options changed; Data: ConfigInfo
	EventNotice           EventKind = "notice"            // Text: something the user should know
	EventMode             EventKind = "mode"              // the phase in force changed; Text: its id
	EventCompactionUpdate EventKind = "compaction_update" // Data: Compacted; for clients that can show it
	EventSummaryChunk     EventKind = "summary_chunk"     // Message: id of a compaction, Text: more of its summary

	EventTurnStarted    EventKind = "turn_started"    // Data: TurnStarted
	EventTurnFinished   EventKind = "turn_finished"   // Data: TurnFinished
	EventContextChanged EventKind = "context_changed" // Data: ContextChanged
	EventCompaction     EventKind = "compaction"      // Data: Compacted
	EventTiersChanged   EventKind = "tiers_changed"   // Data: TiersChanged
	EventFilesChanged   EventKind = "files_changed"   // Data: FilesChanged
	EventLeftOut        EventKind = "left_out"        // Data: LeftOuts
	EventRetrying       EventKind = "retrying"        // Data: Retrying
	EventSaved          EventKind = "saved"           // Data: SaveInfo
	EventSaveFailed     EventKind = "save_failed"     // Data: SaveInfo
	EventProgress       EventKind = "progress"        // Data: Progress
	EventCompleted      EventKind = "completed"       // Data: Completed
	EventConfigChanged  EventKind = "config_changed"  // Data: ConfigInfo
	EventResynced       EventKind = "resynced"        // the events First to Seq were dropped; their text was sent again
	EventClosed         EventKind = "closed"          // Data: ClosedInfo; always the last
)

// update reports whether clients that are not attached see events of this kind.
func (k EventKind) update() bool {
	switch k {
	case EventBlock, EventThought, EventText, EventUsage, EventInfo, EventOptions, EventNotice,
		EventMode, EventCompactionUpdate, EventSummaryChunk:
		return true
	}
	return false
}

// delta reports whether adjacent events of this kind and message can be merged into one.
func (k EventKind) delta() bool { return k == EventThought || k == EventText }

// Event is one entry of a session's event log, as a cursor delivers it.
type Event struct {
	// First and Seq are the sequence numbers that it covers; they differ where deltas were merged, and where
	// events before it were not for the subscriber.
	// Both are 0 for what a cursor sends from the transcript: a replay, or text that fell off the log.
	First, Seq uint64

	Kind    EventKind
	Turn    string
	Message string // message id
	Role    history.Role
	Text    string
	Block   *history.Block
	Data    any // payload, immutable, marshals to a JSON object

	origin *Cursor // the subscriber that caused it and is not told
	at     sent    // what of its message comes before it, where it brings some of one

	settled int64    // transcript position up to which a cursor has sent everything once it has sent this
	was     progress // of a subscriber that has been sent all events before it; set by the log
}

// sent is how much of a message was sent.
type sent struct {
	text, thought int // bytes
	blocks        int // events that bring blocks
}

// brings reports whether e brings some of a message.
func (e *Event) brings() bool { return e.Kind.delta() || e.Kind == EventBlock }

// past returns what of e's message was sent once e was.
func (e *Event) past() sent {
	s := e.at
	switch e.Kind {
	case EventText:
		s.text += len(e.Text)
	case EventThought:
		s.thought += len(e.Text)
	case EventBlock:
		s.blocks++
	}
	return s
}

// size is the event's share of the log's byte bound.
func (e *Event) size() int {
	n := eventOverhead + len(e.Text)
	if e.Block != nil {
		n += len(e.Block.Text) + len(e.Block.Data) + len(e.Block.Args)
		for i := range e.Block.Content {
			n += len(e.Block.Content[i].Text) + len(e.Block.Content[i].Data)
		}
	}
	return n
}

// eventOverhead is the size in bytes that an event counts beside its text: the struct and its payload.
const eventOverhead = 192

// UsageInfo tells how full the window is after a turn.
type UsageInfo struct {
	Used int     `json:"used"` // tokens in context
	Size int     `json:"size"` // the model's window in tokens
	Cost float64 `json:"cost"` // US dollars, the session's total
}

// TitleInfo tells a session's new title.
type TitleInfo struct {
	Title     string    `json:"title"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// TurnStarted tells that a prompt is stored and its answer is on the way.
type TurnStarted struct {
	TurnID    string `json:"turnId"`
	PromptID  string `json:"promptId,omitempty"`
	UserID    string `json:"userMessageId"`
	MessageID string `json:"messageId"` // that the answer will have
	Model     string `json:"model"`
}

// TurnFinished tells how a turn ended.
type TurnFinished struct {
	TurnID     string             `json:"turnId"`
	MessageID  string             `json:"messageId,omitempty"` // empty where there was no answer
	Status     history.TurnStatus `json:"status"`
	StopReason string             `json:"stopReason,omitempty"`
	Usage      history.Usage      `json:"usage"`
	Cost       float64            `json:"cost"`                // US dollars
	Estimated  bool               `json:"estimated,omitempty"` // the provider did not tell all of usage: it was counted
	Error      *history.Failure   `json:"error,omitempty"`
}

// Retrying tells that a try to reach the provider failed and when the next one follows.
type Retrying struct {
	Attempt int    `json:"attempt"` // the try that failed, from 1
	Of      int    `json:"of"`      // tries at most
	DelayMs int64  `json:"delayMs"` // up to the next try
	Status  int    `json:"status"`  // HTTP status; 0 for a broken connection
	Reason  string `json:"reason"`
}

// ContextChanged tells that the working history changed by something else than a turn.
type ContextChanged struct {
	Reason string `json:"reason"` // append, clear
	Tokens int    `json:"historyTokens"`
	Seq    int64  `json:"transcriptSeq"` // transcript position
}

// TiersChanged tells what moved between tiers with the last reply.
type TiersChanged struct {
	Changes []TierChange `json:"changes"`
}

// TierChange is one item's move. An empty tier is where it is before it comes and after it has gone.
type TierChange struct {
	Key    string `json:"key"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// FilesChanged tells which files of the context changed and how.
type FilesChanged struct {
	Files []FileChange `json:"files"`
}

// FileChange is one change of a file in the context.
type FileChange struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, removed, changed, deleted, unreadable
	Reason string `json:"reason,omitempty"`
}

// LeftOut names something that a request does not hold, and why.
type LeftOut struct {
	Key    string `json:"key"`
	Count  int    `json:"count,omitempty"` // of messages, where it is a run of them
	Tokens int    `json:"tokens,omitempty"`
	Reason string `json:"reason"`
	Score  int    `json:"score,omitempty"` // its priority
}

// LeftOuts are all that a request does not hold.
type LeftOuts struct {
	LeftOut []LeftOut `json:"leftOut"`
}

// SaveInfo tells how the storing of a turn's ending went.
type SaveInfo struct {
	TurnID string `json:"turnId"`
	Reason string `json:"reason,omitempty"`
}

// ConfigInfo tells the choices in force.
type ConfigInfo struct {
	Config history.Config `json:"config"`
}

// ClosedInfo tells why a session ended.
type ClosedInfo struct {
	Reason string `json:"reason"` // closed, deleted, shutdown, failed
}
