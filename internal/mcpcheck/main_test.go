package mcpcheck

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/rpc"
)

func TestMain(m *testing.M) {
	if words := os.Getenv(shopVariable); words != "" {
		openShop(words)
		return
	}
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	binary.Main(m)
}

// atOnce is the number of concurrent tests: most of them wait for a process or a timer.
const atOnce = "8"

// patience is the time after which a waiting test is considered hung. It is not a measurement.
const patience = time.Minute

// world is a user's home with a running server. Its model does what prompts say.
type world struct {
	*binary.Server
	t *testing.T
}

// newWorld starts a server. More keys can be added to its configuration.
func newWorld(t *testing.T, config string) *world {
	t.Helper()
	home := binary.NewHome(t, "listen: 127.0.0.1:0\nmodel: offline/actor\n"+config)
	return &world{Server: binary.Start(t, home, binary.Options{}), t: t}
}

// configured returns a configuration with the shop as a server over stdio. More keys can be added to it.
func configured(t *testing.T, name, words string) string {
	t.Helper()
	return fmt.Sprintf("mcp_servers:\n  %s:\n    command: %q\n    env: {%s: %q}\n", name, self(t), shopVariable, words)
}

const trusted = "    trust: true\n"

// named returns the shop over stdio as editors name it.
func named(t *testing.T, name, words string, args ...string) map[string]any {
	t.Helper()
	env := []any{map[string]any{"name": shopVariable, "value": words}}
	return map[string]any{"name": name, "command": self(t), "args": append([]string{}, args...), "env": env}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// editor is a client that allows each call for which the server asks.
type editor struct {
	*testclient.Editor
	t     *testing.T
	asked atomic.Int32 // questions
}

func (w *world) editor() *editor {
	w.t.Helper()
	e, err := w.connect()
	must(w.t, err)
	return e
}

// connect is editor for a server that may die.
func (w *world) connect() (*editor, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	header := http.Header{"Authorization": {"Bearer " + w.Token}}
	stream, err := rpc.DialWebSocket(ctx, w.WebSocket(), rpc.DialOptions{Header: header})
	if err != nil {
		return nil, err
	}
	e := &editor{Editor: testclient.New(w.t, stream), t: w.t}
	e.Serve("session/request_permission", func(json.RawMessage) (any, *rpc.Error) {
		e.asked.Add(1)
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow_once"}}, nil
	})
	capabilities := map[string]any{"session": map[string]any{"notices": map[string]any{}}}
	return e, e.Call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities}, nil)
}

// opens opens a session with MCP servers and returns its id. session is "" for a new one.
func (e *editor) opens(method, session, folder string, servers ...any) (string, error) {
	params := map[string]any{"cwd": folder, "mcpServers": append([]any{}, servers...)}
	if session != "" {
		params["sessionId"] = session
	}
	var made struct{ SessionID string }
	err := e.Call(method, params, &made)
	if made.SessionID == "" {
		made.SessionID = session
	}
	return made.SessionID, err
}

// open is opens for requests that must succeed.
func (e *editor) open(method, session, folder string, servers ...any) string {
	e.t.Helper()
	id, err := e.opens(method, session, folder, servers...)
	must(e.t, err)
	return id
}

// end calls a method that ends a session.
func (e *editor) end(method, session string) {
	e.t.Helper()
	must(e.t, e.Call(method, map[string]any{"sessionId": session}, nil))
}

// listed is an MCP server in the server's info.
type listed struct {
	Name, State, Error string
	Sessions           int
	Tools              []struct{ Name string }
}

// lists returns the MCP servers as `NAME STATE SESSIONS`.
func (e *editor) lists() (all []string) {
	e.t.Helper()
	for _, s := range e.list() {
		all = append(all, fmt.Sprintf("%s %s %d", s.Name, s.State, s.Sessions))
	}
	return all
}

func (e *editor) list() []listed {
	e.t.Helper()
	var info struct{ MCPServers []listed }
	must(e.t, e.Call("_strata/server/info", nil, &info))
	return info.MCPServers
}

// called is a call as a client sees it.
type called struct {
	ID, Title, Status string
	Text, Image       string   // of the content that was shown last
	Shown             []string // texts while it ran
}

func (c called) String() string { return fmt.Sprintf("%s %s: %.300q", c.Title, c.Status, c.Text) }

// update is an update of a call.
type update struct {
	Update struct {
		ToolCallID, Title, Status string
		Content                   []struct{ Content struct{ Text, Data string } }
	}
}

// callsIn returns the calls of a session, in their order.
func callsIn(t *testing.T, frames testclient.Frames) (all []*called) {
	t.Helper()
	byID := make(map[string]*called)
	for _, f := range frames {
		if f.Kind != "tool_call" && f.Kind != "tool_call_update" {
			continue
		}
		var u update
		must(t, json.Unmarshal(f.Params, &u))
		c := byID[u.Update.ToolCallID]
		if c == nil {
			c = &called{ID: u.Update.ToolCallID}
			byID[c.ID] = c
			all = append(all, c)
		}
		c.take(&u)
	}
	return all
}

func (c *called) take(u *update) {
	if u.Update.Title != "" {
		c.Title = u.Update.Title
	}
	if u.Update.Status != "" {
		c.Status = u.Update.Status
	}
	if len(u.Update.Content) == 0 {
		return
	}
	c.Text, c.Image = "", ""
	for _, block := range u.Update.Content {
		c.Text += block.Content.Text
		c.Image += block.Content.Data
	}
	if c.Status == "in_progress" {
		c.Shown = append(c.Shown, c.Text)
	}
}

// plays sends a prompt that says what the model does, and returns the calls of the turn, which must not fail.
func (e *editor) plays(session string, lines ...string) []*called {
	e.t.Helper()
	return e.finishes(e.Start(session, strings.Join(lines, "\n")))
}

// finishes waits for the end of a turn.
func (e *editor) finishes(turn *testclient.Turn) []*called {
	e.t.Helper()
	reply, err := turn.Wait()
	if err != nil || reply.StopReason != "end_turn" {
		e.t.Fatalf("the turn ended with %q, %v", reply.StopReason, err)
	}
	return callsIn(e.t, reply.Frames)
}

// gate is a file for which the shop waits until it is opened.
func (w *world) gate(name string) string { return filepath.Join(w.Home.Project, name) }

func (w *world) open(gate string) {
	w.t.Helper()
	must(w.t, os.WriteFile(gate, nil, 0o600))
}

// uses lets the model call one tool.
func (e *editor) uses(session, tool, input string) *called {
	e.t.Helper()
	calls := e.plays(session, "call "+tool+" "+input)
	if len(calls) != 1 {
		e.t.Fatalf("the turn has %d calls", len(calls))
	}
	return calls[0]
}

// finds lets the model ask a server where it is.
func (e *editor) finds(session, server string) (p place) {
	e.t.Helper()
	c := e.uses(session, server+"__where", "{}")
	if err := json.Unmarshal([]byte(c.Text), &p); err != nil || c.Status != "completed" {
		e.t.Fatalf("%s, %v", c, err)
	}
	return p
}

// eventually waits until met returns true, for conditions without an event.
func eventually(t *testing.T, what string, met func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(patience); !met(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
