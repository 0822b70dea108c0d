// Package compaction shortens conversations: strategies plan which messages are removed from the working history, the
// summarizer summarizes these messages, and the pool runs compactions in the background.
//
// A plan depends only on the history and the given numbers. The package does not change sessions: an outcome is an edit
// that the session applies, or discards if its history has changed. The package must never do work that its callers
// cannot cancel, and never make a history worse: a summary that is empty, incomplete or no shorter than the text it
// replaces is an error.
package compaction

import (
	"fmt"

	"strata/history"
	"strata/internal/clip"
)

// Message is a message of the working history, as the input of a plan.
type Message struct {
	ID     string
	Role   history.Role
	Tokens int
	Text   string // of its text blocks, tool calls and tool results
	Calls  bool   // makes tool calls; the results after it belong to it
	Failed bool   // contains a tool result that is marked as an error
	Kept   bool   // a user keeps it: no plan drops it

	// Exchange is the number of the exchange to which the message belongs. Of other exchanges only parts can be left, which
	// follow one that is whole. Zero for all messages: each user message begins an exchange.
	Exchange int
}

// History is the input of a plan: the working history, with messages in order.
type History struct {
	Messages      []Message
	Evicted       []Message // earlier ones that left the history without a summary: the next summary covers them; no Tokens
	Summary       string    // of the messages compacted before; empty for none
	SummaryTokens int       // of Summary as shown by the session
	Summarised    int       // rolling: iterations summarized before these messages
}

// Tokens returns the tokens of the messages and of the summary.
func (h *History) Tokens() int { return h.SummaryTokens + size(h.Messages) }

// Finished returns the tokens of the history without the steps of a turn that is still running.
func (h *History) Finished() int {
	s := shapeOf(h.Messages)
	return s.finished(h)
}

func size(messages []Message) int {
	sum := 0
	for i := range messages {
		sum += messages[i].Tokens
	}
	return sum
}

// Numbers are the settings of the strategies, from the session's profile. Each comment starts with the strategies that
// use the setting.
type Numbers struct {
	Asked     bool // all: compact on request, even if it is not due
	NoSummary bool // prune: make no summaries

	TriggerTokens        int     // topic, middle: history size above which a compaction is due; 0: never, also of window
	VerbatimWindowTokens int     // topic: size of the newest part that is kept verbatim
	SummaryBudgetTokens  int     // topic, rolling, prune: length of a summary; middle, window: of a digest, 0 for none
	MinVerbatimExchanges int     // topic: minimum number of kept exchanges
	MinConfidence        float64 // topic: minimum confidence in a boundary

	RawWindowSize  int // rolling: number of newest iterations to keep
	SummarizeEvery int // rolling: iterations after which the whole summary is rewritten

	SummaryThreshold int      // prune: number of steps at which they are summarized
	MaxSteps         int      // prune: number of steps above which they are pruned if no summary is made
	KeepFirst        int      // prune: number of first steps to keep
	KeepLast         int      // prune: number of last steps to keep, with summaries those of a running turn
	FailureWords     []string // prune: words that mark a step as failed, case-sensitive

	MiddleMode string // middle: none, lastTwo, half, quarter; empty: by need
	RoomTokens int    // middle, window: maximum size of the history; required by window, which is due above it
	FillTokens int    // window: size to which the history is reduced, to delay the next compaction; 0: RoomTokens

	TurnRoomTokens int // all: maximum size of a history with a running turn; 0: steps of the turn never leave
}

// Plan is the plan of a compaction. An empty plan changes nothing.
type Plan struct {
	Drop       []string // ids of the messages to remove from the view, in order
	Summarise  []string // those of them that the summary replaces: all, or none if there is no summary
	Budget     int      // tokens of the summary
	Rewrite    bool     // the summary replaces the previous one; otherwise it is added to the previous one
	Words      bool     // the summary is made without a model and may be omitted
	Reason     string
	Confidence float64 // in the boundary used, 0 for none
}

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool { return len(p.Drop) == 0 }

// Strategy plans a compaction. Its methods are pure functions.
type Strategy interface {
	// Plan returns the plan for a history. boundary is NoBoundary unless NeedsBoundary returns true.
	Plan(h History, n Numbers, boundary Boundary) Plan
	// Fill returns how far a history is on its way to an automatic compaction, and whether one is due. It reads no message
	// texts.
	Fill(h History, n Numbers) Fill
	// NeedsBoundary reports whether Plan uses the start of the newest topic of this history.
	NeedsBoundary(h History, n Numbers) bool
}

// Boundary is the start of the newest topic of a conversation.
type Boundary struct {
	Index      int // of the topic's first message; -1 for none
	Confidence float64
	Reason     string
	Summary    string // of the previous topics, in a sentence or two; may be empty
	By         string // ByModel or ByWords
}

// The methods by which a boundary or a summary is made.
const (
	ByModel = "model"
	ByWords = "words" // without a model
)

// NoBoundary means that no boundary was looked for or found.
var NoBoundary = Boundary{Index: -1}

// The names of the strategies.
const (
	Topic   = "topic"
	Rolling = "rolling"
	Prune   = "prune"
	Middle  = "middle"
	Window  = "window"
)

// Named returns the strategy with the given name, or an error if there is none.
func Named(name string) (Strategy, error) {
	switch name {
	case Topic:
		return topic{}, nil
	case Rolling:
		return rolling{}, nil
	case Prune:
		return prune{}, nil
	case Middle:
		return middle{}, nil
	case Window:
		return window{}, nil
	}
	return nil, fmt.Errorf("unknown compaction strategy %q; use %s, %s, %s, %s or %s", clip.Name(name), Topic, Rolling, Prune, Middle, Window)
}
