package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/editor"
	"strata/server/wire"
	"strata/session/outlines"
)

// identified creates a session whose files have an id.
func (h *holder) identified(t *testing.T, id string) string {
	t.Helper()
	var result struct {
		SessionID string `json:"sessionId"`
	}
	meta := map[string]any{"strata": map[string]any{"workspace": "client", "workspaceId": id}}
	if err := h.Call("session/new", map[string]any{"cwd": heldFolder, "mcpServers": []any{}, "_meta": meta}, &result); err != nil {
		t.Fatal(err)
	}
	return result.SessionID
}

// Two editors have different files under one name. Only the one with the files of the session is asked for them.
func TestEditorsUnderOneFolderAreNotMixedUp(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	mine := ts.holding(map[string]string{"a.txt": "mine\n"})
	sid := mine.identified(t, "mine")
	for name, params := range map[string]map[string]any{
		"no claim":      {"sessionId": sid},
		"another id":    {"sessionId": sid, "workspace": "client", "workspaceId": "other"},
		"no id":         {"sessionId": sid, "workspace": "client"},
		"without files": {"sessionId": sid, "workspace": "client", "workspaceId": "mine"},
	} {
		other := ts.holding(map[string]string{"a.txt": "of another editor\n"})
		if name == "without files" {
			other = &holder{Editor: ts.editor()}
		}
		if err := other.Call("_strata/session/attach", params, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := mine.does(t, sid, `read_file {"path": "a.txt"}`); strings.Contains(got, "another") || !strings.Contains(got, "a.txt") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := mine.Call("_strata/session/detach", map[string]any{"sessionId": sid, "unsubscribe": true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := mine.Call("_strata/files/add", map[string]any{"sessionId": sid, "path": "a.txt"}, nil); err == nil {
		t.Error("a file was read after its client had left")
	}
	second := ts.holding(map[string]string{"a.txt": "mine, in a second window\n"})
	second.hold(t, sid, "mine")
	if got := second.does(t, sid, `read_file {"path": "a.txt"}`); !strings.Contains(got, "second window") {
		t.Errorf("a second window: %q", got)
	}
}

// A client that refuses the list has other files. The next one is asked.
func TestAClientRefusesTheList(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": ""})
	sid := h.open(t)
	refused := make(chan struct{}, 10)
	wrong := ts.holding(map[string]string{"b.txt": ""})
	wrong.Serve(editor.MethodListWorkspace, func(json.RawMessage) (any, *rpc.Error) {
		refused <- struct{}{}
		return nil, &rpc.Error{Code: -32602, Message: "another folder"}
	})
	wrong.hold(t, sid, "")
	if got := h.does(t, sid, `list_files {}`); !strings.Contains(got, "a.txt") || strings.Contains(got, "b.txt") {
		t.Errorf("got %q", got)
	}
	h.does(t, sid, `list_files {}`)
	if n := len(refused); n != 1 {
		t.Errorf("the client was asked %d times", n)
	}
}

// Invalid claims.
func TestInvalidClaimsOfAWorkspace(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	sid := ts.holding(nil).open(t)
	for name, claim := range map[string]map[string]any{
		"an unknown kind":    {"workspace": "server"},
		"no kind":            {"workspaceId": "a"},
		"too long an id":     {"workspace": "client", "workspaceId": strings.Repeat("a", 257)},
		"an id of no string": {"workspace": "client", "workspaceId": 7},
	} {
		claim["sessionId"] = sid
		if err := ts.editor().Call("_strata/session/attach", claim, nil); err == nil || !strings.Contains(err.Error(), "params.workspace") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A search asks for many files at once, and so for their texts only.
func TestSearchOfManyFilesOfAClient(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	files := make(map[string]string)
	for i := range 600 {
		files[fmt.Sprintf("f/%03d.txt", i)] = fmt.Sprintf("line of %d\n", i)
	}
	h := ts.holding(files)
	h.Serve(editor.MethodListWorkspace, func(json.RawMessage) (any, *rpc.Error) {
		list := []any{}
		for path, text := range files {
			list = append(list, map[string]any{"path": path, "size": len(text), "version": sha(text)})
		}
		return map[string]any{"files": list, "version": "1"}, nil
	})
	sid := h.open(t)
	if got := h.does(t, sid, `search {"pattern": "of 577"}`); !strings.Contains(got, "f/577.txt") {
		t.Errorf("got %q", got)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.single > 0 || h.reads > 12 { // three by the search, the others by the outlines
		t.Errorf("%d requests for several files, %d for one", h.reads, h.single)
	}
}

// A client without _strata/workspace/read is asked for one text after the other.
func TestSearchOfAClientWithPlainReads(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "alpha\n", "b.txt": "beta\n"})
	h.Serve(editor.MethodReadFiles, func(json.RawMessage) (any, *rpc.Error) {
		return nil, &rpc.Error{Code: -32601, Message: "unknown"}
	})
	sid := h.open(t)
	if got := h.does(t, sid, `search {"pattern": "a"}`); !strings.Contains(got, "a.txt") || !strings.Contains(got, "b.txt") {
		t.Errorf("got %q", got)
	}
}

// A picture comes as bytes.
func TestPictureOfAClient(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.png": string(png(30, 20, 200)), "b.png": "no picture"})
	sid := h.open(t)
	if got := h.does(t, sid, `read_file {"path": "a.png"}`); !strings.Contains(got, "3") || strings.Contains(got, "cannot") {
		t.Errorf("got %q", got)
	}
	if got := h.does(t, sid, `read_file {"path": "b.png"}`); !strings.Contains(got, "no picture") {
		t.Errorf("got %q", got)
	}
}

// A list that tells only changes.
func TestListOfChanges(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(nil)
	pages := map[string]string{
		"":  `{"files": [{"path": "a", "version": "1"}, {"path": "b", "version": "1"}, {"path": "c", "version": "1"}], "version": "1"}`,
		"1": `{"changes": true, "files": [{"path": "d"}, {"path": "../x"}, {"path": "b", "version": "2"}], "removed": ["a", "/x"], "version": "2"}`,
		"2": `{"unchanged": true}`,
	}
	h.Serve(editor.MethodListWorkspace, func(raw json.RawMessage) (any, *rpc.Error) {
		return json.RawMessage(pages[from[editor.ListWorkspaceParams](raw).Since]), nil
	})
	sid := h.open(t)
	h.does(t, sid, `list_files {}`)
	got := h.does(t, sid, `list_files {}`)
	for path, want := range map[string]bool{"a": false, "b": true, "c": true, "d": true, "x": false} {
		if strings.Contains(got, "\n"+path) != want {
			t.Errorf("%s is in the list: %v; %q", path, !want, got)
		}
	}
}

// The entry of a session tells that a client has its files, and nothing of a folder of the server.
func TestEntryOfASessionWithFilesOfAClient(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(nil)
	sid := h.identified(t, "mine")
	check := func(where string, info wire.SessionInfo) {
		t.Helper()
		if m := info.Meta; m == nil || m.Strata.Workspace != "client" || m.Strata.WorkspaceID != "mine" || m.Strata.Missing || m.Strata.Folder != "" {
			t.Errorf("%s: %+v", where, m)
		}
	}
	check("info", call[wire.SessionDetails](ts.testServer, h.Editor, "_strata/session/info", sid, nil).Session)
	var list wire.ListResult
	if err := h.Call("session/list", map[string]any{}, &list); err != nil {
		t.Fatal(err)
	}
	check("list", list.Sessions[0])
	ts.editor().NewSession(ts.work)
	h.open(t) // without an id
	meta := map[string]any{"strata": map[string]any{"workspace": "client", "workspaceId": "mine"}}
	for name, test := range map[string]struct {
		params map[string]any
		want   int
	}{
		"all":            {map[string]any{}, 3},
		"with the id":    {map[string]any{"_meta": meta}, 1},
		"without an id":  {map[string]any{"_meta": workspaceOf("client")}, 1},
		"of the name":    {map[string]any{"cwd": heldFolder}, 2},
		"both":           {map[string]any{"cwd": heldFolder, "_meta": meta}, 1},
		"another folder": {map[string]any{"cwd": "/held", "_meta": meta}, 0},
	} {
		var list wire.ListResult
		if err := h.Call("session/list", test.params, &list); err != nil || len(list.Sessions) != test.want {
			t.Errorf("%s: %d sessions, want %d, %v", name, len(list.Sessions), test.want, err)
		}
	}
	var attached wire.AttachResult
	if err := h.Call("_strata/session/attach", map[string]any{"sessionId": sid}, &attached); err != nil {
		t.Fatal(err)
	}
	check("snapshot", attached.Snapshot.Session)
}

// Outlines of files of a client are those of the texts that it has, and are kept while it is away.
func TestOutlinesOfAClientsFiles(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"main.go": "package main\n\nfunc Beginning() {}\n", "lib/b.go": "package lib\n\nfunc Other() {}\n"})
	sid := h.open(t)
	find := func(e *testclient.Editor, query string) string {
		t.Helper()
		for {
			found := call[outlines.Found](ts.testServer, e, "_strata/outline/search", sid, map[string]any{"query": query})
			if found.Index.Complete || found.Index.Problem != "" {
				return fmt.Sprint(found.Symbols, found.Index.Problem)
			}
		}
	}
	if got := find(h.Editor, "Beginning"); !strings.Contains(got, "main.go") {
		t.Errorf("got %q", got)
	}
	if got := h.does(t, sid, `outline {"path": "lib/b.go"}`); !strings.Contains(got, "Other") {
		t.Errorf("the outline is %q", got)
	}
	h.set(heldFolder+"/main.go", "package main\n\nfunc Renamed() {}\n")
	if got := find(h.Editor, "Renamed"); !strings.Contains(got, "main.go") {
		t.Errorf("after a change: %q", got)
	}
	other := ts.editor()
	if err := h.Call("_strata/session/detach", map[string]any{"sessionId": sid, "unsubscribe": true}, nil); err != nil {
		t.Fatal(err)
	}
	if got := find(other, "Renamed"); !strings.Contains(got, "main.go") || !strings.Contains(got, "not connected") {
		t.Errorf("while the client is away: %q", got)
	}
}

// The rules of a workspace are read only if the list has them, and as soon as it does.
func TestRulesOfAClientsWorkspace(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	h := ts.holding(map[string]string{"a.txt": "alpha\n"})
	sid := h.open(t)
	h.does(t, sid, `list_files {}`)
	h.mu.Lock()
	h.asked = nil
	h.mu.Unlock()
	h.does(t, sid, `list_files {}`)
	h.mu.Lock()
	if len(h.asked) > 0 {
		t.Errorf("asked for %q", h.asked)
	}
	h.mu.Unlock()
	h.set(heldFolder+"/AGENTS.md", "Say please.\n")
	h.does(t, sid, `list_files {}`)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.asked, "AGENTS.md") {
		t.Errorf("the rules were not read: %q", h.asked)
	}
}
