package wire

import (
	"encoding/json"

	"strata/session/toolbox"
	"strata/session/tools"
)

// ToolDeclaration is a tool that a client declares.
type ToolDeclaration struct {
	Name        string          `json:"name" need:"content"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema" need:"value"`
	Kind        string          `json:"kind" need:"content"`
	ReadOnly    bool            `json:"readOnly"`
}

// DeclaringMeta is the _meta of requests that can declare tools.
type DeclaringMeta struct {
	Tools []ToolDeclaration `json:"tools"` // nil: those declared before stay
}

// Declaration returns the tools that a client declares, nil if it declares nothing.
func (m *DeclaringMeta) Declaration() (*toolbox.Declaration, error) {
	if m.Tools == nil {
		return nil, nil
	}
	declared := make([]toolbox.Declared, len(m.Tools))
	for i, t := range m.Tools {
		declared[i] = toolbox.Declared{
			Definition: tools.Definition{Name: t.Name, Description: t.Description, Schema: t.InputSchema}, Kind: tools.Kind(t.Kind), ReadOnly: t.ReadOnly,
		}
	}
	d, err := toolbox.NewDeclaration(declared)
	if err != nil {
		return nil, InvalidParams("params._meta.strata.tools%s", err)
	}
	return d, nil
}
