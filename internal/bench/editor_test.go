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

// editor is a client that does with deltas what an editor must: it decodes them. testclient keeps and searches all
// frames, which would cost more than what is measured.
type editor struct {
	*rpc.Client

	mu    sync.Mutex
	bytes int       // of the agent's text
	first time.Time // when its first delta came
}

// connect opens a connection to a server and the protocol on it. It ends with the benchmark.
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
	_ = json.Unmarshal(p.Update.Content, &content) // said counts what is missing then

	e.mu.Lock()
	defer e.mu.Unlock()
	e.bytes += len(content.Text)
	if e.first.IsZero() {
		e.first = now
	}
}

// said returns the bytes of the agent's text since it was called last, and when the first of it came.
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

// prompt sends a prompt and waits for the end of its turn. It is for any goroutine.
func (e *editor) prompt(session, text string) error {
	return e.Call(context.Background(), "session/prompt", map[string]any{
		"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}},
	}, nil)
}
