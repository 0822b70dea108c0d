package server

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/server/wire"
)

// health returns the status of /healthz and its body.
func (ts *testServer) health() (int, string) {
	ts.t.Helper()
	resp, err := http.Get(strings.Replace(strings.TrimSuffix(ts.ready.WebSocket, "/acp"), "ws://", "http://", 1) + "/healthz")
	must(ts.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(ts.t, err)
	return resp.StatusCode, string(body)
}

// A database file that is moved away while the server runs is noticed: nothing more is acknowledged, and everybody is told.
func TestR08TheDatabaseIsMovedAway(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	must(t, e.Call("_strata/server/subscribe", nil, nil))
	sid := e.NewSession(ts.work)
	mustPrompt(t, e, sid, "before")
	if status, body := ts.health(); status != http.StatusOK || !strings.Contains(body, `"ok"`) {
		t.Errorf("healthy: %d %s", status, body)
	}
	storage := func(want string) testclient.Condition {
		return testclient.Condition{Name: "counts with the storage " + want, Met: func(fs testclient.Frames) bool {
			var last struct{ Counts *wire.Counts }
			for _, f := range slices.Backward(fs) {
				if f.Method == wire.MethodServerEvent && json.Unmarshal(f.Params, &last) == nil && last.Counts != nil {
					return last.Counts.Storage == want
				}
			}
			return false
		}}
	}
	path := filepath.Join(ts.dir, "strata.db")
	must(t, os.Rename(path, path+".moved"))
	if status, body := ts.health(); status != http.StatusServiceUnavailable || !strings.Contains(body, "moved, deleted or replaced") {
		t.Errorf("moved away: %d %s", status, body)
	}
	for method, params := range map[string]map[string]any{
		"session/prompt":          {"sessionId": sid, "prompt": []any{words("lost")}},
		"_strata/history/append":  {"sessionId": sid, "messages": []any{message("user", "lost")}},
		"_strata/session/rename":  {"sessionId": sid, "title": "lost"},
		"session/new":             {"cwd": ts.work},
		"session/delete":          {"sessionId": sid},
		"_strata/session/import":  {"lines": []any{map[string]any{"type": "header", "header": map[string]any{"format": "strata-session", "version": 1, "session": map[string]any{"cwd": ts.work}}}}},
		"_strata/session/fork":    {"sessionId": sid},
		"_strata/history/compact": {"sessionId": sid},
	} {
		err := e.Call(method, params, nil)
		if method == "_strata/history/compact" && err == nil {
			continue // there is nothing to compact
		}
		if fault := wireFault(t, err, wire.CodeStorage); fault.Message != wire.MovedText {
			t.Errorf("%s: %s", method, fault.Message)
		}
	}
	e.Expect(storage(wire.MovedText))
	must(t, os.Rename(path+".moved", path))
	e.Expect(storage(""))
	if status, body := ts.health(); status != http.StatusOK {
		t.Errorf("back: %d %s", status, body)
	}
	mustPrompt(t, e, sid, "after")
	if got := chatOf(transcript(t, e, sid)); strings.Contains(got, "lost") || strings.Count(got, "\n") != 4 {
		t.Errorf("stored:\n%s", got)
	}
}
