package compaction

import (
	"context"
	"errors"
)

// Model completes a prompt. It must be safe for concurrent use.
type Model interface {
	// Complete returns the whole reply. It returns ErrNoModel if no model is configured for the call's purpose.
	Complete(ctx context.Context, c Call) (Reply, error)
}

// The purposes of a call.
const (
	PurposeDetection = "detection" // of the start of the newest topic
	PurposeSummary   = "summary"
)

// Call is one request to a model.
type Call struct {
	Purpose     string
	System      string
	Prompt      string
	MaxTokens   int // of the reply
	Temperature float64
}

// Reply is the reply of a model to a Call.
type Reply struct {
	Text      string
	Truncated bool // the reply ended at MaxTokens, or the stream broke
}

// Reasons to discard a summary. Errors of the model are returned wrapped.
var (
	ErrEmpty     = errors.New("the summary is empty")
	ErrTruncated = errors.New("the summary is truncated")
	ErrNoGain    = errors.New("the summary is not shorter than the text it replaces")
	ErrTooLong   = errors.New("the history is too long for the summary model")
)

// ErrNoModel is returned by a Model if no model is configured for a purpose. The compaction then works without a model.
var ErrNoModel = errors.New("no model for this purpose")
