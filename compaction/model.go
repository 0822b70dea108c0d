package compaction

import (
	"context"
	"errors"
)

// Model completes a prompt. It may be called from several compactions at once.
type Model interface {
	// Complete returns the whole answer. ErrNoModel says that there is no model for the call's purpose.
	Complete(ctx context.Context, c Call) (Reply, error)
}

// The purposes of a call.
const (
	PurposeDetection = "detection" // of the newest topic's beginning
	PurposeSummary   = "summary"
)

// Call is one request to a model.
type Call struct {
	Purpose     string
	System      string
	Prompt      string
	MaxTokens   int // of the answer
	Temperature float64
}

// Reply is a model's answer to a Call.
type Reply struct {
	Text   string
	CutOff bool // it ended at MaxTokens, or the stream broke
}

// Why a summary is not used. Errors of the model itself are passed on, wrapped.
var (
	ErrEmpty   = errors.New("the summary is empty")
	ErrCutOff  = errors.New("the summary is cut off")
	ErrNoGain  = errors.New("the summary is not shorter than what it stands for")
	ErrTooLong = errors.New("the history is too long for the model that summarises")
)

// ErrNoModel is returned by a Model for a purpose that no model is meant for. It is done without one then.
var ErrNoModel = errors.New("no model for this purpose")
