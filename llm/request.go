package llm

import (
	"encoding/json"

	"strata/history"
)

// Request is one call of a model, in no provider's words.
type Request struct {
	Model       string   // "provider/model"
	Tools       []Tool   // sorted by name, by the caller
	Entries     []Entry  // their blocks never change
	MaxOutput   int      // tokens; 0 means the model's own maximum
	Temperature *float64 // nil means the model's default; left out where the API takes none
	Thought     ThoughtLevel
	Purpose     string   // one of history's purposes, for the log
	Encoded     *Encoded // of the conversation that the request belongs to; nil: nothing is kept
}

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of an object
}

// Entry is one piece of a request, in the order in which the model reads it.
// Only leading entries of EntrySystem make the system part; later ones are sent as context.
type Entry struct {
	Kind   EntryKind
	Role   history.Role // of an EntryMessage
	Blocks []history.Block
	Model  string // provider/model that wrote an EntryMessage; empty where that is not known
	Mark   Mark   // a cache mark at the entry's end; ignored for providers that cache by themselves
}

// EntryKind says what an entry is.
type EntryKind int

// The kinds of entries.
const (
	EntrySystem  EntryKind = iota // system prompt, documents, outlines
	EntryContext                  // user content that belongs to no message: files, diffs, notes
	EntryMessage                  // a message of the conversation
)

// Mark is a cache mark with its lifetime.
type Mark int

// The marks.
const (
	MarkNone Mark = iota
	Mark5m
	Mark1h
)

// ThoughtLevel is how much a model shall think before it answers. The empty level is ThoughtOff.
type ThoughtLevel string

// The levels. A model has those that its Model.Thought lists; another one is sent as off.
const (
	ThoughtOff    ThoughtLevel = "off"
	ThoughtLow    ThoughtLevel = "low"
	ThoughtMedium ThoughtLevel = "medium"
	ThoughtHigh   ThoughtLevel = "high"
)
