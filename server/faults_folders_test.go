package server

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/workspace"
)

// listed returns the sessions that a client lists in a folder.
func listed(t *testing.T, e *testclient.Editor, cwd string) []string {
	t.Helper()
	var page struct{ Sessions []wire.SessionInfo }
	must(t, e.Call("session/list", map[string]any{"cwd": cwd}, &page))
	var ids []string
	for _, s := range page.Sessions {
		ids = append(ids, s.SessionID)
	}
	slices.Sort(ids)
	return ids
}

// hitsIn returns the sessions that a search in a folder finds.
func hitsIn(t *testing.T, e *testclient.Editor, cwd string) []string {
	t.Helper()
	page := wire.SearchPage{Behind: 1}
	for page.Behind > 0 {
		page = wire.SearchPage{}
		must(t, e.Call("_strata/history/search", map[string]any{"query": "needle", "cwd": cwd}, &page))
	}
	var ids []string
	for _, h := range page.Hits {
		ids = append(ids, h.SessionID)
	}
	slices.Sort(ids)
	return ids
}

func mkdirs(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		must(t, os.MkdirAll(dir, 0o700))
	}
}

// A folder is the same in any spelling, for lists, searches, loading and forks.
func TestF19FoldersInAnySpelling(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	project, link := filepath.Join(ts.work, "project"), filepath.Join(ts.work, "link")
	mkdirs(t, filepath.Join(project, "src"), filepath.Join(ts.work, "other"))
	if err := os.Symlink(project, link); err != nil {
		t.Skip(err)
	}
	spellings := []string{project, project + "/", project + "/src/..", link, link + "/", link + "/src/..", project + "//"}
	var all []string
	for _, cwd := range spellings {
		sid := e.NewSession(cwd)
		call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{message("user", "the needle of "+sid)}})
		all = append(all, sid)
	}
	slices.Sort(all)
	other := e.NewSession(filepath.Join(ts.work, "other"))
	for _, cwd := range spellings {
		if got := listed(t, e, cwd); !slices.Equal(got, all) {
			t.Errorf("list in %s: %v", cwd, got)
		}
		if got := hitsIn(t, e, cwd); !slices.Equal(got, all) {
			t.Errorf("search in %s: %v", cwd, got)
		}
		for _, method := range []string{"session/load", "session/resume", "session/fork"} {
			must(t, e.Call(method, map[string]any{"sessionId": all[0], "cwd": cwd, "mcpServers": []any{}}, nil))
		}
		err := e.Call("session/load", map[string]any{"sessionId": other, "cwd": cwd}, nil)
		wireFault(t, err, rpc.CodeInvalidParams)
		all = listed(t, e, project)[:0:0]
		for _, sid := range listed(t, e, project) { // with the fork
			all = append(all, sid)
			if len(hitsIn(t, e, project)) == 0 {
				t.Fatal("nothing is found")
			}
		}
		all = withoutForks(t, e, all)
	}
	wireFault(t, e.Call("session/list", map[string]any{"cwd": "project"}, nil), rpc.CodeInvalidParams)
	wireFault(t, e.Call("_strata/history/search", map[string]any{"cwd": "project", "query": "needle"}, nil), rpc.CodeInvalidParams)
	// Groups of a page need the one spelling.
	var page struct {
		Sessions []struct {
			CWD  string
			Meta struct{ Strata struct{ Folder string } } `json:"_meta"`
		}
	}
	must(t, e.Call("session/list", nil, &page))
	groups := make(map[string]bool)
	for _, s := range page.Sessions {
		if s.Meta.Strata.Folder == "" {
			s.Meta.Strata.Folder = s.CWD
		}
		groups[s.Meta.Strata.Folder] = true
	}
	if len(groups) != 2 {
		t.Errorf("groups %v", groups)
	}
}

// withoutForks deletes the sessions that are not the author of their message, and returns the others.
func withoutForks(t *testing.T, e *testclient.Editor, all []string) (kept []string) {
	t.Helper()
	for _, sid := range all {
		if strings.Contains(transcript(t, e, sid)[0].PlainText(), sid) {
			kept = append(kept, sid)
			continue
		}
		must(t, e.Call("session/delete", map[string]any{"sessionId": sid}, nil))
	}
	return kept
}

// A session whose folder was renamed goes on in the new one, with its files.
func TestF20ASessionMovesWithItsFolder(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	old, now := filepath.Join(ts.work, "old"), filepath.Join(ts.work, "new")
	mkdirs(t, filepath.Join(old, "lib"))
	must(t, os.WriteFile(filepath.Join(old, "a.txt"), []byte("alpha"), 0o600))
	var made struct{ SessionID string }
	must(t, e.Call("session/new", map[string]any{"cwd": old, "additionalDirectories": []string{filepath.Join(old, "lib")}}, &made))
	sid := made.SessionID
	call[map[string]any](ts, e, "_strata/files/add", sid, map[string]any{"path": "a.txt"})
	mustPrompt(t, e, sid, "hello")
	stays := e.NewSession(old)
	must(t, os.Rename(old, now))
	must(t, os.WriteFile(filepath.Join(now, "a.txt"), []byte("alpha and more"), 0o600))

	// The session is there without files, and its notices say what to do.
	opened := func(method, sid, cwd string, meta map[string]any) error {
		return e.Call(method, map[string]any{"sessionId": sid, "cwd": cwd, "_meta": map[string]any{"strata": meta}}, nil)
	}
	must(t, opened("session/resume", stays, old, nil))
	must(t, e.Call("_strata/session/fork", map[string]any{"sessionId": stays}, nil))
	must(t, e.Call("session/close", map[string]any{"sessionId": stays}, nil))
	at, err := e.Attach(stays, testclient.Place{})
	must(t, err)
	var snapshot struct {
		Session wire.SessionInfo
		Notices []string
	}
	must(t, json.Unmarshal(at.Snapshot, &snapshot))
	if snapshot.Session.Meta == nil || !snapshot.Session.Meta.Strata.Missing ||
		!slices.ContainsFunc(snapshot.Notices, func(n string) bool { return strings.Contains(n, "open the session with the new one") }) {
		t.Errorf("snapshot %s", at.Snapshot)
	}

	for _, wrong := range []string{filepath.Join(ts.work, "none"), ts.dir, "new"} {
		wireFault(t, opened("session/load", sid, wrong, nil), rpc.CodeInvalidParams)
	}
	must(t, opened("session/load", sid, now, nil))
	e.Expect(testclient.Condition{Name: "a notice of the move", Met: func(fs testclient.Frames) bool {
		return slices.ContainsFunc(fs.Of(sid).Kind("notice"), func(f testclient.Frame) bool {
			return strings.Contains(string(f.Params), "The session has moved from "+old+" to "+now)
		})
	}})
	mustPrompt(t, e, sid, "and now?")
	if sent := lastSent(ts); !strings.Contains(sent, "alpha and more") {
		t.Errorf("the file is not in the request: %.600s", sent)
	}
	files := call[map[string][]workspace.FileInfo](ts, e, "_strata/files/list", sid, nil)["files"]
	if len(files) != 1 || files[0].Path != "a.txt" {
		t.Errorf("files %+v", files)
	}
	record, err := ts.store.Session(t.Context(), sid)
	must(t, err)
	if record.CWD != now || !slices.Equal(record.Roots, []string{filepath.Join(now, "lib")}) {
		t.Errorf("stored as %+v", record)
	}
	if got := listed(t, e, now); !slices.Equal(got, []string{sid}) {
		t.Errorf("in the new folder are %v", got)
	}
	// Only a session that is asked to moves away from a folder that is there.
	other := filepath.Join(ts.work, "other")
	mkdirs(t, other)
	fault := wireFault(t, opened("session/load", sid, other, nil), rpc.CodeInvalidParams)
	if !strings.Contains(fault.Message, "_meta.strata.moved") {
		t.Errorf("refused with %q", fault.Message)
	}
	must(t, opened("session/resume", sid, other, map[string]any{"moved": true}))
	if got := listed(t, e, other); !slices.Equal(got, []string{sid}) {
		t.Errorf("in the other folder are %v", got)
	}
	// A fork starts in the folder that its client names.
	must(t, e.Call("session/fork", map[string]any{"sessionId": stays, "cwd": now}, &made))
	if got := listed(t, e, now); !slices.Equal(got, []string{made.SessionID}) {
		t.Errorf("after a fork in the new folder are %v", got)
	}
	// It survives the server.
	ts.close()
	ts.start()
	e = ts.editor()
	var info wire.SessionDetails
	must(t, e.Call("_strata/session/info", map[string]any{"sessionId": sid}, &info))
	if info.Session.CWD != other || len(info.Notices) != 0 {
		t.Errorf("after a restart %+v", info)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
