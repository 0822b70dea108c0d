package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"strata/history"
	"strata/internal/clip"
	"strata/internal/exact"
	"strata/session/clients"
	"strata/session/toolbox"
)

// MethodReadTextFile is ACP's request to an editor for a file as the editor shows it.
const MethodReadTextFile = "fs/read_text_file"

// ReadTextFileParams are the parameters of fs/read_text_file.
type ReadTextFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`  // from 1
	Limit     int    `json:"limit,omitempty"` // maximum number of lines
}

// ReadTextFileContent returns the text in a result of fs/read_text_file.
func ReadTextFileContent(result json.RawMessage) (string, error) {
	var read struct {
		Content *string `json:"content"`
	}
	if json.Unmarshal(result, &read) != nil || read.Content == nil {
		return "", errors.New("result.content must be text")
	}
	return *read.Content, nil
}

// MethodWriteTextFile is ACP's request to an editor to write a file. Its result says nothing.
const MethodWriteTextFile = "fs/write_text_file"

// WriteTextFileParams are the parameters of fs/write_text_file.
type WriteTextFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// MethodRequestPermission is ACP's request to a client to ask the user whether a call may run.
const MethodRequestPermission = "session/request_permission"

// PermissionParams are the parameters of session/request_permission.
type PermissionParams struct {
	SessionID string             `json:"sessionId"`
	Call      ToolCallUpdate     `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
}

// PermissionOption is an answer that the user can select.
type PermissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// NewPermissionParams returns the parameters of a question in a session.
func NewPermissionParams(sessionID string, p clients.Permission) PermissionParams {
	params := PermissionParams{SessionID: sessionID, Call: callUpdate(p.Call)}
	params.Call.Kind = ""
	for _, o := range p.Options {
		params.Options = append(params.Options, PermissionOption{ID: o.ID, Name: o.Name, Kind: o.Kind})
	}
	return params
}

// PermissionAnswer returns the answer in a result of session/request_permission. The error is clients.ErrDismissed for the
// outcome cancelled.
func PermissionAnswer(raw json.RawMessage) (clients.Answer, error) {
	var in struct {
		Outcome struct {
			Outcome  string `json:"outcome" need:"content"`
			OptionID string `json:"optionId"`
		} `json:"outcome" need:"value"`
		Meta struct {
			Strata struct {
				Message string `json:"message"`
			} `json:"strata"`
		} `json:"_meta"`
	}
	if err := exact.Decode(raw, "result", &in); err != nil {
		return clients.Answer{}, err
	}
	switch in.Outcome.Outcome {
	case "selected":
		return clients.Answer{OptionID: in.Outcome.OptionID, Words: clip.Bytes(strings.TrimSpace(in.Meta.Strata.Message), clients.MaxWords)}, nil
	case "cancelled":
		return clients.Answer{}, clients.ErrDismissed
	}
	return clients.Answer{}, &exact.Error{Path: "result.outcome.outcome", Want: "must be selected or cancelled"}
}

// MethodCallTool is the request to a client to run a tool that it has declared.
const MethodCallTool = "_strata/tool/call"

// CallToolParams are the parameters of _strata/tool/call.
type CallToolParams struct {
	SessionID string          `json:"sessionId"`
	CallID    string          `json:"toolCallId"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// The bounds of a result of _strata/tool/call.
const (
	maxCallResult = 8 << 20 // bytes
	maxCallBlocks = 100
)

// CallToolResult returns the content in a result of _strata/tool/call.
func CallToolResult(raw json.RawMessage) (toolbox.Result, error) {
	if len(raw) > maxCallResult {
		return toolbox.Result{}, fmt.Errorf("%d bytes exceeds the limit of %d", len(raw), maxCallResult)
	}
	var in struct {
		Content []ContentBlock `json:"content" need:"value"`
		IsError bool           `json:"isError"`
	}
	if err := exact.Decode(raw, "result", &in); err != nil {
		return toolbox.Result{}, err
	}
	if in.Content == nil { // the whole result is null
		return toolbox.Result{}, exact.Missing("result.content")
	}
	if n := len(in.Content); n > maxCallBlocks {
		return toolbox.Result{}, fmt.Errorf("result.content: %d blocks exceeds the limit of %d", n, maxCallBlocks)
	}
	result := toolbox.Result{IsError: in.IsError}
	for i := range in.Content {
		b, err := in.Content[i].resultBlock()
		if err != nil {
			err.Path = fmt.Sprintf("result.content[%d]%s", i, err.Path)
			return toolbox.Result{}, err
		}
		result.Content = append(result.Content, b)
	}
	return result, nil
}

// resultBlock returns a block of a tool's result: a text or an image.
func (c *ContentBlock) resultBlock() (history.Block, *exact.Error) {
	if c.Type != "text" && c.Type != "image" {
		return history.Block{}, &exact.Error{Path: ".type", Want: "must be text or image"}
	}
	return c.block()
}
