package mcp

import (
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// repair returns the result of a response in a form that the SDK can read. The SDK refuses a whole result for one content or one
// tool that it does not know. Such a content becomes a text that names it, such a tool is dropped.
func repair(result json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return result
	}
	switch {
	case members["content"] != nil && !readable[sdk.CallToolResult](result):
		return repairCall(members)
	case members["tools"] != nil && !readable[sdk.ListToolsResult](result):
		return repairTools(members)
	}
	return result
}

// readable reports whether the SDK can decode data as a T. It panics at some.
func readable[T any](data json.RawMessage) bool {
	var into T
	return protected(func() error { return json.Unmarshal(data, &into) }) == nil
}

func repairCall(members map[string]json.RawMessage) json.RawMessage {
	fixed := map[string]any{"content": each(members["content"], repairContent)}
	if structured := members["structuredContent"]; structured != nil {
		fixed["structuredContent"] = structured
	}
	if isError := members["isError"]; isError != nil {
		fixed["isError"] = string(isError) != "false"
	}
	return encode(fixed)
}

func repairContent(content json.RawMessage) json.RawMessage {
	if readable[sdk.CallToolResult](encode(map[string]any{"content": []json.RawMessage{content}})) {
		return content
	}
	var named struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(content, &named) != nil || named.Type == "" {
		named.Type = "unknown type"
	}
	return encode(map[string]any{"type": "text", "text": fmt.Sprintf("[content omitted: %.100q cannot be read]", named.Type)})
}

func repairTools(members map[string]json.RawMessage) json.RawMessage {
	fixed := map[string]any{"tools": each(members["tools"], repairTool)}
	if cursor := members["nextCursor"]; readable[string](cursor) {
		fixed["nextCursor"] = cursor
	}
	return encode(fixed)
}

// repairTool returns what is needed of a tool. It returns nil if even that cannot be read.
func repairTool(tool json.RawMessage) json.RawMessage {
	if readable[sdk.Tool](tool) {
		return tool
	}
	var known struct {
		Name        string          `json:"name"`
		Description any             `json:"description"`
		Schema      json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(tool, &known) != nil || known.Name == "" {
		return nil
	}
	description, _ := known.Description.(string)
	return encode(map[string]any{"name": known.Name, "description": description, "inputSchema": known.Schema})
}

// each changes the elements of an array, and drops those that become nil. It returns none if array is not one.
func each(array json.RawMessage, change func(json.RawMessage) json.RawMessage) []json.RawMessage {
	var elements []json.RawMessage
	if json.Unmarshal(array, &elements) != nil {
		elements = nil
	}
	changed := make([]json.RawMessage, 0, len(elements))
	for _, element := range elements {
		if c := change(element); c != nil {
			changed = append(changed, c)
		}
	}
	return changed
}

// encode returns the JSON of a value that has one.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}
