package testclient

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Initialize initializes the protocol with all optional updates. It returns the agent's capabilities.
func (e *Editor) Initialize() json.RawMessage {
	e.t.Helper()
	return e.InitializeWith(nil)
}

// InitializeWith is Initialize with further capabilities of the client.
func (e *Editor) InitializeWith(further map[string]any) json.RawMessage {
	e.t.Helper()
	capabilities := map[string]any{
		"session": map[string]any{"compaction": map[string]any{}, "notices": map[string]any{}},
	}
	maps.Copy(capabilities, further)
	var result struct {
		ProtocolVersion   int             `json:"protocolVersion"`
		AgentCapabilities json.RawMessage `json:"agentCapabilities"`
	}
	err := e.Call("initialize", map[string]any{
		"protocolVersion":    1,
		"clientInfo":         map[string]any{"name": "testclient", "version": "1"},
		"clientCapabilities": capabilities,
	}, &result)
	if err == nil && result.ProtocolVersion != 1 {
		err = fmt.Errorf("initialize: protocol version %d", result.ProtocolVersion)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return result.AgentCapabilities
}

// NewSession creates a session in a folder and returns its id.
func (e *Editor) NewSession(cwd string) string {
	e.t.Helper()
	var result struct {
		SessionID string `json:"sessionId"`
	}
	err := e.Call("session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}, &result)
	if err == nil && result.SessionID == "" {
		err = fmt.Errorf("session/new: no session id")
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return result.SessionID
}

// Turn is a sent prompt.
type Turn struct {
	*Request
	session string
}

// Reply is the result of a turn, with the frames before it.
type Reply struct {
	StopReason string
	Result     json.RawMessage // the whole result
	Frames     Frames          // of the session, between the prompt and its response
}

// Said returns the text of the agent's message.
func (r Reply) Said() string { return r.Frames.Text(AgentChunk) }

// Start sends a text prompt and does not wait.
func (e *Editor) Start(session, text string) *Turn {
	return e.StartWith(session, []any{map[string]any{"type": "text", "text": text}}, "")
}

// StartWith sends a prompt with any content blocks and does not wait. With a promptID (optional), the same prompt can be
// sent again without a second request to the model.
func (e *Editor) StartWith(session string, blocks []any, promptID string) *Turn {
	params := map[string]any{"sessionId": session, "prompt": blocks}
	if promptID != "" {
		params["_meta"] = map[string]any{"strata": map[string]any{"promptId": promptID}}
	}
	return &Turn{e.Go("session/prompt", params), session}
}

// Prompt sends a text prompt and waits for the end of its turn.
func (e *Editor) Prompt(session, text string) (Reply, error) { return e.Start(session, text).Wait() }

// Wait waits for the end of the turn.
func (t *Turn) Wait() (Reply, error) {
	frame, err := t.reply()
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", t.method, err)
	}
	reply := Reply{Result: frame.Result, Frames: t.editor.Frames()[t.start:frame.N].Of(t.session)}
	var result struct {
		StopReason string `json:"stopReason"`
	}
	if err := json.Unmarshal(frame.Result, &result); err != nil {
		return reply, fmt.Errorf("%s: %w", t.method, err)
	}
	reply.StopReason = result.StopReason
	return reply, nil
}

// Cancel cancels the running turn of a session.
func (e *Editor) Cancel(session string) error {
	return e.Notify("session/cancel", map[string]any{"sessionId": session})
}

// Attached is the result of Attach.
type Attached struct {
	Epoch    string          `json:"epoch"`
	Seq      uint64          `json:"seq"`
	Running  string          `json:"running"` // turn; empty for none
	Complete bool            `json:"complete"`
	Snapshot json.RawMessage `json:"snapshot"`
}

// Attach subscribes to all events of a session after the given position; the zero value means the start.
func (e *Editor) Attach(session string, seen Place) (Attached, error) {
	params := map[string]any{"sessionId": session}
	if seen.Epoch != "" {
		params["epoch"], params["after"] = seen.Epoch, seen.Seq
	}
	var result Attached
	err := e.Call("_strata/session/attach", params, &result)
	return result, err
}

// Results returns the texts of the results of all calls in the newest turn of a session, each with a line break.
func (e *Editor) Results(session string) (string, error) {
	var list struct {
		Messages []struct {
			TurnID string `json:"turnId"`
			Blocks []struct {
				Type    string `json:"type"`
				Content []struct{ Text string }
			}
		}
	}
	if err := e.Call("_strata/history/list", map[string]any{"sessionId": session}, &list); err != nil {
		return "", err
	}
	var results strings.Builder
	for _, message := range list.Messages {
		if message.TurnID != list.Messages[len(list.Messages)-1].TurnID {
			continue
		}
		for _, block := range message.Blocks {
			if block.Type != "tool_result" {
				continue
			}
			for _, part := range block.Content {
				results.WriteString(part.Text + "\n")
			}
		}
	}
	return results.String(), nil
}
