package server

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
)

// sessionsFound returns the sessions that a search by title and folder finds, best first.
func sessionsFound(t *testing.T, e *testclient.Editor, params map[string]any) (ids []string) {
	t.Helper()
	for {
		var page wire.FoundSessions
		must(t, e.Call("_strata/session/search", params, &page))
		for _, s := range page.Sessions {
			ids = append(ids, s.SessionID)
		}
		if params["cursor"] = page.NextCursor; page.NextCursor == "" {
			return ids
		}
	}
}

func messagesFound(t *testing.T, e *testclient.Editor, params map[string]any) (ids []string) {
	t.Helper()
	page := wire.SearchPage{Behind: 1}
	for page.Behind > 0 {
		page = wire.SearchPage{}
		must(t, e.Call("_strata/history/search", params, &page))
	}
	for _, h := range page.Hits {
		ids = append(ids, h.SessionID)
	}
	return ids
}

// A search is in all sessions, in a folder and those below it, or in one session. Deleted sessions are never found.
func TestSearchesKeepToTheirScope(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	app, lib := filepath.Join(ts.work, "app"), filepath.Join(ts.work, "app", "lib")
	mkdirs(t, lib, filepath.Join(ts.work, "application"))
	var ids []string
	for i, cwd := range []string{app, lib, filepath.Join(ts.work, "application"), app} {
		sid := e.NewSession(cwd)
		must(t, e.Call("_strata/session/rename", map[string]any{"sessionId": sid, "title": fmt.Sprint("Thé needle ", i)}, nil))
		call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{message("user", fmt.Sprint("the needle ", i))}})
		ids = append(ids, sid)
	}
	must(t, e.Call("session/delete", map[string]any{"sessionId": ids[3]}, nil))
	for _, tt := range []struct {
		name   string
		params map[string]any
		want   []string
	}{
		{"all", map[string]any{}, []string{ids[2], ids[1], ids[0]}},
		{"the folder", map[string]any{"cwd": app + "/"}, []string{ids[0]}},
		{"the folder and below", map[string]any{"folder": app + "/lib/.."}, []string{ids[1], ids[0]}},
		{"the lower folder", map[string]any{"folder": lib}, []string{ids[1]}},
		{"another folder", map[string]any{"folder": filepath.Join(ts.work, "none")}, nil},
	} {
		tt.params["query"], tt.params["limit"] = "the needle", 2
		if got := sessionsFound(t, e, tt.params); !slices.Equal(got, tt.want) {
			t.Errorf("%s: sessions %v, want %v", tt.name, got, tt.want)
		}
		delete(tt.params, "cursor")
		tt.params["limit"] = 10
		if got := messagesFound(t, e, tt.params); !slices.Equal(got, tt.want) {
			t.Errorf("%s: messages of %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := messagesFound(t, e, map[string]any{"query": "needle", "sessionId": ids[1]}); !slices.Equal(got, ids[1:2]) {
		t.Errorf("in one session: %v", got)
	}
}

// A session's text is found by the stored messages alone: nothing is loaded for it.
func TestTextIsFoundInASession(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		message("user", "Find the needle"), message("assistant", "The **nee**dle: needle, needles"),
	}})
	page := call[wire.FindPage](ts, e, "_strata/history/find", sid, map[string]any{"text": "NEEDLE", "limit": 1})
	if len(page.Places) != 1 || page.Places[0].Seq != 1 || page.NextCursor != "1" {
		t.Fatalf("%+v", page)
	}
	page = call[wire.FindPage](ts, e, "_strata/history/find", sid, map[string]any{"text": "NEEDLE", "cursor": page.NextCursor})
	if len(page.Places) != 1 || page.Places[0].Count != 3 || page.NextCursor != "" {
		t.Fatalf("%+v", page)
	}
}

// Any query is plain text, and what is no query is refused with its reason.
func TestHostileSearches(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, query := range []string{`"`, `a" OR "b`, "NEAR(a, b)", "title:x*", "\x00", "%_", "'; DROP TABLE session; --", strings.Repeat("é ", 1000), strings.Repeat("x", 10<<20)} {
		must(t, e.Call("_strata/session/search", map[string]any{"query": query}, nil))
		must(t, e.Call("_strata/history/search", map[string]any{"query": query, "sessionId": query[:min(len(query), 100)]}, nil))
		if len(query) <= 1<<10 {
			must(t, e.Call("_strata/history/find", map[string]any{"sessionId": sid, "text": query}, nil))
		}
	}
	for _, tt := range []struct {
		method string
		params map[string]any
		code   int
		want   string
	}{
		{"_strata/session/search", map[string]any{}, rpc.CodeInvalidParams, "params.query"},
		{"_strata/session/search", map[string]any{"query": "x", "cursor": "AAAA"}, rpc.CodeInvalidParams, "params.cursor"},
		{"_strata/session/search", map[string]any{"query": "x", "limit": -1}, rpc.CodeInvalidParams, "params.limit"},
		{"_strata/session/search", map[string]any{"query": "x", "folder": "relative"}, rpc.CodeInvalidParams, "params.folder: must be an absolute path"},
		{"_strata/session/search", map[string]any{"query": "x", "cwd": "/a\x00"}, rpc.CodeInvalidParams, "params.cwd: must be an absolute path"},
		{"_strata/history/search", map[string]any{"query": "x", "cwd": "/a", "folder": "/a"}, rpc.CodeInvalidParams, "either cwd or folder"},
		{"_strata/history/find", map[string]any{"sessionId": sid}, rpc.CodeInvalidParams, "params.text"},
		{"_strata/history/find", map[string]any{"text": "x"}, rpc.CodeInvalidParams, "params.sessionId"},
		{"_strata/history/find", map[string]any{"sessionId": "sess_none", "text": "x"}, wire.CodeNotFound, "session"},
		{"_strata/history/find", map[string]any{"sessionId": sid, "text": "x", "cursor": "0"}, rpc.CodeInvalidParams, "params.cursor"},
		{"_strata/history/find", map[string]any{"sessionId": sid, "text": "x", "limit": -5}, rpc.CodeInvalidParams, "params.limit"},
		{"_strata/history/find", map[string]any{"sessionId": sid, "text": strings.Repeat("x", 10<<20)}, rpc.CodeInvalidParams, "params.text: 10485760 bytes exceeds the limit of 1024"},
	} {
		err := e.Call(tt.method, tt.params, nil)
		refused, ok := errors.AsType[*rpc.Error](err)
		if !ok || refused.Code != tt.code || !strings.Contains(refused.Message, tt.want) {
			t.Errorf("%s %.80v: %v, want %d %s", tt.method, tt.params, err, tt.code, tt.want)
		}
	}
}
