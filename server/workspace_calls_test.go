package server

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/editor"
	"strata/server/transfer"
	"strata/server/wire"
	"strata/session"
	"strata/session/shell"
	"strata/session/workspace"
)

// A change of a client's file is shown with its diff before it is approved, and made only then.
func TestApprovalOfAChangeOfAClientsFile(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "one\n"})
	sid := h.open(t)
	ts.choose(h.Editor, sid, "approval", "ask")
	mustPrompt(t, h.Editor, sid, `call read_file {"path": "a.txt"}`)
	for i, option := range []string{"reject_once", "allow_once"} {
		turn := prompting(h.Editor, sid, `call edit_file {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}]}`, nil)
		asked := h.Asked(wire.MethodRequestPermission, i+1)
		for _, want := range []string{`"type":"diff"`, heldFolder + "/a.txt", `"oldText":"one`, `"newText":"two`} {
			if !strings.Contains(string(asked.Params), want) {
				t.Errorf("the question does not contain %s: %s", want, asked.Params)
			}
		}
		if text, _ := h.get("a.txt"); text != "one\n" {
			t.Errorf("before the answer the file is %q", text)
		}
		if err := h.Respond(asked, selected(option)); err != nil {
			t.Fatal(err)
		}
		if err := turn.Wait(nil); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := h.get("a.txt"); text != "two\n" {
		t.Errorf("after the approval the file is %q", text)
	}
}

// The client knows that a call runs before it is asked to write a file.
func TestAWriteFollowsItsCall(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(nil)
	sid := h.open(t)
	mustPrompt(t, h.Editor, sid, `call write_file {"path": "a.txt", "content": "new\n"}`)
	running := false
	for _, f := range h.Frames() {
		var params struct{ Update struct{ Status string } }
		switch {
		case f.Method == wire.MethodWriteTextFile && !running:
			t.Error("the write was requested before the client was told that the call runs")
		case f.Kind == "tool_call_update" && json.Unmarshal(f.Params, &params) == nil && params.Update.Status == "in_progress":
			running = true
		}
	}
	if !running {
		t.Error("no call was in progress")
	}
}

// A command runs in a terminal of a client that has the files, never in one of the client that sent the prompt, nor on the
// server.
func TestCommandsRunWhereTheFilesAre(t *testing.T) {
	t.Parallel()
	ts := &askable{testServer: startServer(t, func(o *Options) {
		o.Sessions.Tools = session.ToolSettings{Enabled: true, MaxSteps: 100, Commands: shell.Any}
		o.Sessions.DefaultConfig = history.Config{Model: "offline/actor"}
	})}
	var here, elsewhere atomic.Int32
	serve := func(e *testclient.Editor, created *atomic.Int32) {
		e.Serve(editor.MethodCreateTerminal, func(json.RawMessage) (any, *rpc.Error) {
			created.Add(1)
			return map[string]any{"terminalId": "t"}, nil
		})
		e.Serve(editor.MethodWaitForExit, func(json.RawMessage) (any, *rpc.Error) { return map[string]any{"exitCode": 0}, nil })
		e.Serve(editor.MethodTerminalOutput, func(json.RawMessage) (any, *rpc.Error) {
			return map[string]any{"output": "made\n", "truncated": false, "exitStatus": map[string]any{"exitCode": 0}}, nil
		})
	}
	h := ts.holdingWith(nil, map[string]any{"terminal": true})
	serve(h.Editor, &here)
	sid := h.open(t)
	other := testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal())
	other.InitializeWith(map[string]any{"terminal": true})
	serve(other, &elsewhere)
	if _, err := other.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	const call = `call run_command {"command": "make all"}`
	mustPrompt(t, other, sid, call)
	if got, _ := lastResult(t, other, sid); !strings.Contains(got, "made") || here.Load() != 1 || elsewhere.Load() != 0 {
		t.Errorf("%d terminals of the client with the files, %d of the other; %q", here.Load(), elsewhere.Load(), got)
	}
	if err := h.Call("_strata/session/detach", map[string]any{"sessionId": sid, "unsubscribe": true}, nil); err != nil {
		t.Fatal(err)
	}
	mustPrompt(t, other, sid, call)
	if got, _ := lastResult(t, other, sid); strings.Contains(got, "made") || here.Load() != 1 || elsewhere.Load() != 0 {
		t.Errorf("without the client: %d and %d terminals; %q", here.Load(), elsewhere.Load(), got)
	}
}

// Forks and imports of a session work on the same files.
func TestForkOfASessionWithFilesOfAClient(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "alpha\n"})
	sid := h.identified(t, "mine")
	mustPrompt(t, h.Editor, sid, "say hello")
	meta := map[string]any{"strata": map[string]any{"workspace": "client", "workspaceId": "mine"}}
	var forked, byACP wire.NewSessionResult
	if err := h.Call("_strata/session/fork", map[string]any{"sessionId": sid, "workspace": "client", "workspaceId": "mine"}, &forked); err != nil {
		t.Fatal(err)
	}
	if err := h.Call("session/fork", map[string]any{"sessionId": sid, "cwd": heldFolder, "mcpServers": []any{}, "_meta": meta}, &byACP); err != nil {
		t.Fatal(err)
	}
	var page transfer.Page
	if err := h.Call("_strata/session/export", map[string]any{"sessionId": sid}, &page); err != nil {
		t.Fatal(err)
	}
	var imported transfer.ImportResult
	if err := h.Call("_strata/session/import", map[string]any{"lines": page.Lines, "done": true}, &imported); err != nil {
		t.Fatal(err)
	}
	h.hold(t, imported.SessionID, "mine")
	for name, id := range map[string]string{"fork": forked.SessionID, "ACP's fork": byACP.SessionID, "import": imported.SessionID} {
		if got := h.does(t, id, `read_file {"path": "a.txt"}`); !strings.Contains(got, "alpha") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A file that the list says is too large is refused without reading it.
func TestATooLargeFileIsNotRead(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(nil)
	h.Serve(editor.MethodListWorkspace, func(json.RawMessage) (any, *rpc.Error) {
		return json.RawMessage(`{"files": [{"path": "a.txt", "size": 1048577}], "version": "1"}`), nil
	})
	sid := h.open(t)
	h.does(t, sid, `list_files {}`)
	if got := h.does(t, sid, `read_file {"path": "a.txt"}`); !strings.Contains(got, "too large") {
		t.Errorf("got %q", got)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.asked, "a.txt") || h.single > 0 {
		t.Errorf("the client was asked for %q and %d texts", h.asked, h.single)
	}
}

// released closes a session, so that the next request loads it again.
func (h *holder) released(t *testing.T, sid string) {
	t.Helper()
	if err := h.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
}

// Files of the context are readable again when their client returns, without a prompt.
func TestFilesReturnWithTheirClient(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "alpha\n"})
	sid := h.open(t)
	if err := h.Call("_strata/files/add", map[string]any{"sessionId": sid, "path": "a.txt"}, nil); err != nil {
		t.Fatal(err)
	}
	h.released(t, sid)
	other := ts.editor()
	if _, err := other.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		files := call[struct{ Files []workspace.FileInfo }](ts.testServer, other, "_strata/files/list", sid, nil).Files
		return files[0].State + " " + files[0].Reason
	}
	mustPrompt(t, other, sid, "say hello")
	if got := state(); !strings.Contains(got, "not connected") {
		t.Errorf("without the client the file is %s", got)
	}
	h.hold(t, sid, "")
	other.Expect(testclient.Sees(sid, "files_changed"))
	for deadline := time.Now().Add(10 * time.Second); !strings.HasPrefix(state(), "full"); {
		if time.Now().After(deadline) {
			t.Fatalf("after the return the file is %s", state())
		}
	}
}

// Changes are not reverted while the client with the files is away. The error says so.
func TestRevertWhileTheClientIsAway(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{})
	sid := h.open(t)
	mustPrompt(t, h.Editor, sid, `call write_file {"path": "a.txt", "content": "new\n"}`)
	h.released(t, sid)
	changes := call[wire.ChangesPage](ts.testServer, h.Editor, "_strata/turn/changes", sid, nil).Changes
	params := map[string]any{"sessionId": sid, "changeIds": []string{changes[0].ID}}
	if err := h.Call("_strata/changes/revert", params, nil); err == nil || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("got %v", err)
	}
	if text, _ := h.get("a.txt"); text != "new\n" {
		t.Errorf("the file is %q", text)
	}
	h.hold(t, sid, "")
	if err := h.Call("_strata/changes/revert", params, nil); err != nil {
		t.Error(err)
	}
	if _, ok := h.get("a.txt"); ok {
		t.Error("the file is still there")
	}
}

// After a crash, the effect of a change is known as soon as a client with the files is there.
func TestPlannedChangesOfAClientsFilesAreSettled(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "after\n", "b.txt": "before\n"})
	sid := h.open(t)
	mustPrompt(t, h.Editor, sid, "say hello")
	var records []history.FileChange
	for _, name := range []string{"a.txt", "b.txt"} {
		records = append(records, history.FileChange{
			ID: ts.server.newID("fc_"), Turn: "turn_x", Step: 1, Call: "tc_x", Seq: 2, Kind: history.FileEdited, Path: heldFolder + "/" + name,
			Before: sha("before\n"), After: sha("after\n"), Mode: 0o600, At: time.Now(), State: history.FileChangePlanned,
		})
	}
	h.released(t, sid)
	images := []history.Blob{{Hash: sha("before\n"), Bytes: []byte("before\n")}, {Hash: sha("after\n"), Bytes: []byte("after\n")}}
	if err := ts.server.store.Commit(t.Context(), history.Change{Session: sid, FileImages: images, PutFileChanges: records}); err != nil {
		t.Fatal(err)
	}
	states := func() (all string) {
		changes, err := ts.server.store.FileChangeStore().List(t.Context(), sid, history.FileChangeQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			all += string(c.State) + " "
		}
		return all
	}
	other := ts.editor()
	if _, err := other.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "planned planned " {
		t.Errorf("without the client: %s", got)
	}
	h.hold(t, sid, "")
	call[any](ts.testServer, h.Editor, "_strata/files/clear", sid, nil) // an operation behind that of the client's return
	if got := states(); got != "done not_done " {
		t.Errorf("after the return: %s", got)
	}
}
