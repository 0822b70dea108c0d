package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/servers"
)

// mcpSource runs MCP servers that are ready at once with a tool echo; those whose program is missing, and those over HTTP, fail.
type mcpSource struct {
	mu   sync.Mutex
	uses []*mcpServer
}

// Use implements servers.Source.
func (s *mcpSource) Use(d servers.Definition, at servers.Place, changed func()) servers.Server {
	u := &mcpServer{source: s, definition: d, place: at}
	switch {
	case d.Command == "missing":
		u.state = servers.State{Status: servers.Failed, Error: "missing: program not found"}
	case d.URL != "":
		u.state = servers.State{Status: servers.Failed, Error: "HTTP 401 Unauthorized: the server needs an authorization header"}
	default:
		u.state = servers.State{Status: servers.Ready, Tools: []servers.Tool{{Name: "echo", Title: "Echo", Description: "Echoes", Schema: json.RawMessage(`{"type":"object"}`)}}}
	}
	s.mu.Lock()
	s.uses = append(s.uses, u)
	s.mu.Unlock()
	changed()
	return u
}

// running returns the servers in use, sorted: the name and the arguments.
func (s *mcpSource) running() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, u := range s.uses {
		if !u.released {
			all = append(all, strings.Join(append([]string{u.definition.Name}, u.definition.Args...), " "))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

type mcpServer struct {
	source     *mcpSource
	definition servers.Definition
	place      servers.Place
	state      servers.State
	released   bool // guarded by the source
}

// State implements servers.Server.
func (u *mcpServer) State() servers.State { return u.state }

// Wake implements servers.Server.
func (u *mcpServer) Wake() {}

// Release implements servers.Server.
func (u *mcpServer) Release() {
	u.source.mu.Lock()
	defer u.source.mu.Unlock()
	u.released = true
}

// Call implements servers.Server.
func (u *mcpServer) Call(_ context.Context, tool string, input json.RawMessage, _ func(string)) (servers.Result, error) {
	return servers.Result{Content: []history.Block{{Type: history.BlockText, Text: u.definition.Name + " " + tool + string(input)}}}, nil
}

// startMCP starts a server with MCP servers whose model calls the tools that a prompt names.
func startMCP(t *testing.T, configured ...servers.Definition) (*testServer, *mcpSource) {
	t.Helper()
	source := new(mcpSource)
	return startServer(t, func(o *Options) {
		o.Sessions.Tools = session.ToolSettings{Enabled: true, MaxSteps: 100}
		o.Sessions.DefaultConfig = history.Config{Model: "offline/actor"}
		o.MCP, o.MCPServers = source, configured
	}), source
}

// named returns an MCP server as ACP has it.
func named(name, command string, args ...string) map[string]any {
	return map[string]any{"name": name, "command": command, "args": append([]string{}, args...), "env": []any{}}
}

// opens calls a method that opens a session with MCP servers, and returns the session's id.
func opens(t *testing.T, e *testclient.Editor, method, sid, cwd string, all ...any) string {
	t.Helper()
	params := map[string]any{"cwd": cwd, "mcpServers": append([]any{}, all...)}
	if sid != "" {
		params["sessionId"] = sid
	}
	var made struct{ SessionID string }
	must(t, e.Call(method, params, &made))
	if made.SessionID == "" {
		made.SessionID = sid
	}
	must(t, e.Call("_strata/session/info", map[string]any{"sessionId": made.SessionID}, nil)) // after the servers are used
	return made.SessionID
}

// Each way to open a session uses the configured servers and those that the editor names.
func TestTheMCPServersOfASession(t *testing.T) {
	t.Parallel()
	ts, source := startMCP(t, servers.Definition{Name: "db", Command: "db"})
	e := ts.editor()
	want := func(what, all string) {
		t.Helper()
		if got := source.running(); got != all {
			t.Errorf("%s: the servers are %s, want %s", what, got, all)
		}
	}
	sid := opens(t, e, "session/new", "", ts.work, named("web", "web", "--one"))
	want("new", "db, web --one")
	opens(t, e, "session/load", sid, ts.work)
	want("load", "db, web --one")
	opens(t, e, "session/resume", sid, ts.work, named("web", "web", "--two"), named("git", "git"))
	want("resume", "db, git, web --two")
	must(t, e.Call("session/close", map[string]any{"sessionId": sid}, nil))
	want("close", "")

	must(t, e.Call("_strata/session/attach", map[string]any{"sessionId": sid}, nil))
	must(t, e.Call("_strata/context/report", map[string]any{"sessionId": sid}, nil))
	want("attach", "")
	opens(t, e, "session/load", sid, ts.work, named("web", "web"))
	want("load with servers", "db, web")
	copied := opens(t, e, "_strata/session/fork", sid, ts.work)
	want("a copy of ours", "db, db, web, web")
	opens(t, e, "session/fork", sid, ts.work, named("git", "git"))
	want("a copy with other servers", "db, db, db, git, web, web")
	must(t, e.Call("session/delete", map[string]any{"sessionId": copied}, nil))
	want("delete", "db, db, git, web")
	ts.close()
	want("the end of the server", "")
}

// A prompt starts the configured servers of a session that was only attached to. The user is asked before a tool runs.
func TestAnMCPToolIsCalled(t *testing.T) {
	t.Parallel()
	ts, source := startMCP(t, servers.Definition{Name: "my db", Command: "db"})
	e := ts.editor()
	e.Serve(wire.MethodRequestPermission, func(params json.RawMessage) (any, *rpc.Error) {
		if !strings.Contains(string(params), `"title":"my_db__echo"`) {
			t.Errorf("the question is %s", params)
		}
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow_once"}}, nil
	})
	sid := e.NewSession(ts.work)
	must(t, e.Call("session/close", map[string]any{"sessionId": sid}, nil))
	must(t, e.Call("_strata/session/attach", map[string]any{"sessionId": sid}, nil))
	mustPrompt(t, e, sid, `call my_db__echo {"n": 1}`)
	if got, failed := lastResult(t, e, sid); got != `my db echo{"n": 1}` || failed {
		t.Errorf("the result is %q, %t", got, failed)
	}
	if got := source.running(); got != "my db" {
		t.Errorf("the servers are %s", got)
	}
	updates := e.Frames().Of(sid).Kind("tool_call_update")
	if last := string(updates[len(updates)-1].Params); !strings.Contains(last, `"kind":"other","status":"completed"`) {
		t.Errorf("the last update is %s", last)
	}
}

// A prompt right after the response has the tools of the servers that the request named.
func TestAPromptAfterTheResponseHasTheTools(t *testing.T) {
	t.Parallel()
	ts, _ := startMCP(t)
	e := ts.editor()
	e.Serve(wire.MethodRequestPermission, func(json.RawMessage) (any, *rpc.Error) {
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow_once"}}, nil
	})
	sid := e.NewSession(ts.work)
	for i := range 20 {
		method := []string{"session/load", "session/resume", "session/fork", "session/new"}[i%4]
		must(t, e.Call("session/close", map[string]any{"sessionId": sid}, nil))
		var made struct{ SessionID string }
		must(t, e.Call(method, map[string]any{"sessionId": sid, "cwd": ts.work, "mcpServers": []any{named("web", "web")}}, &made))
		sid = cmp.Or(made.SessionID, sid)
		mustPrompt(t, e, sid, `call web__echo {}`)
		if got, failed := lastResult(t, e, sid); got != "web echo{}" || failed {
			t.Fatalf("after %s: %q", method, got)
		}
	}
}

// Whoever opens a session with a server that fails gets a notice, also if that happens at once.
func TestAnMCPServerThatFailsIsANotice(t *testing.T) {
	t.Parallel()
	ts, _ := startMCP(t)
	e := ts.editor()
	sid := opens(t, e, "session/new", "", ts.work, named("web", "missing"))
	e.Expect(testclient.Sees(sid, "notice"))
	if got := rawOf(e.Frames().Of(sid).Kind("notice")); !strings.Contains(got, "MCP server web: failed: missing: program not found") {
		t.Errorf("the notice is %s", got)
	}
	mustPrompt(t, e, sid, "say hello")
}

func TestWrongMCPServersAreRefused(t *testing.T) {
	t.Parallel()
	ts, source := startMCP(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, method := range []string{"session/new", "session/load", "session/resume", "session/fork"} {
		for server, want := range map[string]string{
			`{"name":"web","type":"sse","url":"https://example.org/sse","headers":[]}`: "params.mcpServers[0].type: sse is not supported",
			`{"name":"web"}`: "params.mcpServers[0].command is missing",
		} {
			params := map[string]any{"sessionId": sid, "cwd": ts.work, "mcpServers": json.RawMessage("[" + server + "]")}
			err := e.Call(method, params, nil)
			wireFault(t, err, rpc.CodeInvalidParams)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", method, err, want)
			}
		}
	}
	if got := source.running(); got != "" {
		t.Errorf("the servers are %s", got)
	}
	var result struct {
		MCPCapabilities struct{ HTTP, SSE bool }
	}
	other := testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal())
	if err := json.Unmarshal(other.Initialize(), &result); err != nil {
		t.Fatal(err)
	}
	if can := result.MCPCapabilities; !can.HTTP || can.SSE {
		t.Errorf("the capabilities are %+v", can)
	}
}

// The server's info lists the MCP servers, and an event says that it has changed.
func TestTheServerInfoListsMCPServers(t *testing.T) {
	t.Parallel()
	ts, _ := startMCP(t, servers.Definition{Name: "db", Command: "db"})
	e := ts.editor()
	must(t, e.Call("_strata/server/subscribe", nil, nil))
	list := func() string {
		t.Helper()
		var info struct{ MCPServers json.RawMessage }
		must(t, e.Call("_strata/server/info", nil, &info))
		return string(info.MCPServers)
	}
	changed := func(n int) testclient.Condition {
		return testclient.Condition{Name: fmt.Sprint(n, " events"), Met: func(fs testclient.Frames) bool {
			seen := 0
			for _, f := range fs {
				if f.Method == wire.MethodServerEvent && string(f.Params) == `{"type":"mcp_servers"}` {
					seen++
				}
			}
			return seen >= n
		}}
	}
	unused := `[{"name":"db","transport":"stdio","source":"config","state":"unused","sessions":0,"tools":[]}]`
	if got := list(); got != unused {
		t.Errorf("at first: %s", got)
	}
	sid := opens(t, e, "session/new", "", ts.work, named("web", "missing"))
	e.Expect(changed(1))
	want := `[{"name":"db","transport":"stdio","source":"config","state":"ready","sessions":1,"tools":[{"name":"echo","title":"Echo","description":"Echoes"}]},` +
		`{"name":"web","transport":"stdio","source":"client","state":"failed","error":"missing: program not found","sessions":1,"tools":[]}]`
	if got := list(); got != want {
		t.Errorf("in use: %s", got)
	}
	mark := len(e.Frames())
	must(t, e.Call("session/close", map[string]any{"sessionId": sid}, nil))
	e.Expect(testclient.Condition{Name: "an event after the end", Met: func(fs testclient.Frames) bool { return changed(1).Met(fs[mark:]) }})
	if got := list(); got != unused {
		t.Errorf("at the end: %s", got)
	}
}
