// Package compaction makes a conversation shorter: strategies plan what leaves the working history, the
// summarizer says in few words what left, and the pool runs it all in the background.
//
// A plan is a function of the history and the numbers it is given. Nothing here changes a session: the
// outcome is an edit that the session applies, or drops where the history it was made for is gone. The
// package must never do more than its callers can cancel, and never make a history worse: a summary that
// is empty, cut off or no shorter than what it stands for is an error.
package compaction

import (
	"fmt"

	"strata/history"
)

// Message is a message of the working history as a plan sees it.
type Message struct {
	ID     string
	Role   history.Role
	Tokens int
	Text   string // of its text blocks, tool calls and tool results
	Calls  bool   // it makes tool calls: the results behind it belong to it
	Failed bool   // it holds a tool result that is marked as an error
}

// History is the working history that a plan is made for. Messages are in order.
type History struct {
	Messages      []Message
	Summary       string // of what was compacted before; empty for nothing
	SummaryTokens int    // of Summary as the session shows it
	Summarised    int    // rolling: iterations that left before these messages
}

// Tokens returns the tokens of the messages and of the summary.
func (h *History) Tokens() int { return h.SummaryTokens + size(h.Messages) }

func size(messages []Message) int {
	sum := 0
	for i := range messages {
		sum += messages[i].Tokens
	}
	return sum
}

// Numbers are the settings of the strategies, each used by those that its comment names. They come from
// the session's profile.
type Numbers struct {
	Asked     bool // all: it is made on request, whether or not it is due
	NoSummary bool // prune: summarising is off

	TriggerTokens        int     // topic, middle, window: history above which a compaction is due; 0: it never is
	VerbatimWindowTokens int     // topic: newest part that is kept word for word
	SummaryBudgetTokens  int     // topic, rolling, prune: length of a summary; middle, window: of a digest, 0 for none
	MinVerbatimExchanges int     // topic: exchanges that are kept at least
	MinConfidence        float64 // topic: of a boundary that is acted on

	RawWindowSize  int // rolling: newest iterations that are kept
	SummarizeEvery int // rolling: iterations after which the summary is written anew

	SummaryThreshold int      // prune: unsummarised steps at which they are summarised
	MaxSteps         int      // prune: steps above which pruning begins where summarising is off or failed
	KeepFirst        int      // prune
	KeepLast         int      // prune
	FailureWords     []string // prune: case-sensitive marks of a failed step

	MiddleMode string // middle: none, lastTwo, half, quarter; empty: by need
	RoomTokens int    // middle, window: what the history may have; window cannot do without
	FillTokens int    // window: what of that is filled again, so that it lasts for a while; 0: all of it
}

// Plan is what a strategy wants of a history. An empty plan wants nothing.
type Plan struct {
	Drop       []string // ids of the messages that leave the view, in order
	Summarise  []string // those of them that the summary must stand for: all, or none and no summary is made
	Budget     int      // tokens of the summary
	Anew       bool     // the summary is written anew, from the one so far and Summarise; otherwise that is added to it
	Words      bool     // the summary is made without a model, and the plan can do without it
	Reason     string
	Confidence float64 // of the boundary that it rests on, 0 where there is none
}

// Empty reports whether the plan wants nothing.
func (p *Plan) Empty() bool { return len(p.Drop) == 0 }

// Strategy plans a compaction. It is a pure function: equal inputs give equal plans.
type Strategy interface {
	// Plan returns what is to be done. boundary is where the newest topic begins, for strategies that ask for it.
	Plan(h History, n Numbers, boundary Boundary) Plan
	// Due reports whether a history that nobody asked to compact should be. It reads no texts.
	Due(h History, n Numbers) bool
	// NeedsBoundary reports whether Plan wants to know where the newest topic begins.
	NeedsBoundary() bool
}

// Boundary is where the newest topic of a conversation begins.
type Boundary struct {
	Index      int // of its first message; -1 for none
	Confidence float64
	Reason     string
	Summary    string // what went before, in a sentence or two; may be empty
	By         string // ByModel or ByWords
}

// How a boundary or a summary was made.
const (
	ByModel = "model"
	ByWords = "words" // without a model
)

// NoBoundary is a boundary that was not looked for or not found.
var NoBoundary = Boundary{Index: -1}

// The names of the strategies.
const (
	Topic   = "topic"
	Rolling = "rolling"
	Prune   = "prune"
	Middle  = "middle"
	Window  = "window"
)

// Named returns the strategy with the given name.
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
	return nil, fmt.Errorf("unknown compaction strategy %q: known are %s, %s, %s, %s and %s", name, Topic, Rolling, Prune, Middle, Window)
}
