package server

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/rpc"
	"strata/server/transfer"
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
			t.Fatal(err)
		}
		source, got := ts.stored(sid), ts.stored(imported.SessionID)
		want := ts.viewed(sid, history.NewLog(source.Heads, source.Edits))
		if d := cmp.Diff(want, ts.viewed(imported.SessionID, history.NewLog(got.Heads, got.Edits))); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
	}
}
