package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/rpc"
)

// deployed is a session with a tool, deploy, that can change something.
type deployed struct {
	*user
	session string
	plugin  *rpc.Client  // runs the tool
	ran     atomic.Int32 // how often the tool was called
}

func newDeployed(t *testing.T) *deployed {
	t.Helper()
	open := make(chan struct{})
	close(open)
	return newHeld(t, open)
}

// newHeld is newDeployed with a tool that waits for gate.
func newHeld(t *testing.T, gate <-chan struct{}) *deployed {
	t.Helper()
	d := &deployed{user: newUser(t, "model: offline/actor\n")}
	d.plugin = d.connects(nil)
	d.plugin.Serve("_strata/tool/call", func(context.Context, json.RawMessage) (any, error) {
		d.ran.Add(1)
		select {
		case <-gate:
		case <-t.Context().Done(): // the test has failed
		}
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": "It is out."}}}, nil
	})
	tool := map[string]any{"name": "deploy", "description": "Deploys", "kind": "execute", "inputSchema": map[string]any{"type": "object"}}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	d.calls("session/new", map[string]any{
		"cwd": d.home, "mcpServers": []any{}, "_meta": map[string]any{"strata": map[string]any{"tools": []any{tool}}},
	}, &made)
	d.session = made.SessionID
	return d
}

// connects returns another client, which is asked if asked is not nil. It ends with the test.
func (u *user) connects(asked func(context.Context, json.RawMessage) (any, error)) *rpc.Client {
	u.t.Helper()
	client, err := connect.OpenWith(u.t.Context(), &cli.Process{Getenv: u.getenv}, connect.Handlers{Asked: asked})
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { client.Close() })
	return client
}

func (d *deployed) calls(method string, params map[string]any, result any) {
	d.t.Helper()
	if err := d.plugin.Call(d.t.Context(), method, params, result); err != nil {
		d.t.Fatal(err)
	}
}

// has checks the approval of the session and how often the tool has run.
func (d *deployed) has(approval string, runs int32) {
	d.t.Helper()
	var info struct {
		Config struct {
			Approval string `json:"approval"`
		} `json:"config"`
	}
	d.calls("_strata/session/info", map[string]any{"sessionId": d.session}, &info)
	if info.Config.Approval != approval || d.ran.Load() != runs {
		d.t.Errorf("the session has the approval %s, and the tool has run %d times; want %s and %d", info.Config.Approval, d.ran.Load(), approval, runs)
	}
}

// asked runs strata ask without a terminal.
func (d *deployed) asked(flags ...string) (out, notes string) {
	d.t.Helper()
	var o, n strings.Builder
	args := append([]string{"ask", "--session", d.session}, flags...)
	if code := run(d.t.Context(), args, strings.NewReader("call deploy {\"n\": 1}\n"), &o, &n, d.getenv); code != 0 {
		d.t.Fatalf("ended with %d: %s", code, n.String())
	}
	return o.String(), n.String()
}

// awaitTurn waits until a turn is running.
func (d *deployed) awaitTurn() {
	d.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for giveUp := time.Now().Add(patience); time.Now().Before(giveUp); <-tick.C {
		if strings.Contains(d.runs("sessions", "show", d.session), ", running\n") {
			return
		}
	}
	d.t.Fatal("no turn runs")
}

// Without a terminal, a turn is read-only, and the session has its own approval again after it.
func TestATurnWithoutATerminalIsReadOnly(t *testing.T) {
	d := newDeployed(t)
	for _, approval := range []string{"ask", "auto"} {
		d.calls("session/set_config_option", map[string]any{"sessionId": d.session, "configId": "approval", "value": approval}, nil)
		if _, notes := d.asked(); !strings.Contains(notes, "[deploy: failed]\n") {
			t.Errorf("%s: %s", approval, notes)
		}
		d.has(approval, 0)
	}
	if shown := d.runs("sessions", "export", d.session); !strings.Contains(shown, "the session is read-only") {
		t.Errorf("the session is\n%s", shown)
	}
	if out, notes := d.asked("--json"); !strings.HasPrefix(lastLine(out), `{"result":`) || notes != "" {
		t.Errorf("the last line is %s; notes: %s", lastLine(out), notes)
	}
}

// --approval counts without a terminal too, and the session keeps it. What the user would be asked about is rejected.
func TestApprovalsWithoutATerminal(t *testing.T) {
	d := newDeployed(t)
	d.asked("--approval", "read-only")
	d.has("read-only", 0)
	if _, notes := d.asked("--approval", "auto"); !strings.Contains(notes, "[deploy: rejected: there is no terminal to ask on]\n[deploy: failed]\n") {
		t.Errorf("notes: %s", notes)
	}
	d.has("auto", 0)
	out, _ := d.asked("--approval", "edits", "--json")
	if !strings.Contains(out, `"permissionRequest":`) || !strings.Contains(out, `"message":"strata ask has no terminal, so it cannot ask the user."`) {
		t.Errorf("lines: %s", out)
	}
	d.has("edits", 0)
}

// With --approval ask and no terminal, another client answers.
func TestAnotherClientApproves(t *testing.T) {
	d := newDeployed(t)
	window := d.connects(func(context.Context, json.RawMessage) (any, error) {
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow_once"}}, nil
	})
	if err := window.Call(t.Context(), "_strata/session/attach", map[string]any{"sessionId": d.session}, nil); err != nil {
		t.Fatal(err)
	}
	if _, notes := d.asked("--approval", "ask"); strings.Contains(notes, "deploy: ") {
		t.Errorf("notes: %s", notes)
	}
	d.has("ask", 1)
}

// The approval of a running turn is that of its client.
func TestTheApprovalOfARunningTurnStays(t *testing.T) {
	d := newDeployed(t)
	ended := make(chan error, 1)
	go func() {
		prompt := []any{map[string]any{"type": "text", "text": "wait 60s"}}
		ended <- d.plugin.Call(t.Context(), "session/prompt", map[string]any{"sessionId": d.session, "prompt": prompt}, nil)
	}()
	d.awaitTurn()
	var notes strings.Builder
	for _, flags := range [][]string{nil, {"--approval", "auto"}} {
		notes.Reset()
		args := append([]string{"ask", "--session", d.session, "say hello"}, flags...)
		if code := run(t.Context(), args, strings.NewReader(""), &notes, &notes, d.getenv); code != int(cli.Failed) || !strings.Contains(notes.String(), "busy") {
			t.Errorf("%v: ended with %d: %s", flags, code, notes.String())
		}
		d.has("ask", 0)
	}
	if err := d.plugin.Notify(t.Context(), "session/cancel", map[string]any{"sessionId": d.session}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
