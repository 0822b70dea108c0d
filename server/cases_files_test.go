package server

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/assembly"
	"strata/session/workspace"
)

// filesOf returns the files of a session by path.
func filesOf(ts *testServer, e caller, sid string) map[string]workspace.FileInfo {
	ts.t.Helper()
	list := call[struct{ Files []workspace.FileInfo }](ts, e, "_strata/files/list", sid, nil)
	files := make(map[string]workspace.FileInfo)
	for _, f := range list.Files {
		files[f.Path] = f
	}
	return files
}

// addTo adds a file to a session; more contains further parameters.
func addTo(ts *testServer, e caller, sid, path string, more ...map[string]any) workspace.FileInfo {
	ts.t.Helper()
	params := map[string]any{"path": path}
	for _, m := range more {
		for k, v := range m {
			params[k] = v
		}
	}
	return call[workspace.FileInfo](ts, e, "_strata/files/add", sid, params)
}

// refusal returns the reason for which a method refuses a path.
func refusal(ts *testServer, e caller, method, sid string, params map[string]any) string {
	ts.t.Helper()
	params["sessionId"] = sid
	fault := wireFault(ts.t, e.Call(method, params, nil), wire.CodeRefusedPath)
	return faultData[struct{ Path, Reason string }](ts.t, fault).Reason
}

// resume opens a stored session again after a restart.
func resume(ts *testServer, sid string) *testclient.Editor {
	ts.t.Helper()
	e := ts.editor()
	if err := e.Call("session/resume", map[string]any{"sessionId": sid, "cwd": ts.work}, nil); err != nil {
		ts.t.Fatal(err)
	}
	return e
}

// restart stops the server and starts it again on the same database.
func (ts *testServer) restart() {
	ts.t.Helper()
	ts.close()
	ts.start()
}

func link(uri string) map[string]any {
	return map[string]any{"type": "resource_link", "name": "a link", "uri": uri}
}

func embedded(uri, text string) map[string]any {
	return map[string]any{"type": "resource", "resource": map[string]any{"uri": uri, "text": text}}
}

// promptWith sends a prompt with the given blocks, which must succeed.
func promptWith(t testing.TB, e *testclient.Editor, sid string, blocks ...any) testclient.Reply {
	t.Helper()
	reply, err := e.StartWith(sid, blocks, "").Wait()
	if err != nil || reply.StopReason != "end_turn" {
		t.Fatalf("the prompt ended with %q, error %v", reply.StopReason, err)
	}
	return reply
}

func categoryTokens(b assembly.Breakdown, name string) int {
	for _, c := range b.Categories {
		if c.Name == name {
			return c.Tokens
		}
	}
	return 0
}

func TestK5_04FilesThatDisappear(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("f1.txt", strings.Repeat("the first file\n", 50))
	ts.write("f2.txt", strings.Repeat("the second file\n", 50))
	e, sid := attached(t, ts)
	addTo(ts, e, sid, "f1.txt")
	addTo(ts, e, sid, "f2.txt")

	ts.remove("f1.txt")
	reply := mustPrompt(t, e, sid, "without the first")
	if got := leftOutOf(t, reply); got["file:f1.txt"] != "deleted" || len(got) != 1 {
		t.Errorf("omitted: %v", got)
	}
	if told := rawOf(reply.Frames.Kind("files_changed")); !strings.Contains(told, `{"path":"f1.txt","change":"deleted"}`) {
		t.Errorf("events: %s", told)
	}
	if told := rawOf(reply.Frames.Kind("notice")); !strings.Contains(told, "f1.txt was deleted and has left the context") {
		t.Errorf("notices: %s", told)
	}
	if sent := string(ts.upstream.Last().Body); strings.Contains(sent, "the first file") || !strings.Contains(sent, "the second file") {
		t.Errorf("sent: %.400s", sent)
	}
	if files := filesOf(ts, e, sid); len(files) != 1 {
		t.Errorf("files: %v", files)
	}
	full := tokensOf(ts, e, sid)
	if removed := call[map[string]bool](ts, e, "_strata/files/remove", sid, map[string]any{"path": "f1.txt"}); removed["removed"] {
		t.Error("a file that no longer exists was removed")
	}

	if err := os.Rename(filepath.Join(ts.work, "f2.txt"), filepath.Join(ts.work, "f3.txt")); err != nil {
		t.Fatal(err)
	}
	reply = mustPrompt(t, e, sid, "without the second")
	if got := leftOutOf(t, reply); got["file:f2.txt"] != "deleted" {
		t.Errorf("omitted: %v", got)
	}
	if sent := string(ts.upstream.Last().Body); !strings.Contains(sent, "REMOVED: f2.txt") {
		t.Errorf("the request contains no note: %.600s", sent)
	}
	if b := tokensOf(ts, e, sid); len(filesOf(ts, e, sid)) != 0 || b.Dead < 100 && categoryTokens(b, "files") >= categoryTokens(full, "files") {
		t.Errorf("files still count: %+v", b.Categories)
	}

	addTo(ts, e, sid, "f3.txt")
	mustPrompt(t, e, sid, "with the third")
	ts.makeUnreadable("f3.txt")
	for range 2 {
		reply = mustPrompt(t, e, sid, "without the third")
		if got := leftOutOf(t, reply); got["file:f3.txt"] != "unreadable" {
			t.Errorf("omitted: %v", got)
		}
		f := filesOf(ts, e, sid)["f3.txt"]
		if f.State != "not_available" || f.Tokens != 0 || f.Reason == "" {
			t.Errorf("the list contains %+v", f)
		}
		ts.restart()
		e = resume(ts, sid)
	}
	if removed := call[map[string]bool](ts, e, "_strata/files/remove", sid, map[string]any{"path": "f3.txt"}); !removed["removed"] {
		t.Error("the file that cannot be read cannot be removed")
	}
	if got := leftOutOf(t, mustPrompt(t, e, sid, "and on")); len(got) != 0 {
		t.Errorf("omitted: %v", got)
	}
}

func rawOf(frames testclient.Frames) string {
	var out strings.Builder
	for _, f := range frames {
		out.Write(f.Raw)
	}
	return out.String()
}

func (ts *testServer) remove(name string) {
	ts.t.Helper()
	if err := os.Remove(filepath.Join(ts.work, name)); err != nil {
		ts.t.Fatal(err)
	}
}

// makeUnreadable removes the permission to read a file. For root, who can still read it, it removes the file.
func (ts *testServer) makeUnreadable(name string) {
	ts.t.Helper()
	path := filepath.Join(ts.work, name)
	err := os.Chmod(path, 0)
	if err == nil && os.Geteuid() == 0 {
		if err = os.Remove(path); err == nil {
			err = mkfifo(path)
		}
	}
	if err != nil {
		ts.t.Fatal(err)
	}
}

func TestK5_05FilesThatAreNoText(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	utf16le := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune("wide wörds\r\n")) {
		utf16le = append(utf16le, byte(c), byte(c>>8))
	}
	ts.write("sheet.ods", "PK\x03\x04\x14\x00\x00\x00\x00\x00mimetypeapplication/vnd.oasis.opendocument.spreadsheet")
	ts.write("notes.txt", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00")
	ts.write("program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00")
	ts.write("sjis.txt", "\x93\xfa\x96\x7b\x8c\xea\n")
	ts.write("wide.txt", string(utf16le))
	ts.write("empty.txt", "")
	ts.write("huge.txt", "")
	if err := os.Truncate(filepath.Join(ts.work, "huge.txt"), 2<<30); err != nil {
		t.Fatal(err)
	}
	if err := mkfifo(filepath.Join(ts.work, "pipe")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(ts.work, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	ts.symlink("/dev/zero", "zero")
	refused := map[string]string{
		"sheet.ods": "binary", "notes.txt": "binary", "program": "binary", "sjis.txt": "encoding", "huge.txt": "too_large",
		"pipe": "not_regular", "folder": "directory", "zero": "outside", "/dev/zero": "outside", "none.txt": "missing",
	}

	e := ts.editor()
	sid := e.NewSession(ts.work)
	for path, want := range refused {
		if got := refusal(ts, e, "_strata/files/add", sid, map[string]any{"path": path}); got != want {
			t.Errorf("%s is refused as %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"wide.txt", "empty.txt"} {
		if f := addTo(ts, e, sid, path); f.State != "full" {
			t.Errorf("%+v", f)
		}
	}
	blocks := []any{words("What are these?")}
	for path := range refused {
		blocks = append(blocks, link(ts.uri(path)))
	}
	got := leftOutOf(t, promptWith(t, e, sid, blocks...))
	for path, want := range refused {
		if got[ts.uri(path)] != want {
			t.Errorf("%s is left out as %q, want %s", path, got[ts.uri(path)], want)
		}
	}
	sent := ts.upstream.Last()
	if !strings.Contains(string(sent.Body), "wide wörds") || bytes.ContainsRune(sent.Body, 0) || strings.Contains(string(sent.Body), `\u0000`) {
		t.Errorf("sent: %.600s", sent.Body)
	}
	ts.restart()
	e = resume(ts, sid)
	mustPrompt(t, e, sid, "And now?")
	if files := filesOf(ts, e, sid); len(files) != 2 || files["wide.txt"].Tokens == 0 {
		t.Errorf("files: %+v", files)
	}
}

// uri returns the URI of a path in the session's folder.
func (ts *testServer) uri(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(ts.work, path)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func (ts *testServer) symlink(target, name string) {
	ts.t.Helper()
	if err := os.Symlink(target, filepath.Join(ts.work, name)); err != nil {
		ts.t.Fatal(err)
	}
}

func TestK5_07NothingLeadsOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	ts.symlink(filepath.Join(outside, "newfile"), "a")
	ts.symlink(filepath.Join(outside, "secret.txt"), "b")
	ts.symlink("../..", "c")
	ts.symlink(outside, "d")
	ts.write("inside.txt", "the inside")
	ts.symlink("inside.txt", "e")
	relative, err := filepath.Rel(ts.work, filepath.Join(outside, "secret.txt"))
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"a", "b", "c", "d", "d/secret.txt", "d/none.txt", "c/etc/hostname", "x/../../y", "../secret.txt", "/etc/hostname",
		relative, filepath.Join(outside, "secret.txt"), filepath.Join(ts.work, "..", "y"),
	}
	uris := []string{ts.uri("b"), ts.uri("d/secret.txt"), ts.uri(filepath.Join(outside, "secret.txt")),
		"file://" + ts.work + "/%2e%2e/%2e%2e/etc/hostname", "file://" + ts.work + "/%2e%2e%2fsecret.txt", "file://" + ts.work + "/..%5csecret.txt",
		"file://" + ts.work + "/x/../../secret.txt", "file://elsewhere" + ts.work + "/inside.txt", "file:///etc/hostname", "file:etc/hostname"}

	e := ts.editor()
	sid := e.NewSession(ts.work)
	check := func() {
		t.Helper()
		for _, path := range append(paths, uris...) {
			for _, params := range []map[string]any{{"path": path}, {"path": path, "content": "planted"}} {
				if reason := refusal(ts, e, "_strata/files/add", sid, params); reason != "outside" && reason != "bad_uri" {
					t.Errorf("%s is refused as %s", path, reason)
				}
			}
		}
		for _, uri := range uris {
			got := leftOutOf(t, promptWith(t, e, sid, words("Look"), link(uri)))
			if got[uri] != "outside" && got[uri] != "bad_uri" {
				t.Errorf("%s is omitted with reason %q", uri, got[uri])
			}
			promptWith(t, e, sid, words("Look"), embedded(uri, "planted")) // not added to the files
		}
		if files := filesOf(ts, e, sid); len(files) != 0 {
			t.Errorf("files: %v", files)
		}
		for _, r := range ts.upstream.Requests() {
			if strings.Contains(string(r.Body), "the secret") {
				t.Fatal("the secret was sent")
			}
		}
	}
	check()
	ts.restart()
	e = resume(ts, sid)
	check()
	for _, name := range []string{"newfile", "none.txt"} {
		if _, err := os.Stat(filepath.Join(outside, name)); !os.IsNotExist(err) {
			t.Errorf("%s outside: %v", name, err)
		}
	}
	if f := addTo(ts, e, sid, "e"); f.State != "full" {
		t.Errorf("a link that stays inside: %+v", f)
	}
}

// The settings can forbid the folder of a stored session: the session then works without files.
func TestK5_07FoldersThatAreForbiddenLater(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("secret.txt", "the secret")
	ts.write("AGENTS.md", "the rules of the place")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	addTo(ts, e, sid, "secret.txt")
	ts.close()

	ts.start(func(opt *Options) { opt.Roots = []string{t.TempDir()} })
	e = ts.editor()
	promptWith(t, e, sid, words("What is in it?"), link(ts.uri("secret.txt")))
	if body := string(ts.upstream.Last().Body); strings.Contains(body, "the secret") || strings.Contains(body, "the rules") {
		t.Errorf("the model was sent %s", body)
	}
	wireFault(t, e.Call("_strata/files/add", map[string]any{"sessionId": sid, "path": "secret.txt"}, nil), rpc.CodeInvalidParams)
	for _, method := range []string{"session/load", "session/resume"} {
		wireFault(t, e.Call(method, map[string]any{"sessionId": sid, "cwd": ts.work, "mcpServers": []any{}}, nil), rpc.CodeInvalidParams)
	}
}

func TestK5_07AWorkspaceThatIsReachedThroughALink(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("inside.txt", "the inside")
	folder := filepath.Join(t.TempDir(), "workspace")
	if err := os.Symlink(ts.work, folder); err != nil {
		t.Fatal(err)
	}
	e := ts.editor()
	sid := e.NewSession(folder)
	for _, path := range []string{"inside.txt", filepath.Join(folder, "inside.txt"), filepath.Join(ts.work, "inside.txt"), "file://" + folder + "/inside.txt"} {
		if f := addTo(ts, e, sid, path); f.Path != "inside.txt" || f.State != "full" {
			t.Errorf("%s: %+v", path, f)
		}
	}
	promptWith(t, e, sid, words("Look"), link("file://"+folder+"/inside.txt"), embedded("file://"+ts.work+"/new.txt", "not written yet"))
	if files := filesOf(ts, e, sid); len(files) != 2 || !files["new.txt"].Unsaved {
		t.Errorf("files: %+v", files)
	}
	if reason := refusal(ts, e, "_strata/files/add", sid, map[string]any{"path": "../inside.txt"}); reason != "outside" {
		t.Errorf("refused as %s", reason)
	}
}

// hostile contains texts that a page would execute if it took them for HTML.
var hostile = []string{
	`<img src=x onerror=alert(1)>`, `</script><script>alert(1)</script>`, `javascript:alert(1)`, `"><svg/onload=alert(1)>`, `'-alert(1)-'`,
	"</code></title>\u2028", `{{.}}`,
}

func TestK9_06HostileTextsStayText(t *testing.T) {
	t.Parallel()
	nasty := strings.Join(hostile, " ")
	ts := startServer(t, func(o *Options) {
		o.Version, o.TokenFile = nasty, "/state/"+nasty
		o.ServerFile = filepath.Join(o.StateDir, "<img src=x onerror=alert(1)>.json")
	})
	ts.upstream.Push(
		upstream.Script{Steps: upstream.Texts(nasty)},
		upstream.Script{Status: http.StatusBadRequest, Body: `{"error":{"type":"invalid_request_error","message":"<img src=x onerror=alert(1)>"}}`},
	)
	name := "a<img src=x onerror=alert(1)>.txt"
	ts.write(name, nasty)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	addTo(ts, e, sid, name)
	mustPrompt(t, e, sid, nasty)
	if _, err := e.Prompt(sid, "fail"); err == nil {
		t.Error("the provider's error was no error")
	}
	if err := e.Call("_strata/session/rename", map[string]any{"sessionId": sid, "title": nasty}, nil); err != nil {
		t.Fatal(err)
	}
	if err := e.Call("session/set_config_option", map[string]any{"sessionId": sid, "configId": "model", "value": "local/" + nasty}, nil); err != nil {
		t.Fatal(err)
	}
	ts.restart()
	resume(ts, sid)

	visitor := newVisitor(t)
	var code struct{ URL string }
	if err := ts.editor().Call("_strata/server/hud_code", map[string]any{}, &code); err != nil {
		t.Fatal(err)
	}
	hud := visitor.open(code.URL)
	if !strings.Contains(hud, `src="/assets/hud.js"`) {
		t.Fatalf("not the HUD: %s", hud)
	}
	entry := newVisitor(t).open(strings.Split(code.URL, "?")[0] + "?code=" + url.QueryEscape(nasty))
	for name, page := range map[string]string{"HUD": hud, "entry": entry} {
		for _, part := range []string{"<script>", "onerror=alert(1)>", "<svg", "<img src=x", "javascript:"} {
			if strings.Contains(page, part) {
				t.Errorf("the %s page has %s", name, part)
			}
		}
	}
}

// visitor is a minimal browser for these pages.
type visitor struct {
	t      *testing.T
	client http.Client
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t: t, client: http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Jar: jar}}
}

// open returns a page and checks that its headers forbid scripts.
func (v *visitor) open(address string) string {
	v.t.Helper()
	r, err := v.client.Get(address)
	if err != nil {
		v.t.Fatal(err)
	}
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	policy := r.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self'") || strings.Contains(policy, "unsafe-inline") {
		v.t.Errorf("%s has the policy %q", address, policy)
	}
	if r.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		v.t.Errorf("%s has the headers %v", address, r.Header)
	}
	return string(page)
}
