package wire

import (
	"encoding/json"

	"strata/history"
	"strata/internal/clip"
	"strata/session"
)

// maxTools is the maximum number of tools in a request.
const maxTools = 512

// ReportParams are the parameters of _strata/context/report.
type ReportParams struct {
	SessionParams
	Columns int `json:"columns"` // of the terminal
}

// DraftParams are the parameters of _strata/context/draft.
type DraftParams struct {
	SessionParams
	Prompt  []ContentBlock `json:"prompt" need:"value"`
	Request bool           `json:"request"` // return the request too
}

// Blocks returns the blocks of the draft.
func (p *DraftParams) Blocks() ([]history.Block, error) { return promptBlocks(p.Prompt) }

// AssembleParams are the parameters of _strata/context/assemble.
type AssembleParams struct {
	SessionParams
	Tools   []ToolParams `json:"tools"`
	Preview bool         `json:"preview"` // leave the session unchanged
}

// ToolParams describe a tool as providers do.
type ToolParams struct {
	Name        string          `json:"name" need:"content"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// SessionTools returns the tools for the session, nil if the parameter is missing.
func (p *AssembleParams) SessionTools() ([]session.Tool, error) {
	if len(p.Tools) > maxTools {
		return nil, InvalidParams("params.tools: %d exceeds the limit of %d", len(p.Tools), maxTools)
	}
	if p.Tools == nil {
		return nil, nil
	}
	tools := make([]session.Tool, len(p.Tools))
	names := make(map[string]bool, len(p.Tools))
	for i, t := range p.Tools {
		switch {
		case names[t.Name]:
			return nil, InvalidParams("params.tools[%d]: duplicate tool %q", i, clip.Name(t.Name))
		}
		names[t.Name] = true
		schema, err := sortedJSON(t.InputSchema)
		if err != nil {
			return nil, InvalidParams("params.tools[%d].inputSchema: expected an object", i)
		}
		tools[i] = session.Tool{Name: t.Name, Description: t.Description, Schema: schema}
	}
	return tools, nil
}

// sortedJSON returns a JSON object with sorted keys, so that equal schemas have equal bytes.
func sortedJSON(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// CommitParams are the parameters of _strata/context/commit.
type CommitParams struct {
	SessionParams
	AssemblyID string            `json:"assemblyId"`
	Messages   []AppendedMessage `json:"messages"`
	Message    *AppendedMessage  `json:"message"` // comes before messages
	Usage      *history.Usage    `json:"usage"`
}

// Request returns the request to the session.
func (p *CommitParams) Request() (session.CommitRequest, error) {
	all := p.Messages
	if p.Message != nil {
		all = append([]AppendedMessage{*p.Message}, all...)
	}
	messages, err := appended(all)
	if err != nil {
		return session.CommitRequest{}, err
	}
	if p.Usage != nil {
		if err := p.Usage.Check(); err != nil {
			return session.CommitRequest{}, InvalidParams("params.usage.%s", err)
		}
	}
	return session.CommitRequest{AssemblyID: p.AssemblyID, Messages: messages, Usage: p.Usage}, nil
}
