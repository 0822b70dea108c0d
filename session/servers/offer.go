package servers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"strata/internal/clip"
	"strata/session/tools"
)

// offer is what a server has listed, as tools of the model. It is immutable.
type offer struct {
	listed []Tool    // as the server listed them
	tools  []offered // by name, without those that cannot be called
	faults []fault
}

// offered is a tool of an offer.
type offered struct {
	name       string // as the server has it
	definition tools.Definition
}

// fault is why a tool is not offered to the model.
type fault struct{ tool, why string }

// newOffer returns what a server offers that has listed tools.
func newOffer(server string, listed []Tool) *offer {
	o := &offer{listed: listed}
	sorted := slices.SortedStableFunc(slices.Values(listed), func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	for i := range sorted {
		t := &sorted[i]
		schema, err := schemaOf(t.Schema)
		switch {
		case i > 0 && sorted[i-1].Name == t.Name:
			o.faults = append(o.faults, fault{t.Name, "the name is listed twice"})
		case err != nil:
			o.faults = append(o.faults, fault{t.Name, err.Error()})
		default:
			o.tools = append(o.tools, offered{t.Name, tools.Definition{
				Name: toolName(server, t.Name), Description: description(t), Schema: schema,
			}})
		}
	}
	return o
}

// lists reports whether the offer is that of a list.
func (o *offer) lists(listed []Tool) bool {
	return slices.EqualFunc(o.listed, listed, func(a, b Tool) bool {
		return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
	})
}

// schemaOf returns the schema of a tool's input with the same bytes for equal schemas. A server may leave out that the input is
// an object, or the whole schema.
func schemaOf(raw json.RawMessage) (json.RawMessage, error) {
	if text := string(bytes.TrimSpace(raw)); text == "" || text == "null" || text == "{}" {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	var keywords map[string]json.RawMessage
	if len(raw) <= tools.MaxSchema && json.Unmarshal(raw, &keywords) == nil && keywords != nil && keywords["type"] == nil {
		keywords["type"] = json.RawMessage(`"object"`)
		if typed, err := json.Marshal(keywords); err == nil {
			raw = typed
		}
	}
	schema, err := tools.SortedSchema(raw)
	if err != nil {
		return nil, fmt.Errorf("inputSchema%w", err)
	}
	return schema, nil
}

// description returns what the model is told of a tool.
func description(t *Tool) string {
	return clip.Bytes(strings.ToValidUTF8(cmp.Or(t.Description, t.Title), "\uFFFD"), tools.MaxDescription)
}
