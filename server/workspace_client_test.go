package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/editor"
	"strata/server/wire"
	"strata/session/clients"
	"strata/session/workspace"
)

// heldFolder names the files of a client's workspace. The folder is not on the disk of the server.
const heldFolder = "/held/project"

// holder is a client with a workspace of its own.
type holder struct {
	*testclient.Editor

	mu      sync.Mutex
	files   map[string]string // by path in the folder
	version int
	lists   int      // whole lists that were sent
	reads   int      // requests for several files
	single  int      // requests for one text
	asked   []string // paths of the former
}

// holding returns a client that has the given files.
func (ts *askable) holding(files map[string]string) *holder {
	ts.t.Helper()
	return ts.holdingWith(files, nil)
}

// holdingWith is holding for a client with further capabilities.
func (ts *askable) holdingWith(files map[string]string, more map[string]any) *holder {
	ts.t.Helper()
	h := &holder{Editor: testclient.Connect(ts.t, ts.ready.WebSocket, ts.token.Reveal()), files: maps.Clone(files), version: 1}
	capabilities := map[string]any{
		"fs":    map[string]any{"readTextFile": true, "writeTextFile": true},
		"_meta": map[string]any{"strata": map[string]any{"permission": true, "workspace": true}},
	}
	maps.Copy(capabilities, more)
	h.InitializeWith(capabilities)
	if h.files == nil {
		h.files = make(map[string]string)
	}
	h.Serve(editor.MethodReadFiles, func(raw json.RawMessage) (any, *rpc.Error) { return h.readSome(from[editor.ReadFilesParams](raw)), nil })
	h.Serve(wire.MethodReadTextFile, func(raw json.RawMessage) (any, *rpc.Error) {
		h.mu.Lock()
		h.single++
		h.mu.Unlock()
		text, ok := h.get(from[wire.ReadTextFileParams](raw).Path)
		if !ok {
			return nil, &rpc.Error{Code: -32002, Message: "no such file"}
		}
		return map[string]any{"content": text}, nil
	})
	h.Serve(wire.MethodWriteTextFile, func(raw json.RawMessage) (any, *rpc.Error) {
		in := from[wire.WriteTextFileParams](raw)
		h.set(in.Path, in.Content)
		return nil, nil
	})
	h.Serve(editor.MethodDeleteFile, func(raw json.RawMessage) (any, *rpc.Error) {
		h.remove(from[editor.DeleteFileParams](raw).Path)
		return nil, nil
	})
	h.Serve(editor.MethodMoveFile, func(raw json.RawMessage) (any, *rpc.Error) {
		in := from[editor.MoveFileParams](raw)
		text, _ := h.get(in.Path)
		h.remove(in.Path)
		h.set(in.NewPath, text)
		return nil, nil
	})
	h.Serve(editor.MethodListWorkspace, func(raw json.RawMessage) (any, *rpc.Error) { return h.list(from[editor.ListWorkspaceParams](raw)), nil })
	return h
}

func (h *holder) name(path string) string { return strings.TrimPrefix(path, heldFolder+"/") }

func (h *holder) get(path string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, ok := h.files[h.name(path)]
	return text, ok
}

func (h *holder) set(path, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[h.name(path)] = text
	h.version++
}

func (h *holder) remove(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.files, h.name(path))
	h.version++
}

// list returns a page with one file, so that lists have several pages.
func (h *holder) list(in editor.ListWorkspaceParams) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	version := fmt.Sprint(h.version)
	if in.Since == version {
		return map[string]any{"unchanged": true}
	}
	names := slices.Sorted(maps.Keys(h.files))
	at := 0
	if in.Cursor == "" {
		h.lists++
	} else if _, err := fmt.Sscan(in.Cursor, &at); err != nil {
		panic(err)
	}
	files := []any{}
	page := map[string]any{"version": version}
	if at < len(names) {
		text := h.files[names[at]]
		files = append(files, map[string]any{"path": names[at], "size": len(text), "version": h.versionOf(text)})
	}
	if at+1 < len(names) {
		page["nextCursor"] = fmt.Sprint(at + 1)
	}
	page["files"] = files
	return page
}

// readSome returns several files. The version of a file is that of the list.
func (h *holder) readSome(in editor.ReadFilesParams) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	h.asked = append(h.asked, in.Paths...)
	files := []any{}
	for _, path := range in.Paths {
		text, ok := h.files[path]
		file := map[string]any{"path": path}
		switch {
		case !ok:
			file["error"] = map[string]any{"code": -32002, "message": "no such file"}
		case in.Encoding == "base64":
			file["data"] = []byte(text)
		default:
			file["content"], file["version"] = text, h.versionOf(text)
		}
		files = append(files, file)
	}
	return map[string]any{"files": files}
}

// versionOf returns the version of a text. h.mu must be held.
func (h *holder) versionOf(text string) string { return sha(text) }

// hold attaches to a session whose files the client has.
func (h *holder) hold(t *testing.T, sid, id string) {
	t.Helper()
	if err := h.Call("_strata/session/attach", map[string]any{"sessionId": sid, "workspace": "client", "workspaceId": id}, nil); err != nil {
		t.Fatal(err)
	}
}

// open creates a session with the client's workspace.
func (h *holder) open(t *testing.T) string {
	t.Helper()
	var result struct {
		SessionID string `json:"sessionId"`
	}
	params := map[string]any{"cwd": heldFolder, "mcpServers": []any{}, "_meta": workspaceOf("client")}
	if err := h.Call("session/new", params, &result); err != nil {
		t.Fatal(err)
	}
	if err := h.Call("session/set_config_option", map[string]any{"sessionId": result.SessionID, "configId": "approval", "value": "auto"}, nil); err != nil {
		t.Fatal(err)
	}
	return result.SessionID
}

// does runs a turn that calls a tool, and returns the result of the call.
func (h *holder) does(t *testing.T, sid, call string) string {
	t.Helper()
	if _, err := h.Prompt(sid, "call "+call); err != nil {
		t.Fatal(err)
	}
	text, _ := lastResult(t, h.Editor, sid)
	return text
}

// The model is told once what an editor makes of a text that it saves.
func TestAnEditorThatFormatsAClientsFile(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "alpha\n"})
	h.Serve(wire.MethodWriteTextFile, func(raw json.RawMessage) (any, *rpc.Error) {
		in := from[wire.WriteTextFileParams](raw)
		h.set(in.Path, strings.TrimSpace(in.Content)+"\n")
		return nil, nil
	})
	sid := h.open(t)
	h.does(t, sid, `read_file {"path": "a.txt"}`)
	for call, want := range map[string]string{
		`edit_file {"path": "a.txt", "edits": [{"old_text": "alpha", "new_text": "beta  "}]}`: "Edited a.txt, which now has 1 line. The editor changed the text further when saving; the diff includes that.\n",
		`write_file {"path": "b.txt", "content": "one\n\n"}`:                                  "Created b.txt with 1 line.\nThe editor changed the text when saving:\n",
	} {
		if got := h.does(t, sid, call); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", call, got)
		}
	}
}

// Tools work on files that only the client has.
func TestToolsWorkOnTheFilesOfAClient(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"main.go": "package main\n\nfunc main() {}\n", "lib/a.txt": "alpha\nbeta\n"})
	sid := h.open(t)
	for _, step := range []struct{ call, want string }{
		{`list_files {}`, "main.go"},
		{`list_files {"path": "lib"}`, "a.txt"},
		{`read_file {"path": "lib/a.txt"}`, "beta"},
		{`search {"pattern": "alp"}`, "lib/a.txt"},
		{`edit_file {"path": "lib/a.txt", "edits": [{"old_text": "beta", "new_text": "gamma"}]}`, "lib/a.txt"},
		{`write_file {"path": "new/b.txt", "content": "one\n"}`, "new/b.txt"},
		{`move_file {"from": "new/b.txt", "to": "c.txt"}`, "c.txt"},
		{`read_file {"path": "c.txt"}`, "c.txt is already shown above"},
		{`delete_file {"path": "c.txt"}`, "c.txt"},
		{`read_file {"path": "../secret"}`, "outside"},
	} {
		if got := h.does(t, sid, step.call); !strings.Contains(got, step.want) {
			t.Errorf("%s: %q, want %q", step.call, got, step.want)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	want := map[string]string{"main.go": "package main\n\nfunc main() {}\n", "lib/a.txt": "alpha\ngamma\n"}
	if !maps.Equal(h.files, want) {
		t.Errorf("the client has %v, want %v", h.files, want)
	}
}

// The folder of a client's workspace is a name: the server never reads a folder of its disk that has the same path.
func TestTheFolderOfAClientsWorkspaceIsNotRead(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	ts.write("secret.txt", "of the server")
	h := ts.holding(nil)
	var result struct {
		SessionID string `json:"sessionId"`
	}
	params := map[string]any{
		"cwd": filepath.ToSlash(ts.work), "mcpServers": []any{}, "_meta": workspaceOf("client"),
	}
	if err := h.Call("session/new", params, &result); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{`read_file {"path": "secret.txt"}`, `list_files {}`, `search {"pattern": "server"}`} {
		if got := h.does(t, result.SessionID, call); strings.Contains(got, "of the server") || strings.Contains(got, "secret.txt:") {
			t.Errorf("%s: %q", call, got)
		}
	}
	if err := h.Call("_strata/files/add", map[string]any{"sessionId": result.SessionID, "path": "secret.txt"}, nil); err == nil {
		t.Error("a file of the disk was added")
	}
}

// Turns go on without a client that has the files, and a call waits for a client to return.
func TestAClientWithTheFilesIsAway(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "alpha\n"})
	sid := h.open(t)
	if err := h.Call("_strata/files/add", map[string]any{"sessionId": sid, "path": "a.txt"}, nil); err != nil {
		t.Fatal(err)
	}
	other := &holder{Editor: ts.editor()}
	if _, err := other.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	before := ts.server.clients.count()
	h.Vanish()
	for ts.server.clients.count() == before {
		call[any](ts.testServer, other, "_strata/session/info", sid, nil)
	}
	if _, err := other.Prompt(sid, "say hello"); err != nil {
		t.Fatal(err)
	}
	var text struct {
		Content string `json:"content"`
	}
	if err := other.Call("_strata/files/content", map[string]any{"sessionId": sid, "path": "a.txt"}, &text); err == nil {
		t.Errorf("the file was read: %q", text.Content)
	}
	turn := prompting(other.Editor, sid, "call list_files {}", nil)
	back := ts.holding(map[string]string{"a.txt": "alpha\n", "b.txt": ""})
	back.hold(t, sid, "")
	if err := turn.Wait(nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := lastResult(t, other.Editor, sid); !strings.Contains(got, "b.txt") {
		t.Errorf("after the return the result is %q", got)
	}
}

var _ clients.WorkspaceHolder = clients.Client(nil)

// Changes are approved, recorded and reverted as those of files on disk, also after the session was loaded again.
func TestChangesOfAClientsFilesAreReverted(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
	sid := h.open(t)
	if got := h.does(t, sid, `edit_file {"path": "b.txt", "edits": [{"old_text": "two", "new_text": "2"}]}`); !strings.Contains(got, "b.txt") {
		t.Errorf("an edit of a file that was not read: %q", got)
	}
	mustPrompt(t, h.Editor, sid, `call read_file {"path": "a.txt"}`)
	mustPrompt(t, h.Editor, sid, "call edit_file {\"path\": \"a.txt\", \"edits\": [{\"old_text\": \"one\", \"new_text\": \"1\"}]}\n"+
		`call write_file {"path": "c/d.txt", "content": "new\n"}`)
	listed := call[wire.ChangesPage](ts.testServer, h.Editor, "_strata/turn/changes", sid, nil)
	ids := []string{}
	for _, c := range listed.Changes {
		if c.State != "done" || c.Diff == nil {
			t.Errorf("%+v", c)
		}
		ids = append(ids, c.ID)
	}
	if err := h.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Call("session/resume", map[string]any{"sessionId": sid, "cwd": "/elsewhere", "mcpServers": []any{}}, nil); err == nil {
		t.Error("the session was opened in another folder")
	}
	if err := h.Call("session/resume", map[string]any{"sessionId": sid, "cwd": heldFolder, "mcpServers": []any{}, "_meta": workspaceOf("client")}, nil); err != nil {
		t.Fatal(err)
	}
	reverted := call[restoredFiles](ts.testServer, h.Editor, "_strata/changes/revert", sid, map[string]any{"changeIds": ids})
	if got := reverted.outcomes(); !strings.Contains(got, "a.txt restored put_back") || !strings.Contains(got, "d.txt restored deleted") {
		t.Errorf("the revert: %q", got)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := h.files["a.txt"]; got != "one\n" {
		t.Errorf("a.txt is %q", got)
	}
	if got := h.files["b.txt"]; got != "two\n" {
		t.Errorf("b.txt was edited, although the model had not seen it: %q", got)
	}
	if _, ok := h.files["c/d.txt"]; ok {
		t.Error("the new file is still there")
	}
}

// The next request contains a file as it is then. The list is asked for again, and sent only if it has changed.
func TestAFileOfAClientChanges(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "one\n"})
	sid := h.open(t)
	if err := h.Call("_strata/files/add", map[string]any{"sessionId": sid, "path": "a.txt"}, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		mustPrompt(t, h.Editor, sid, "say hello")
	}
	h.mu.Lock()
	lists := h.lists
	h.mu.Unlock()
	if lists > 2 { // the first may be asked for before the file is read, and after
		t.Errorf("%d lists were sent for files that did not change", lists)
	}
	h.set(heldFolder+"/a.txt", "other\n")
	mustPrompt(t, h.Editor, sid, "say hello")
	files := call[struct{ Files []workspace.FileInfo }](ts.testServer, h.Editor, "_strata/files/list", sid, nil).Files
	if len(files) != 1 || files[0].Hash != sha("other\n") {
		t.Errorf("the files are %+v", files)
	}
}

// Invalid parameters of session/new.
func TestInvalidWorkspacesOfClients(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e := ts.editor()
	for name, params := range map[string]map[string]any{
		"an unknown kind":  {"cwd": heldFolder, "_meta": workspaceOf("server")},
		"a relative path":  {"cwd": "project", "_meta": workspaceOf("client")},
		"a further folder": {"cwd": heldFolder, "additionalDirectories": []string{"/more"}, "_meta": workspaceOf("client")},
		"no client's":      {"cwd": heldFolder},
	} {
		if err := e.Call("session/new", params, nil); err == nil || !strings.Contains(err.Error(), "params.") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func workspaceOf(kind string) map[string]any {
	return map[string]any{"strata": map[string]any{"workspace": kind}}
}
