package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/editor"
	"strata/server/wire"
	"strata/session"
	"strata/session/shell"
)

// terminalEditor is an editor that runs the commands of a session in terminals, with another window that is attached.
type terminalEditor struct {
	*testclient.Editor
	ts     *askable
	sid    string
	window *testclient.Editor
	output atomic.Pointer[wireOutput] // of every terminal
}

type wireOutput struct {
	Output    string `json:"output"`
	Truncated bool   `json:"truncated"`
}

func startTerminals(t *testing.T) *terminalEditor {
	t.Helper()
	ts := &askable{testServer: startServer(t, func(o *Options) {
		o.Sessions.Tools = session.ToolSettings{Enabled: true, MaxSteps: 100, Commands: shell.Client}
		o.Sessions.DefaultConfig = history.Config{Model: "offline/actor"}
	})}
	e := &terminalEditor{ts: ts, Editor: testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal()), window: ts.editor()}
	e.InitializeWith(map[string]any{"terminal": true})
	e.output.Store(&wireOutput{})
	e.Serve(editor.MethodTerminalOutput, func(json.RawMessage) (any, *rpc.Error) { return e.output.Load(), nil })
	e.sid = e.NewSession(ts.work)
	ts.choose(e.Editor, e.sid, "approval", "auto")
	if _, err := e.window.Attach(e.sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	return e
}

// runs prompts for a command, and answers that its terminal is named t and a number.
func (e *terminalEditor) runs(number int) *testclient.Turn {
	turn := e.Start(e.sid, fmt.Sprintf("call run_command {\"command\":\"make %d\"}\n---\nsay Done.", number))
	if err := e.Respond(e.Asked(editor.MethodCreateTerminal, number), map[string]any{"terminalId": fmt.Sprint("t", number)}); err != nil {
		e.ts.t.Fatal(err)
	}
	return turn
}

// callState is what a client is told of a call.
type callState struct {
	Status  string
	Content []struct {
		Type       string
		TerminalID string
		Content    struct{ Text string }
	}
	Meta wire.CallMeta `json:"_meta"`
}

// lastCall returns what the client was told last of the session's only call.
func lastCall(fs testclient.Frames, sid string) (last callState) {
	for _, f := range fs.Of(sid) {
		var params struct{ Update callState }
		if f.Kind == "tool_call_update" && json.Unmarshal(f.Params, &params) == nil {
			last = params.Update
		}
	}
	return last
}

// text returns the text of the call's content.
func (c *callState) text() (text string) {
	for _, part := range c.Content {
		text += part.Content.Text
	}
	return text
}

// terminal returns the only content of the call, if that is a terminal.
func (c *callState) terminal() string {
	if len(c.Content) != 1 || c.Content[0].Type != "terminal" {
		return ""
	}
	return c.Content[0].TerminalID
}

// shows holds when the client is shown a call with a status that is.
func shows(sid, status string, is func(*callState) bool) testclient.Condition {
	return testclient.Condition{Name: "a call that is " + status, Met: func(fs testclient.Frames) bool {
		call := lastCall(fs, sid)
		return call.Status == status && is(&call)
	}}
}

func inTerminal(id string) func(*callState) bool {
	return func(c *callState) bool { return c.terminal() == id }
}

func withText(text string) func(*callState) bool {
	return func(c *callState) bool { return strings.Contains(c.text(), text) }
}

// order returns the requests for terminals and the calls' updates that a client has received, in order.
func (e *terminalEditor) order() (all []string) {
	for _, f := range e.Frames() {
		var params struct{ Update callState }
		switch {
		case f.Method == editor.MethodTerminalOutput: // how often depends on the time
		case strings.HasPrefix(f.Method, "terminal/"):
			all = append(all, strings.TrimPrefix(f.Method, "terminal/"))
		case f.Kind == "tool_call_update" && json.Unmarshal(f.Params, &params) == nil && params.Update.terminal() != "":
			all = append(all, params.Update.Status+" in "+params.Update.terminal())
		}
	}
	return all
}

// noGap checks that the sequence numbers of an attached client are complete.
func noGap(t *testing.T, fs testclient.Frames, sid string) {
	t.Helper()
	var last uint64
	for _, f := range fs.Of(sid) {
		if f.Seq == 0 {
			continue
		}
		if last > 0 && f.First != last+1 {
			t.Errorf("%d to %d follow %d: %s", f.First, f.Seq, last, f.Kind)
		}
		last = f.Seq
	}
}

// The client in whose terminal a command runs is shown the terminal, and every other window the output as text, also one that
// comes while the command runs.
func TestACommandInATerminalOfTheEditor(t *testing.T) {
	t.Parallel()
	e := startTerminals(t)
	turn := e.runs(1)
	e.Expect(shows(e.sid, "in_progress", inTerminal("t1")))
	e.output.Store(&wireOutput{Output: "begun\n"})
	begun := shows(e.sid, "in_progress", func(c *callState) bool {
		return c.text() == "begun\n" && c.Meta.Strata.Output != nil && c.Meta.Strata.Output.End == 6
	})
	e.window.Expect(begun)
	loads, attaches := e.ts.editor(), e.ts.editor()
	if err := loads.Call("session/load", map[string]any{"sessionId": e.sid, "cwd": e.ts.work, "mcpServers": []any{}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := attaches.Attach(e.sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	for _, late := range []*testclient.Editor{loads, attaches} {
		late.Expect(begun)
	}
	e.output.Store(&wireOutput{Output: "begun\nended\n"})
	if err := e.Respond(e.Asked(editor.MethodWaitForExit, 1), map[string]any{"exitCode": 0}); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	e.Asked(editor.MethodReleaseTerminal, 1)
	e.Expect(shows(e.sid, "completed", inTerminal("t1")))
	for _, window := range []*testclient.Editor{e.window, loads, attaches} {
		window.Expect(shows(e.sid, "completed", withText("begun\nended\n")))
		if slices.ContainsFunc(window.Frames(), func(f testclient.Frame) bool { return strings.Contains(string(f.Raw), "terminalId") }) {
			t.Error("another window is shown the terminal")
		}
	}
	noGap(t, e.window.Frames(), e.sid)
	noGap(t, attaches.Frames(), e.sid)
	order := slices.Compact(e.order())
	if i := slices.Index(order, "release"); i < 3 || !slices.Equal(order[:3], []string{"create", "in_progress in t1", "wait_for_exit"}) || slices.Contains(order[i+1:], "release") {
		t.Errorf("the editor received %q", order)
	}
	text, failed := lastResult(t, e.Editor, e.sid)
	if failed || !strings.Contains(text, "begun\nended\n") {
		t.Errorf("the stored result is %q, %v", text, failed)
	}
}

// A cancelled turn ends though the editor answers nothing: the command is killed, and then its terminal is released, once.
func TestACancelledCommandInATerminal(t *testing.T) {
	t.Parallel()
	e := startTerminals(t)
	turn := e.runs(1)
	e.Asked(editor.MethodWaitForExit, 1)
	e.Cancel(e.sid)
	if outcome, err := turn.Wait(); err != nil || outcome.StopReason != "cancelled" {
		t.Errorf("got %+v, %v", outcome, err)
	}
	e.Asked(editor.MethodReleaseTerminal, 1)
	next := e.runs(2)
	if err := e.Respond(e.Asked(editor.MethodWaitForExit, 2), map[string]any{"exitCode": 0}); err != nil {
		t.Fatal(err)
	}
	if outcome, err := next.Wait(); err != nil || outcome.StopReason != "end_turn" {
		t.Errorf("got %+v, %v", outcome, err)
	}
	e.Asked(editor.MethodReleaseTerminal, 2)
	var requests []string
	for _, what := range e.order() {
		if !strings.Contains(what, " in ") {
			requests = append(requests, what)
		}
	}
	if want := []string{"create", "wait_for_exit", "kill", "release", "create", "wait_for_exit", "release"}; !slices.Equal(requests, want) {
		t.Errorf("the editor received %q, want %q", requests, want)
	}
}

// An editor that vanishes, or sends a frame that is too large, ends its command for the model. The turn goes on, and other
// windows are told.
func TestAnEditorVanishesWithACommand(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(e *terminalEditor, wait testclient.Frame){
		"vanishes": func(e *terminalEditor, _ testclient.Frame) { e.Vanish() },
		"20 MB of output": func(e *terminalEditor, wait testclient.Frame) {
			e.output.Store(&wireOutput{Output: strings.Repeat("x", 20<<20)})
			_ = e.Respond(wait, map[string]any{"exitCode": 0}) // the output that is asked for then ends the connection
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startTerminals(t)
			e.runs(1)
			end(e, e.Asked(editor.MethodWaitForExit, 1))
			<-e.Done()
			e.window.Expect(testclient.Says(e.sid, testclient.AgentChunk, "Done."))
			if call := lastCall(e.window.Frames(), e.sid); call.text() == "" || call.Status == "in_progress" {
				t.Errorf("the other window is shown %+v", call)
			}
			noGap(t, e.window.Frames(), e.sid)
		})
	}
}

// A session ends though its editor does not say which terminal it has created. As soon as it does, the command is killed and the
// terminal released.
func TestASessionEndsWhileATerminalIsCreated(t *testing.T) {
	t.Parallel()
	e := startTerminals(t)
	e.Start(e.sid, "call run_command {\"command\":\"make\"}")
	create := e.Asked(editor.MethodCreateTerminal, 1)
	if err := e.Call("session/close", map[string]any{"sessionId": e.sid}, nil); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(e.Frames(), func(f testclient.Frame) bool { return f.Method == "$/cancel_request" }) {
		t.Error("the session ended after the time limit of the editor")
	}
	if err := e.Respond(create, map[string]any{"terminalId": "t1"}); err != nil {
		t.Fatal(err)
	}
	e.Asked(editor.MethodReleaseTerminal, 1)
	if got, want := e.order(), []string{"create", "kill", "release"}; !slices.Equal(got, want) {
		t.Errorf("the editor received %q, want %q", got, want)
	}
}
