package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/clients"
	"strata/session/toolbox"
)

// startActing starts a server whose model calls the tools that a prompt names.
func startActing(t *testing.T) *askable {
	t.Helper()
	ts := &askable{testServer: startServer(t, func(o *Options) {
		o.Sessions.Tools = session.ToolSettings{Enabled: true, MaxSteps: 100}
		o.Sessions.DefaultConfig = history.Config{Model: "offline/actor"}
	})}
	ts.serveTests()
	return ts
}

// declaring returns the _meta of a request that declares tools by name, which change nothing.
func declaring(names ...string) map[string]any {
	all := []any{}
	for _, name := range names {
		all = append(all, map[string]any{
			"name": name, "description": "Does " + name, "inputSchema": map[string]any{"type": "object"}, "kind": "fetch", "readOnly": true,
		})
	}
	return map[string]any{"strata": map[string]any{"tools": all}}
}

// newWith creates a session with a _meta.
func newWith(ts *askable, e *testclient.Editor, meta map[string]any) (string, error) {
	var result struct {
		SessionID string `json:"sessionId"`
	}
	err := e.Call("session/new", map[string]any{"cwd": ts.work, "_meta": meta}, &result)
	return result.SessionID, err
}

// prompting sends a prompt with a _meta and does not wait.
func prompting(e *testclient.Editor, sid, text string, meta map[string]any) *testclient.Request {
	return e.Go("session/prompt", map[string]any{"sessionId": sid, "prompt": []any{map[string]any{"type": "text", "text": text}}, "_meta": meta})
}

// lastResult returns the text and the error flag of the newest tool result.
func lastResult(t *testing.T, e *testclient.Editor, sid string) (text string, failed bool) {
	t.Helper()
	for _, m := range slices.Backward(transcript(t, e, sid)) {
		if m.Role == history.RoleTool {
			b := m.Blocks[0]
			return b.Content[0].Text, b.IsError
		}
	}
	t.Fatal("there is no result")
	return "", false
}

func said(text string) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
}

// A tool that session/new declares is called on its connection, after the call was announced.
func TestAFrontendsToolIsCalled(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e := ts.editor()
	sid, err := newWith(ts, e, declaring("zoom"))
	if err != nil {
		t.Fatal(err)
	}
	turn := prompting(e, sid, `call zoom {"n": 1}`, nil)
	asked := e.Asked(wire.MethodCallTool, 1)
	var params wire.CallToolParams
	if err := json.Unmarshal(asked.Params, &params); err != nil {
		t.Fatal(err)
	}
	if params.SessionID != sid || params.Name != "zoom" || string(params.Input) != `{"n":1}` || !strings.HasPrefix(params.CallID, "tc_") {
		t.Errorf("the request is %s", asked.Params)
	}
	var told []string
	for _, f := range e.Frames()[:asked.N].Of(sid) {
		if strings.Contains(string(f.Params), params.CallID) {
			told = append(told, f.Kind)
		}
	}
	if !slices.Equal(told, []string{"tool_call", "tool_call_update"}) {
		t.Errorf("before the request came %v", told)
	}
	if err := e.Respond(asked, said("closer")); err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(nil); err != nil {
		t.Fatal(err)
	}
	if got, failed := lastResult(t, e, sid); got != "closer" || failed {
		t.Errorf("the result is %q, %t", got, failed)
	}
	updates := e.Frames().Of(sid).Kind("tool_call_update")
	if last := string(updates[len(updates)-1].Params); !strings.Contains(last, `"title":"zoom","kind":"fetch","status":"completed"`) {
		t.Errorf("the last update is %s", last)
	}
}

// A prompt replaces the declared tools, or leaves them.
func TestAPromptDeclaresTools(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e := ts.editor()
	e.Serve(wire.MethodCallTool, func(params json.RawMessage) (any, *rpc.Error) { return said("called"), nil })
	sid := e.NewSession(ts.work)
	for i, step := range []struct {
		meta map[string]any
		want string // begin of the result of zoom
	}{
		{nil, `there is no tool "zoom"`},
		{declaring("zoom"), "called"},
		{nil, "called"},
		{map[string]any{"strata": map[string]any{"tools": nil}}, "called"},
		{declaring("pan"), "zoom was not run: it is no longer available"},
		{nil, "there is no tool"},
		{declaring("zoom", "pan"), "called"},
		{declaring(), "zoom was not run: it is no longer available"},
	} {
		if err := prompting(e, sid, "call zoom", step.meta).Wait(nil); err != nil {
			t.Fatal(err)
		}
		if got, _ := lastResult(t, e, sid); !strings.HasPrefix(got, step.want) {
			t.Errorf("prompt %d: the result is %q, want %q", i, got, step.want)
		}
	}
}

// A wrong declaration is refused by the name of the member, and nothing takes effect.
func TestWrongDeclarationsAreRefused(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e := ts.editor()
	e.Serve(wire.MethodCallTool, func(json.RawMessage) (any, *rpc.Error) { return said("called"), nil })
	sid, err := newWith(ts, e, declaring("zoom"))
	if err != nil {
		t.Fatal(err)
	}
	tool := func(change func(tool map[string]any)) any {
		one := map[string]any{"name": "pan", "description": "", "inputSchema": map[string]any{"type": "object"}, "kind": "other"}
		change(one)
		return []any{one}
	}
	for want, tools := range map[string]any{
		"tools: must be a list":                                        7,
		"tools[0]: must be an object":                                  []any{"zoom"},
		"tools[0].name is missing":                                     tool(func(d map[string]any) { delete(d, "name") }),
		`tools[0].name: "a/b" must have 1 to 64`:                       tool(func(d map[string]any) { d["name"] = "a/b" }),
		"tools[0].name: read_file is a built-in tool":                  tool(func(d map[string]any) { d["name"] = "read_file" }),
		"tools[0].kind is missing":                                     tool(func(d map[string]any) { delete(d, "kind") }),
		`tools[0].kind: "fly" is unknown`:                              tool(func(d map[string]any) { d["kind"] = "fly" }),
		"tools[0].inputSchema is missing":                              tool(func(d map[string]any) { delete(d, "inputSchema") }),
		`tools[0].inputSchema.type: must be "object"`:                  tool(func(d map[string]any) { d["inputSchema"] = map[string]any{} }),
		"tools[0].readOnly: must be ":                                  tool(func(d map[string]any) { d["readOnly"] = "yes" }),
		"tools[0].description: 16385 bytes exceeds the limit of 16384": tool(func(d map[string]any) { d["description"] = strings.Repeat("x", 16385) }),
	} {
		meta := map[string]any{"strata": map[string]any{"tools": tools}}
		_, refused := newWith(ts, e, meta)
		for method, err := range map[string]error{"session/new": refused, "session/prompt": prompting(e, sid, "call zoom", meta).Wait(nil)} {
			fault, ok := errors.AsType[*rpc.Error](err)
			if !ok || fault.Code != rpc.CodeInvalidParams || !strings.Contains(fault.Message, "params._meta.strata."+want) {
				t.Errorf("%s: got %v, want %s", method, err, want)
			}
		}
	}
	var list wire.ListResult
	if err := e.Call("session/list", map[string]any{}, &list); err != nil || len(list.Sessions) != 1 {
		t.Errorf("there are %d sessions, %v", len(list.Sessions), err)
	}
	if all := transcript(t, e, sid); len(all) > 0 {
		t.Errorf("%d messages are stored", len(all))
	}
	if err := prompting(e, sid, "call zoom", nil).Wait(nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := lastResult(t, e, sid); got != "called" {
		t.Errorf("the result is %q", got)
	}
}

// Whatever a frontend responds, the model is told in a sentence, and the turn goes on.
func TestWrongResponsesOfAFrontend(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e := ts.editor()
	sid, err := newWith(ts, e, declaring("zoom"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a"},`, n), ",") }
	n := 0
	for response, want := range map[string]string{
		`"result":null`:                          "zoom failed: the editor's response is invalid: result.content is missing",
		`"result":7`:                             "the editor's response is invalid: result: must be an object",
		`"result":{}`:                            "the editor's response is invalid: result.content is missing",
		`"result":{"content":"text"}`:            "result.content: must be a list",
		`"result":{"content":[{"type":"text"}]}`: "result.content[0].text is missing",
		`"result":{"content":[{"type":"audio","text":"a"}]}`:        "result.content[0].type: must be text or image",
		`"result":{"content":[{"type":"image","data":"!"}]}`:        "result.content[0].data: must be",
		`"result":{"content":[` + blocks(101) + `]}`:                "result.content: 101 blocks exceeds the limit of 100",
		`"result":{"content":[],"isError":"no"}`:                    "result.isError: must be",
		`"result":{"content":[],"isError":true}`:                    "(no output)",
		`"result":{"content":[` + strings.Repeat(" ", 8<<20) + `]}`: "bytes exceeds the limit of 8388608",
		`"error":{"code":-32601,"message":"unknown tool"}`:          "zoom failed: the editor responded: unknown tool (code -32601)",
		`"result":{"content":[]},"error":{"code":1,"message":"m"}`:  "zoom failed: the editor's response is invalid",
	} {
		turn := prompting(e, sid, "call zoom", nil)
		n++
		asked := e.Asked(wire.MethodCallTool, n)
		if err := e.SendRaw(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,` + response + `}`); err != nil {
			t.Fatal(err)
		}
		if err := turn.Wait(nil); err != nil {
			t.Fatal(err)
		}
		if got, failed := lastResult(t, e, sid); !strings.Contains(got, want) || !failed {
			t.Errorf("%.80s: the result is %q, error %t", response, got, failed)
		}
	}
	client := ts.client(e, sid)
	expired, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	_, err = frontend{client.peer, client.session}.CallTool(expired, toolbox.Call{Name: "zoom", Input: json.RawMessage(`{}`)}, 0)
	if !errors.Is(err, clients.ErrLate) {
		t.Errorf("a late response: %v", err)
	}
}

// A cancel ends the turn without waiting for the frontend, which is told.
func TestACancelIsToldToTheFrontend(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e := ts.editor()
	sid, err := newWith(ts, e, declaring("zoom"))
	if err != nil {
		t.Fatal(err)
	}
	turn := prompting(e, sid, "call zoom", nil)
	asked := e.Asked(wire.MethodCallTool, 1)
	if err := e.Cancel(sid); err != nil {
		t.Fatal(err)
	}
	var result wire.PromptResult
	if err := turn.Wait(&result); err != nil || result.StopReason != "cancelled" {
		t.Errorf("the turn ended with %q, %v", result.StopReason, err)
	}
	want := `{"requestId":` + string(asked.ID) + `}`
	e.Expect(testclient.Condition{Name: "a cancellation of " + string(asked.ID), Met: func(fs testclient.Frames) bool {
		return slices.ContainsFunc(fs, func(f testclient.Frame) bool { return f.Method == rpc.MethodCancel && string(f.Params) == want })
	}})
	if got, _ := lastResult(t, e, sid); got != "cancelled by the user" {
		t.Errorf("the result is %q", got)
	}
}

// Of two clients the one that declared last is called, whoever prompts. Once it is gone, the model is told.
func TestTheClientThatDeclaredLastIsCalled(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	first, second := ts.editor(), ts.editor()
	for name, e := range map[string]*testclient.Editor{"first": first, "second": second} {
		e.Serve(wire.MethodCallTool, func(json.RawMessage) (any, *rpc.Error) { return said("the " + name), nil })
	}
	sid, err := newWith(ts, first, declaring("zoom"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	want := func(e *testclient.Editor, meta map[string]any, want string) {
		t.Helper()
		if err := prompting(e, sid, "call zoom", meta).Wait(nil); err != nil {
			t.Fatal(err)
		}
		if got, _ := lastResult(t, e, sid); got != want {
			t.Errorf("the result is %q, want %q", got, want)
		}
	}
	want(second, nil, "the first")
	want(second, declaring("zoom"), "the second")
	want(first, nil, "the second")
	// A client that has unsubscribed still runs its tools.
	if err := second.Call("_strata/session/detach", map[string]any{"sessionId": sid, "unsubscribe": true}, nil); err != nil {
		t.Fatal(err)
	}
	want(first, nil, "the second")
	second.Close()
	<-second.Done()
	if err := prompting(first, sid, "call zoom", nil).Wait(nil); err != nil {
		t.Fatal(err)
	}
	got, failed := lastResult(t, first, sid)
	if !failed || !strings.Contains(got, "is not connected") && !strings.Contains(got, "connection ended before its response") {
		t.Errorf("the result is %q", got)
	}
	want(first, declaring("zoom"), "the first")
}

// A client that leaves in the middle of a call ends the call, not the turn.
func TestAFrontendThatLeavesDuringItsCall(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e, other := ts.editor(), ts.editor()
	sid, err := newWith(ts, e, declaring("zoom"))
	if err != nil {
		t.Fatal(err)
	}
	turn := prompting(other, sid, "call zoom", nil)
	e.Asked(wire.MethodCallTool, 1)
	e.Vanish()
	if err := turn.Wait(nil); err != nil {
		t.Fatal(err)
	}
	if got, failed := lastResult(t, other, sid); got != "zoom failed: the editor's connection ended before its response" || !failed {
		t.Errorf("the result is %q", got)
	}
}

// If the connection that sent the prompt has ended, another subscribed editor reads files; if there is none, the server does.
func TestAnotherEditorReadsFiles(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	if err := os.WriteFile(filepath.Join(ts.work, "a.go"), []byte("on the disk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	connect := func(name string) *testclient.Editor {
		e := ts.withFiles()
		e.Serve(wire.MethodReadTextFile, func(json.RawMessage) (any, *rpc.Error) {
			return map[string]any{"content": "in the " + name + "\n"}, nil
		})
		return e
	}
	first, second, page := connect("first"), connect("second"), ts.editor()
	sid, err := newWith(ts, page, declaring("wait"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*testclient.Editor{first, second} {
		if _, err := e.Attach(sid, testclient.Place{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, turn := range []struct {
		prompts, leaves *testclient.Editor
		want            string
	}{{first, nil, "in the first"}, {first, first, "in the second"}, {second, second, "on the disk"}} {
		before := ts.server.clients.count()
		prompting(turn.prompts, sid, fmt.Sprintf("call wait\n---\ncall read_file {\"path\": \"a.go\"}\n---\nsay turn %d", i), nil)
		asked := page.Asked(wire.MethodCallTool, i+1)
		if turn.leaves != nil {
			turn.leaves.Vanish()
			for ts.server.clients.count() == before {
				call[any](ts.testServer, page, "_strata/session/info", sid, nil)
			}
		}
		if err := page.Respond(asked, said("go on")); err != nil {
			t.Fatal(err)
		}
		page.Expect(testclient.Says(sid, testclient.AgentChunk, fmt.Sprintf("turn %d", i)))
		if got, _ := lastResult(t, page, sid); !strings.Contains(got, turn.want) {
			t.Errorf("turn %d: the result is %q, want %q", i, got, turn.want)
		}
		idle(ts.testServer, page, sid)
	}
}

// idle waits until no turn runs.
func idle(ts *testServer, e *testclient.Editor, sid string) {
	ts.t.Helper()
	for call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil).State != "idle" {
	}
}
