package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/access"
	"strata/session/workspace"
)

// neverSent fails the test if a request to the provider so far contained one of the texts.
func (ts *testServer) neverSent(texts ...string) {
	ts.t.Helper()
	for _, request := range ts.upstream.Requests() {
		for _, text := range texts {
			if strings.Contains(string(request.Body), text) {
				ts.t.Errorf("the provider received %q", text)
			}
		}
	}
}

// R04: the folder of a session, one above it, or an additional one is replaced by a link to outside workspaces.roots.
// Nothing outside is read by any method, nor for a request, now or after a restart.
func TestR04AReplacedFolderLeavesTheRoots(t *testing.T) {
	t.Parallel()
	for name, replaced := range map[string]string{"the folder": "roots/work/p", "a folder above": "roots/work"} {
		for _, additional := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				base := t.TempDir()
				for _, dir := range []string{"roots/work/p", "roots/main", "outside/p"} {
					if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				put := func(path, text string) {
					t.Helper()
					if err := os.WriteFile(filepath.Join(base, path), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for _, file := range []string{"a.txt", "b.txt", "AGENTS.md"} {
					put("roots/work/p/"+file, "inside "+file)
					put("outside/"+file, "OUTSIDE "+file)
					put("outside/p/"+file, "OUTSIDE "+file)
				}
				confined := func(o *Options) { o.Roots, o.Sessions.RulesFile = []string{filepath.Join(base, "roots")}, true }
				ts := startServer(t, confined)
				folder := filepath.Join(base, "roots/work/p")
				cwd, further := folder, []string{}
				if additional {
					cwd, further = filepath.Join(base, "roots/main"), []string{folder}
				}
				e := ts.editor()
				opened := map[string]any{"cwd": cwd, "additionalDirectories": further, "mcpServers": []any{}}
				var created struct{ SessionID string }
				if err := e.Call("session/new", opened, &created); err != nil {
					t.Fatal(err)
				}
				sid := created.SessionID
				addTo(ts, e, sid, filepath.Join(folder, "a.txt"))
				if err := os.Rename(filepath.Join(base, replaced), filepath.Join(base, "roots/moved")); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(base, "outside"), filepath.Join(base, replaced)); err != nil {
					t.Fatal(err)
				}
				if got := refusal(ts, e, "_strata/files/add", sid, map[string]any{"path": filepath.Join(folder, "b.txt")}); got != "replaced" {
					t.Errorf("a file outside is refused as %q", got)
				}
				if got := refusal(ts, e, "_strata/files/content", sid, map[string]any{"path": filepath.Join(folder, "a.txt")}); got != "replaced" {
					t.Errorf("the content of the file is refused as %q", got)
				}
				found := call[struct{ Paths []workspace.FoundPath }](ts, e, "_strata/workspace/find", sid, map[string]any{"query": ""})
				if len(found.Paths) > 0 {
					t.Errorf("found %v", found.Paths)
				}
				reply := promptWith(t, e, sid, words("What is in it?"), link(ts.uri(filepath.Join(folder, "b.txt"))))
				if leftOut := leftOutOf(t, reply); leftOut[ts.uri(filepath.Join(folder, "b.txt"))] != "replaced" {
					t.Errorf("left out: %v", leftOut)
				}
				if told := rawOf(reply.Frames.Kind("notice")); !strings.Contains(told, "was replaced by another") {
					t.Errorf("notices: %s", told)
				}
				ts.neverSent("OUTSIDE")
				ts.close()
				ts.start(confined)
				e = ts.editor()
				opened["sessionId"] = sid
				if err := e.Call("session/load", opened, nil); err == nil || !strings.Contains(err.Error(), "outside workspaces.roots") {
					t.Errorf("the session is loaded again: %v", err)
				}
				if _, err := e.Prompt(sid, "And now?"); err != nil {
					t.Error(err)
				}
				ts.neverSent("OUTSIDE")
			})
		}
	}
}

// F38: the server's own files are refused in a session on a parent folder, by every method, and never found.
func TestF38OwnFilesOfTheServer(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	token := filepath.Join(elsewhere, "project/my-token")
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"project/my-token", "conf/strata.yaml", "strata.log", "strata.log.1", "run/server.json"} {
		put(filepath.Join(elsewhere, path), "OWN")
	}
	put(filepath.Join(elsewhere, "project/plain.txt"), "plain")
	ts := startServer(t, func(o *Options) {
		o.TokenFile, o.LogFile = token, filepath.Join(elsewhere, "strata.log")
		o.Own = []string{filepath.Join(elsewhere, "conf"), filepath.Join(elsewhere, "run/server.json"), filepath.Join(elsewhere, "not/there")}
	})
	put(filepath.Join(ts.dir, "recovery.txt"), "OWN")
	if err := os.Link(token, filepath.Join(elsewhere, "project/hard.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("my-token", filepath.Join(elsewhere, "project/soft.txt")); err != nil {
		t.Fatal(err)
	}
	e := ts.editor()
	for folder, paths := range map[string][]string{
		elsewhere: {
			"project/my-token", "project/hard.txt", "project/soft.txt", "conf/strata.yaml", "strata.log", "strata.log.1", "run/server.json",
			"project/../conf/../conf/strata.yaml", token,
		},
		filepath.Dir(ts.dir): {
			filepath.Join(ts.dir, "strata.db"), filepath.Join(ts.dir, "strata.db-wal"), filepath.Join(ts.dir, "strata.db-shm"),
			filepath.Join(ts.dir, "strata.db.lock"), filepath.Join(ts.dir, "recovery.txt"),
		},
	} {
		sid := e.NewSession(folder)
		blocks := []any{words("What is in these?")}
		for _, path := range paths {
			for _, params := range []map[string]any{{"path": path}, {"path": path, "allow": true}, {"path": path, "content": "mine"}} {
				if got := refusal(ts, e, "_strata/files/add", sid, params); got != "own" {
					t.Errorf("%v is refused as %q", params, got)
				}
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(folder, path)
			}
			blocks = append(blocks, link(ts.uri(path)))
		}
		promptWith(t, e, sid, blocks...)
		found := call[struct{ Paths []workspace.FoundPath }](ts, e, "_strata/workspace/find", sid, map[string]any{"query": "", "limit": 1000})
		for _, f := range found.Paths {
			for _, name := range []string{"token", "strata", "server.json", "hard.txt", "recovery.txt"} {
				if strings.Contains(f.Path, name) && folder == elsewhere {
					t.Errorf("found %s", f.Path)
				}
			}
			if strings.HasPrefix(f.Path, filepath.Base(ts.dir)+"/") {
				t.Errorf("found %s", f.Path)
			}
		}
		if folder == elsewhere && len(found.Paths) != 1 {
			t.Errorf("found %v", found.Paths)
		}
	}
	ts.neverSent("OWN")
}

// R09: a secret-looking file of the workspace needs an explicit allow, which the user is told.
func TestR09SecretsNeedAnAllow(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write(".env", "KEY=hidden-one")
	ts.write("server.pem", "hidden-two")
	ts.write(".env.example", "KEY=")
	ts.write("typed.key", "hidden-three")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, path := range []string{".env", "server.pem"} {
		if got := refusal(ts, e, "_strata/files/add", sid, map[string]any{"path": path}); got != "secret" {
			t.Errorf("%s is refused as %q", path, got)
		}
	}
	addTo(ts, e, sid, ".env.example")
	reply := promptWith(t, e, sid, words("What is in it?"), link(ts.uri(".env")))
	if leftOut := leftOutOf(t, reply); leftOut[ts.uri(".env")] != "secret" {
		t.Errorf("left out: %v", leftOut)
	}
	if told := rawOf(reply.Frames.Kind("notice")); !strings.Contains(told, ".env looks like a secret; add it with allow") {
		t.Errorf("the user is told %s", told)
	}
	ts.neverSent("hidden")

	addTo(ts, e, sid, ".env", map[string]any{"allow": true})
	e.Expect(testclient.SeesTimes(sid, "notice", 2))
	if told := rawOf(e.Frames().Of(sid).Kind("notice")); !strings.Contains(told, ".env") || !strings.Contains(told, "Looks like a secret") {
		t.Errorf("the user is told %s", told)
	}
	allowed := link(ts.uri("server.pem"))
	allowed["_meta"] = map[string]any{"strata": map[string]any{"allow": true}}
	reply = promptWith(t, e, sid, words("And now?"), allowed, embedded(ts.uri("typed.key"), "typed by the user"),
		embedded("file:///elsewhere/id_rsa", "a key from elsewhere"))
	notice := rawOf(reply.Frames.Kind("notice"))
	for _, name := range []string{"server.pem", "typed.key", "/elsewhere/id_rsa"} {
		if !strings.Contains(notice, name) {
			t.Errorf("the user is not told of %s: %s", name, notice)
		}
	}
	sent := string(ts.upstream.Last().Body)
	for _, text := range []string{"hidden-one", "hidden-two", "typed by the user", "a key from elsewhere"} {
		if !strings.Contains(sent, text) {
			t.Errorf("the provider did not receive %q", text)
		}
	}
	if strings.Contains(sent, `"allow"`) || strings.Contains(string(rawHistory(ts, e, sid)), `"allow"`) {
		t.Error("the allow is part of the message")
	}

	ts.restart()
	e = resume(ts, sid)
	mustPrompt(t, e, sid, "And after a restart?")
	if files := filesOf(ts, e, sid); files[".env"].Tokens == 0 || files["server.pem"].Tokens == 0 {
		t.Errorf("files: %+v", files)
	}
	if !strings.Contains(string(ts.upstream.Last().Body), "hidden-one") {
		t.Error("the allowed file is not sent after a restart")
	}
	ts.neverSent("hidden-three")
}

// rawHistory returns the transcript as clients receive it.
func rawHistory(ts *testServer, e caller, sid string) []byte {
	ts.t.Helper()
	var raw rawJSON
	if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &raw); err != nil {
		ts.t.Fatal(err)
	}
	return raw
}

type rawJSON []byte

func (r *rawJSON) UnmarshalJSON(data []byte) error { *r = append((*r)[:0], data...); return nil }

// R09: AGENTS.md that is a link to a secret is no rule.
func TestR09RulesThatAreASecret(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(o *Options) { o.Sessions.RulesFile = true })
	ts.write(".env", "KEY=hidden")
	ts.symlink(".env", "AGENTS.md")
	e := ts.editor()
	reply := promptWith(t, e, e.NewSession(ts.work), words("hello"))
	if leftOut := leftOutOf(t, reply); leftOut["doc:rules"] != "secret" {
		t.Errorf("left out: %v", leftOut)
	}
	ts.neverSent("hidden")
}

// R09: the configuration changes the rule.
func TestR09TheRuleCanBeChanged(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(o *Options) { o.Secrets = []string{} })
	ts.write(".env", "KEY=1")
	e := ts.editor()
	addTo(ts, e, e.NewSession(ts.work), ".env")
}

// R02: a rotation of the token ends open connections without any request, and editors find the new token. Turns go on.
func TestR02ARotationEndsOpenConnections(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	file := filepath.Join(t.TempDir(), "server.json")
	ts := startServer(t, func(o *Options) {
		token, err := access.LoadOrCreateToken(path)
		if err != nil {
			t.Fatal(err)
		}
		o.Token, o.TokenFile, o.ServerFile = token, path, file
	})
	before, err := access.ReadServerFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ts.token = before.Token
	e, idle := ts.editor(), ts.editor()
	sid := e.NewSession(ts.work)
	gate := make(chan struct{})
	ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("first"), upstream.Hold(gate), upstream.Text(", second")}})
	e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	fresh, err := access.RotateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*testclient.Editor{e, idle} {
		<-c.Done()
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), "access has ended") {
			t.Errorf("the connection ended with %v", err)
		}
	}
	close(gate)
	after, err := access.ReadServerFile(file)
	if err != nil || !after.Token.Matches(fresh.Reveal()) || after.URL != before.URL {
		t.Errorf("server.json has the old token: %v", err)
	}
	ts.token = after.Token
	e = resume(ts, sid)
	if err := e.Call("_strata/debug/quiesce", nil, nil); err != nil {
		t.Fatal(err)
	}
	if history := string(rawHistory(ts, e, sid)); !strings.Contains(history, "first, second") {
		t.Errorf("the turn did not go on: %s", history)
	}
}

// R09: an imported session reads no secret-looking file, whatever its export says was allowed; the user allows it again.
func TestR09AnImportAllowsNothing(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write(".env", "KEY=hidden")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	addTo(ts, e, sid, ".env", map[string]any{"allow": true})
	exported := call[struct{ Lines []json.RawMessage }](ts, e, "_strata/session/export", sid, nil)
	var imported struct{ SessionID string }
	if err := e.Call("_strata/session/import", map[string]any{"lines": exported.Lines, "done": true}, &imported); err != nil {
		t.Fatal(err)
	}
	if err := e.Call("session/resume", map[string]any{"sessionId": imported.SessionID, "cwd": ts.work}, nil); err != nil {
		t.Fatal(err)
	}
	reply := promptWith(t, e, imported.SessionID, words("What is in it?"))
	if leftOut := leftOutOf(t, reply); leftOut["file:.env"] == "" {
		t.Errorf("left out: %v", leftOut)
	}
	if told := rawOf(reply.Frames.Kind("notice")); !strings.Contains(told, "looks like a secret") {
		t.Errorf("notices: %s", told)
	}
	ts.neverSent("hidden")
	addTo(ts, e, imported.SessionID, ".env", map[string]any{"allow": true})
	promptWith(t, e, imported.SessionID, words("And now?"))
	if !strings.Contains(string(ts.upstream.Last().Body), "hidden") {
		t.Error("the file is not sent although the user allows it")
	}
}
