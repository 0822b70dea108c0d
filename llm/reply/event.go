package reply

import (
	"time"

	"strata/history"
)

// Event is something that happened while an answer came in.
type Event struct {
	Kind  EventKind
	Text  string         // of EventText and EventThinking: valid UTF-8, never empty
	Call  *ToolCallDelta // of EventToolCall
	Retry *Retry         // of EventRetrying
	Usage *history.Usage // of EventUsage: all that the provider has reported for this call so far
}

// EventKind says what an event is.
type EventKind int

// The kinds of events.
const (
	EventText EventKind = iota
	EventThinking
	EventToolCall
	EventRetrying
	EventUsage
)

// ToolCallDelta is a piece of a tool call. The first one of a call has empty Args.
type ToolCallDelta struct {
	ID   string
	Name string
	Args string // to be appended
}

// Retry says that a try failed and that another one follows after Delay.
type Retry struct {
	Attempt int // the try that failed, from 1
	Of      int // tries at most
	Delay   time.Duration
	Status  int    // HTTP status, or the one that an error inside the stream stands for; 0 for a broken connection
	Reason  string // short, without keys
}

// StopReason says why a model stopped.
type StopReason string

// The stop reasons.
const (
	StopEndTurn   StopReason = "end_turn"
	StopMaxTokens StopReason = "max_tokens"
	StopRefusal   StopReason = "refusal"
	StopToolUse   StopReason = "tool_use" // only where the request declared tools
)

// Result is an answer. After an error it holds what had arrived, without a stop reason.
type Result struct {
	Blocks        []history.Block // in order of arrival
	StopReason    StopReason
	Usage         history.Usage
	UsageReported bool    // false: Usage is zero, or an estimate of the offline provider
	Cost          float64 // US dollars by the catalogue's prices; knows long-lived cache writes, which Usage does not
	Model         string  // provider/model

	Attempts int  // requests that were sent
	Received bool // the provider has the newest request and did not refuse it, so it may charge for it
}
