package bench

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"strata/internal/binary"
	"strata/rpc"
)

// editor is a client that only decodes deltas, as an editor must. testclient keeps and searches all frames, which would
// cost more than the measured work.
type editor struct {
	*rpc.Client

	mu    sync.Mutex
	bytes int       // of the agent's text
	first time.Time // of its first delta

	complete chan<- time.Time // gets the time of the event that an index is complete, once; nil if nobody waits
}

// connect opens and initializes a connection to a server. It ends with the benchmark.
func connect(b *testing.B, info binary.Info) *editor {
	b.Helper()
	e := &editor{}
	e.Client = must(rpc.Dial(b.Context(), info.WebSocket(), rpc.DialOptions{
		Header: bearer(info), OnNotification: e.notified,
	}))(b)
	b.Cleanup(func() { e.Close() })
	e.call(b, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}, nil)
	return e
}

func bearer(info binary.Info) http.Header {
	return http.Header{"Authorization": {"Bearer " + info.Token}}
}

func (e *editor) notified(method string, params json.RawMessage) {
	if method == "_strata/event" {
		e.noteIndex(params)
		return
	}
	var p struct {
		Update struct {
			Kind    string          `json:"sessionUpdate"`
			Content json.RawMessage `json:"content"`
		} `json:"update"`
	}
	if method != "session/update" || json.Unmarshal(params, &p) != nil || p.Update.Kind != "agent_message_chunk" {
		return
	}
	now := time.Now()
	var content struct{ Text string }
	_ = json.Unmarshal(p.Update.Content, &content) // said then reports missing bytes

	e.mu.Lock()
	defer e.mu.Unlock()
	e.bytes += len(content.Text)
	if e.first.IsZero() {
		e.first = now
	}
}

func (e *editor) noteIndex(params json.RawMessage) {
	now := time.Now()
	var event struct {
		Type     string
		Complete bool
	}
	if json.Unmarshal(params, &event) != nil || event.Type != "index" || !event.Complete {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.complete != nil {
		e.complete <- now
		e.complete = nil
	}
}

// said returns the bytes of the agent's text since the last call, and the time of the first one.
func (e *editor) said() (bytes int, first time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	bytes, first = e.bytes, e.first
	e.bytes, e.first = 0, time.Time{}
	return bytes, first
}

func (e *editor) newSession(b *testing.B, cwd string) string {
	b.Helper()
	var result struct {
		SessionID string `json:"sessionId"`
	}
	e.call(b, "session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}, &result)
	return result.SessionID
}

// prompt sends a prompt and waits for the end of its turn. It may be called from any goroutine.
func (e *editor) prompt(session, text string) error {
	return e.Call(context.Background(), "session/prompt", map[string]any{
		"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}},
	}, nil)
}
