package session

import (
	"time"

	"strata/history"
	"strata/session/events"
)

// Event is an entry of a session's event log.
type Event = events.Event

// EventKind says what an event tells.
type EventKind = events.Kind

// Cursor is a subscriber's position in the events of a session.
type Cursor = events.Cursor

// Since says what a subscriber that attaches has received.
type Since = events.Since

// The kinds of events with their payloads in Data.
const (
	EventBlock            = events.Block
	EventThought          = events.Thought
	EventText             = events.Text
	EventUsage            = events.Usage   // UsageInfo
	EventInfo             = events.Info    // TitleInfo
	EventOptions          = events.Options // Info
	EventNotice           = events.Notice
	EventMode             = events.Mode
	EventCompactionUpdate = events.CompactionUpdate // Compacted
	EventSummaryChunk     = events.SummaryChunk

	EventTurnStarted    = events.TurnStarted    // TurnStarted
	EventTurnFinished   = events.TurnFinished   // TurnFinished
	EventContextChanged = events.ContextChanged // ContextChanged
	EventCompaction     = events.Compaction     // Compacted
	EventTiersChanged   = events.TiersChanged   // TiersChanged
	EventFilesChanged   = events.FilesChanged   // FilesChanged
	EventLeftOut        = events.LeftOut        // LeftOuts
	EventRetrying       = events.Retrying       // Retrying
	EventSaved          = events.Saved          // SaveInfo
	EventSaveFailed     = events.SaveFailed     // SaveInfo
	EventProgress       = events.Progress       // Progress
	EventCompleted      = events.Completed      // Completed
	EventConfigChanged  = events.ConfigChanged  // ConfigInfo
	EventResynced       = events.Resynced
	EventClosed         = events.Closed // ClosedInfo
)

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

// DefaultLogEvents limits the events that a session keeps.
const DefaultLogEvents = events.MaxEvents
