package assembly

import (
	"encoding/json"

	"strata/history"
	"strata/llm"
	"strata/session/fit"
)

// Assembled is a request for a frontend that calls a model itself.
type Assembled struct {
	Tools       []AssembledTool    `json:"tools"` // must be sent in this order and with these bytes to be cached
	Messages    []AssembledMessage `json:"messages"`
	Breakpoints []Breakpoint       `json:"breakpoints"`
	Tokens      int                `json:"tokens"`
	Omitted     []fit.Omitted      `json:"left"`
	MaxOutput   int                `json:"maxOutput"`
	Model       string             `json:"model"`
	AssemblyID  string             `json:"assemblyId,omitempty"` // for commit; empty for a preview
}

// AssembledTool is a tool of an assembled request.
type AssembledTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// AssembledMessage is one message of an assembled request.
type AssembledMessage struct {
	Role    string          `json:"role"` // system, user, assistant, tool
	Content []history.Block `json:"content"`
	Tokens  int             `json:"tokens"` // counted, with the framing
}

// Breakpoint is the position of a cache mark: after the last block of a message.
type Breakpoint struct {
	Message int    `json:"message"` // index in messages
	TTL     string `json:"ttl"`     // 5m or 1h
}

// Assembled returns the request for a frontend.
func (b *Built) Assembled() Assembled {
	a := Assembled{Tools: []AssembledTool{}, Messages: []AssembledMessage{}, Breakpoints: []Breakpoint{}, Tokens: b.Counted, Omitted: b.Omitted, MaxOutput: b.Request.MaxOutput, Model: b.Request.Model}
	if a.Omitted == nil {
		a.Omitted = []fit.Omitted{}
	}
	for _, t := range b.Request.Tools {
		a.Tools = append(a.Tools, AssembledTool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	for i := range b.Request.Entries {
		e := &b.Request.Entries[i]
		a.Messages = append(a.Messages, AssembledMessage{Role: roleOf(e), Content: e.Blocks, Tokens: b.Sizes[i]})
		switch e.Mark {
		case llm.Mark5m:
			a.Breakpoints = append(a.Breakpoints, Breakpoint{Message: len(a.Messages) - 1, TTL: "5m"})
		case llm.Mark1h:
			a.Breakpoints = append(a.Breakpoints, Breakpoint{Message: len(a.Messages) - 1, TTL: "1h"})
		}
	}
	return a
}

func roleOf(e *llm.Entry) string {
	switch e.Kind {
	case llm.EntrySystem:
		return "system"
	case llm.EntryContext:
		return string(history.RoleUser)
	default:
		return string(e.Role)
	}
}
