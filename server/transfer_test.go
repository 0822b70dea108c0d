package server

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/transfer"
	"strata/server/wire"
)

// An import creates a session in a folder, so it must not circumvent the rules of session/new.
func TestImportKeepsToTheFoldersOfSessions(t *testing.T) {
	t.Parallel()
	allowed := t.TempDir()
	ts := startServer(t, func(opt *Options) { opt.Roots = []string{allowed} })
	inside := filepath.Join(allowed, "project")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	e := ts.editor()
	start := func(cwd, further, instead string) error {
		session := map[string]any{"cwd": cwd, "title": "x", "config": map[string]any{}, "createdAt": "2026-01-05T09:00:00Z", "updatedAt": "2026-01-05T09:00:00Z"}
		if further != "" {
			session["roots"] = []string{further}
		}
		header := map[string]any{"format": transfer.Format, "version": transfer.Version, "session": session}
		return e.Call("_strata/session/import", map[string]any{
			"cwd": instead, "lines": []any{map[string]any{"type": "header", "header": header}}, "done": true,
		}, nil)
	}
	tests := []struct {
		name                  string
		cwd, further, instead string
		refused               bool
	}{
		{"a folder that is allowed", inside, "", "", false},
		{"another folder in place of one that is not there", "/gone", "/gone", inside, false},
		{"a folder that is not there", filepath.Join(allowed, "gone"), "", "", true},
		{"a folder outside of the roots", ts.work, "", "", true},
		{"the same in place of one inside", inside, "", ts.work, true},
		{"a further root outside of them", inside, ts.work, "", true},
		{"the server's own folder", ts.dir, "", "", true},
		{"a relative one", "project", "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := start(tt.cwd, tt.further, tt.instead)
			if tt.refused {
				wireFault(t, err, rpc.CodeInvalidParams)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestACursorOfNoListIsRefused(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for method, params := range map[string]map[string]any{
		"session/list":           {},
		"_strata/history/list":   {"sessionId": sid},
		"_strata/history/search": {"query": "x"},
		"_strata/usage/list":     {"sessionId": sid},
		"_strata/session/export": {"sessionId": sid},
	} {
		params["cursor"] = "no cursor"
		err := e.Call(method, params, nil)
		if err == nil {
			t.Errorf("%s accepts any cursor", method)
			continue
		}
		wireFault(t, err, rpc.CodeInvalidParams)
	}
}

// The view of an imported session equals that of the exported one, also if an edit refers to another edit.
func TestAnImportShowsWhatWasExported(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		ts := startServer(t)
		e := ts.editor()
		sid := e.NewSession(ts.work)
		r := rand.New(rand.NewPCG(seed, 8))
		for step := range 20 {
			ts.wander(e, sid, r, step)
		}
		ts.talk(e, sid, 1)
		call[map[string]any](ts, e, "_strata/history/clear", sid, nil)
		call[map[string]any](ts, e, "_strata/checkpoint/undo", sid, nil)
		again := ts.copyOf(e, sid)
		source, got := ts.stored(sid), ts.stored(again)
		want := ts.viewed(sid, history.NewLog(source.Heads, source.Edits))
		if d := cmp.Diff(want, ts.viewed(again, history.NewLog(got.Heads, got.Edits))); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
	}
}

// copyOf imports the export of a session and returns the id of the copy.
func (ts *testServer) copyOf(e *testclient.Editor, sid string) string {
	ts.t.Helper()
	var lines []json.RawMessage
	for cursor := "first"; cursor != ""; {
		page := call[struct {
			Lines      []json.RawMessage
			NextCursor string
		}](ts, e, "_strata/session/export", sid, map[string]any{"cursor": strings.TrimPrefix(cursor, "first")})
		lines, cursor = append(lines, page.Lines...), page.NextCursor
	}
	var imported transfer.ImportResult
	if err := e.Call("_strata/session/import", map[string]any{"lines": lines, "done": true}, &imported); err != nil {
		ts.t.Fatal(err)
	}
	return imported.SessionID
}

// shownAlike returns what clients are shown of a session, without its ids: transcript, usage, title and next request.
func (ts *testServer) shownAlike(e *testclient.Editor, sid string) map[string]any {
	ts.t.Helper()
	shown := map[string]any{
		"transcript": call[map[string]any](ts, e, "_strata/history/list", sid, nil)["messages"],
		"usage":      call[map[string]any](ts, e, "_strata/usage/list", sid, nil)["calls"],
		"request":    call[map[string]any](ts, e, "_strata/context/assemble", sid, map[string]any{"preview": true}),
		"title":      call[map[string]any](ts, e, "_strata/session/info", sid, nil)["session"].(map[string]any)["title"],
	}
	anonymous(shown, map[any]int{})
	return shown
}

// anonymous replaces the ids in a JSON value by numbers, in the order of their first place.
func anonymous(v any, ids map[any]int) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			anonymous(item, ids)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name == "id" || name == "callId" || name == "turnId" {
				if _, known := ids[v[name]]; !known {
					ids[v[name]] = len(ids)
				}
				v[name] = ids[v[name]]
			}
			anonymous(v[name], ids)
		}
	}
}

const threeSteps = `think Look.
say One.
call list_files {"path": "."}
call missing
---
call update_plan {"entries": [{"content": "read", "priority": "high", "status": "completed"}]}
---
say Three.`

// A turn with steps is the same in the copy: its messages, calls with their results, plan, usage, title and place in the next
// request; and the copy goes on.
func TestAnImportHasTheStepsOfATurn(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if err := prompting(e, sid, threeSteps, nil).Wait(nil); err != nil {
		t.Fatal(err)
	}
	again := ts.copyOf(e, sid)
	want := ts.shownAlike(e, sid)
	if n := len(want["transcript"].([]any)); n != 6 {
		t.Fatalf("the turn has %d messages", n)
	}
	if d := cmp.Diff(want, ts.shownAlike(e, again)); d != "" {
		t.Error(d)
	}
	if err := prompting(e, again, threeSteps, nil).Wait(nil); err != nil {
		t.Fatal(err)
	}
	if got, failed := lastResult(t, e, again); got != "The plan has 1 entry, 0 of them open." || failed {
		t.Errorf("the last result of the copy is %q, %t", got, failed)
	}
}

// An export in the middle of a turn has a call without a result; the requests of its copy still pair the call.
func TestAnImportOfARunningTurnPairsItsCalls(t *testing.T) {
	t.Parallel()
	ts := startActing(t)
	e := ts.editor()
	sid, err := newWith(ts, e, declaring("zoom"))
	if err != nil {
		t.Fatal(err)
	}
	turn := prompting(e, sid, "say Closer.\ncall zoom", nil)
	asked := e.Asked(wire.MethodCallTool, 1)
	again := ts.copyOf(e, sid)
	if err := e.Respond(asked, said("closer")); err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(nil); err != nil {
		t.Fatal(err)
	}
	if err := prompting(e, again, "call list_files", nil).Wait(nil); err != nil {
		t.Fatal(err)
	}
	request := call[struct {
		Messages []struct {
			Role    string
			Content []history.Block
		}
	}](ts.testServer, e, "_strata/context/assemble", again, map[string]any{"preview": true})
	var calls, results []string
	for _, m := range request.Messages {
		for i := range m.Content {
			switch b := &m.Content[i]; b.Type {
			case history.BlockToolCall:
				calls = append(calls, b.CallID)
			case history.BlockToolResult:
				results = append(results, b.CallID)
			}
		}
	}
	if len(calls) != 2 || !slices.Equal(calls, results) {
		t.Errorf("the request has the calls %v and the results of %v", calls, results)
	}
}
