package clients

import (
	"errors"

	"strata/session/approval"
	"strata/session/tools"
)

// Permission is a question to the user whether a call of a tool may run.
type Permission struct {
	Call    tools.Progress // as clients are shown it
	Options []approval.Option
}

// MaxWords is the maximum size of the words in an Answer, in bytes.
const MaxWords = 16 << 10

// Answer is the option that the user has selected. It need not be one that was offered.
type Answer struct {
	OptionID string
	Words    string // of the user to the model, with a rejection; empty for none, at most MaxWords
}

// ErrDismissed is the error of a client that cancelled the question: it says nothing of what the user wants.
var ErrDismissed = errors.New("the client cancelled the question")
