package events

import (
	"time"

	"strata/history"
)

// The payloads of events. Those of other kinds belong to the packages that emit them.

// UsageInfo tells how full the window is after a step of a turn.
type UsageInfo struct {
	Used int     `json:"used"` // tokens in context
	Size int     `json:"size"` // the model's window in tokens
	Cost float64 `json:"cost"` // US dollars, the session's total
}

// PlanInfo tells what the model plans to do.
type PlanInfo struct {
	Entries []history.PlanEntry `json:"entries"`
}

// TitleInfo tells a session's new title.
type TitleInfo struct {
	Title     string    `json:"title"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// TurnStartedInfo tells that a prompt is stored and its reply is on the way.
type TurnStartedInfo struct {
	TurnID    string `json:"turnId"`
	PromptID  string `json:"promptId,omitempty"`
	UserID    string `json:"userMessageId"`
	MessageID string `json:"messageId"` // that the reply will have
	Model     string `json:"model"`
}

// TurnFinishedInfo tells how a turn ended.
type TurnFinishedInfo struct {
	TurnID     string             `json:"turnId"`
	MessageID  string             `json:"messageId,omitempty"` // empty without a reply
	Status     history.TurnStatus `json:"status"`
	StopReason string             `json:"stopReason,omitempty"`
	Usage      history.Usage      `json:"usage"`
	Cost       float64            `json:"cost"`                // US dollars
	Estimated  bool               `json:"estimated,omitempty"` // the provider did not tell all of the usage: the rest is counted
	Error      *history.Failure   `json:"error,omitempty"`
}

// RetryInfo tells that an attempt to reach the provider failed and when the next one follows.
type RetryInfo struct {
	Attempt int    `json:"attempt"` // the attempt that failed, from 1
	Of      int    `json:"of"`      // maximum number of attempts
	DelayMs int64  `json:"delayMs"` // until the next attempt
	Status  int    `json:"status"`  // HTTP status; 0 for a broken connection
	Reason  string `json:"reason"`
}

// ContextInfo tells that the working history changed other than by a turn.
type ContextInfo struct {
	Reason string `json:"reason"` // append, clear
	Tokens int    `json:"historyTokens"`
	Seq    int64  `json:"transcriptSeq"` // transcript position
}

// SaveInfo tells whether a turn's result could be stored.
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

// ProgressInfo tells what a reply reports as done.
type ProgressInfo struct {
	MessageID string   `json:"messageId"`
	Markers   []string `json:"markers"`
}

// CompletedInfo tells that a reply reports that the goal is reached.
type CompletedInfo struct {
	MessageID  string `json:"messageId"`
	Iterations int    `json:"iterations"` // so far, this one included
}
