package server

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/workspace"
)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// numbered returns n lines with their numbers.
func numbered(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "line %d of the file\n", i+1)
	}
	return out.String()
}

// lastSent returns the body of the newest request to the provider.
func lastSent(ts *testServer) string { return string(ts.upstream.Last().Body) }

// editRefusal returns the reason for which a file may not be patched; empty if it may.
func editRefusal(ts *testServer, e caller, sid, path, base string) string {
	ts.t.Helper()
	err := e.Call("_strata/files/check_edit", map[string]any{"sessionId": sid, "path": path, "baseHash": base}, nil)
	if err == nil {
		return ""
	}
	data := faultData[struct{ Path, Reason string }](ts.t, wireFault(ts.t, err, wire.CodeEditRefused))
	if data.Path != path {
		ts.t.Errorf("the refusal names %q, not %q", data.Path, path)
	}
	return data.Reason
}

func TestAFileThatIsWantedOnceLeavesAfterTheReply(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("once.txt", "only once\n")
	ts.write("stays.txt", "for good\n")
	e, sid := attached(t, ts)
	if f := addTo(ts, e, sid, "once.txt", map[string]any{"once": true}); !f.Once {
		t.Errorf("%+v", f)
	}
	addTo(ts, e, sid, "stays.txt")
	ts.upstream.Push(upstream.Script{Status: 400})
	if _, err := e.Prompt(sid, "fails"); err == nil {
		t.Fatal("the prompt did not fail")
	}
	if files := filesOf(ts, e, sid); len(files) != 2 {
		t.Errorf("after a request without a reply: %v", files)
	}
	reply := mustPrompt(t, e, sid, "look")
	if !strings.Contains(lastSent(ts), "only once") {
		t.Error("it was not sent")
	}
	if told := rawOf(reply.Frames.Kind("files_changed")); !strings.Contains(told, `{"path":"once.txt","change":"removed","reason":"wanted once"}`) {
		t.Errorf("received: %s", told)
	}
	if files := filesOf(ts, e, sid); len(files) != 1 || files["stays.txt"].Path == "" {
		t.Errorf("files: %v", files)
	}
	mustPrompt(t, e, sid, "and now")
	if !strings.Contains(lastSent(ts), "REMOVED: once.txt") {
		t.Error("the request contains no note")
	}
	ts.restart()
	if files := filesOf(ts, resume(ts, sid), sid); len(files) != 1 {
		t.Errorf("after a restart: %v", files)
	}
}

// A file that is added again stays pinned, unless the request says otherwise.
func TestAPinnedFileStaysPinned(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.txt", "text\n")
	e, sid := attached(t, ts)
	for i, step := range []struct {
		options map[string]any
		want    bool
	}{
		{nil, false},
		{map[string]any{"pinned": true}, true},
		{map[string]any{"lineNumbers": true}, true},
		{map[string]any{"pinned": false}, false},
		{map[string]any{"pinned": true}, true},
		{map[string]any{"once": true}, false},
		{map[string]any{"pinned": true}, true},
	} {
		if f := addTo(ts, e, sid, "a.txt", step.options); f.Pinned != step.want {
			t.Errorf("step %d: %+v", i, f)
		}
	}
	run(t, e, sid, "/add a.txt")
	if f := filesOf(ts, e, sid)["a.txt"]; !f.Pinned {
		t.Errorf("after /add: %+v", f)
	}
	if call[struct{ Removed bool }](ts, e, "_strata/files/remove", sid, map[string]any{"path": "a.txt"}); addTo(ts, e, sid, "a.txt").Pinned {
		t.Error("a file that was removed is added as pinned")
	}
}

func TestLineNumbersAndRanges(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	content := numbered(40)
	ts.write("a.md", content)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	whole := addTo(ts, e, sid, "a.md")
	f := addTo(ts, e, sid, "a.md", map[string]any{"lineNumbers": true, "range": map[string]int{"start": 10, "end": 12}})
	if f.State != "partial" || f.Tokens >= whole.Tokens || f.Hash != sha(content) || *f.Range != (workspace.FileRange{Start: 10, End: 12}) || !f.LineNumbers {
		t.Errorf("%+v", f)
	}
	mustPrompt(t, e, sid, "look")
	sent := lastSent(ts)
	if !strings.Contains(sent, `10\tline 10 of the file\n11\tline 11`) || strings.Contains(sent, "line 13") || !strings.Contains(sent, "a.md (lines 10 to 12 of 40)") {
		t.Errorf("sent: %.600s", sent)
	}
	if got := editRefusal(ts, e, sid, "a.md", ""); got != "summary_only" {
		t.Errorf("an edit of a file of which lines were sent is refused as %q", got)
	}
	for _, bad := range []map[string]int{{"start": 41, "end": 50}, {"start": 0, "end": 3}, {"start": 5, "end": 4}, {"start": -1, "end": 3}} {
		if got := refusal(ts, e, "_strata/files/add", sid, map[string]any{"path": "a.md", "range": bad}); got != "range" {
			t.Errorf("%v is refused as %q", bad, got)
		}
	}
	if f := addTo(ts, e, sid, "a.md", map[string]any{"range": map[string]int{"start": 39, "end": 500}}); *f.Range != (workspace.FileRange{Start: 39, End: 40}) {
		t.Errorf("clipped to %+v", f.Range)
	}
	if f := addTo(ts, e, sid, "a.md", map[string]any{"state": "summary"}); f.State != "summary_only" || f.Tokens <= 0 || f.Tokens >= whole.Tokens {
		t.Errorf("%+v", f)
	}
	wireFault(t, e.Call("_strata/files/add", map[string]any{"sessionId": sid, "path": "a.md", "state": "partial"}, nil), rpc.CodeInvalidParams)
	wireFault(t, e.Call("_strata/files/add", map[string]any{"sessionId": sid}, nil), rpc.CodeInvalidParams)
}

func TestLinksOfAPromptShowNoLessThanWasShown(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.txt", numbered(40))
	ts.write("b.md", numbered(40))
	ts.write("c.txt", numbered(40))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	a, b, c := ts.uri("a.txt"), ts.uri("b.md"), ts.uri("c.txt")
	addTo(ts, e, sid, "a.txt", map[string]any{"lineNumbers": true})
	state := func() string {
		files := filesOf(ts, e, sid)
		out := ""
		for _, path := range []string{"a.txt", "b.md", "c.txt"} {
			f, in := files[path]
			if !in {
				continue
			}
			out += fmt.Sprintf("%s %s", path, f.State)
			if f.Range != nil {
				out += fmt.Sprintf(" %d-%d", f.Range.Start, f.Range.End)
			}
			if f.LineNumbers {
				out += " numbered"
			}
			out += "; "
		}
		return out
	}
	for _, step := range []struct {
		links []any
		want  string
	}{
		{[]any{link(a + "#L10-L20")}, "a.txt full numbered; "},
		{[]any{link(b + "#L10-L12")}, "a.txt full numbered; b.md partial 10-12; "},
		{[]any{link(b + "#L11")}, "a.txt full numbered; b.md partial 10-12; "},
		{[]any{link(b + "#L15-L20")}, "a.txt full numbered; b.md partial 10-20; "},
		{[]any{link(c + "#L1-L2"), link(c + "#L5"), link(a)}, "a.txt full numbered; b.md partial 10-20; c.txt partial 1-5; "},
		{[]any{link(b + "#L1"), link(b)}, "a.txt full numbered; b.md full; c.txt partial 1-5; "},
		{[]any{link(c), link(c + "#L1")}, "a.txt full numbered; b.md full; c.txt full; "},
	} {
		reply := promptWith(t, e, sid, append([]any{words("look")}, step.links...)...)
		if diff := cmp.Diff(step.want, state()); diff != "" {
			t.Errorf("%v: %s", step.links, diff)
		}
		if left := leftOutOf(t, reply); len(left) > 0 {
			t.Errorf("%v: omitted %v", step.links, left)
		}
	}
	addTo(ts, e, sid, "b.md", map[string]any{"state": "summary"})
	promptWith(t, e, sid, words("look"), link(b))
	if !strings.HasPrefix(state(), "a.txt full numbered; b.md full; ") {
		t.Errorf("a link to a file of which a summary was shown: %s", state())
	}
}

func TestAnEmbeddedTextCountsWhereverItsLinkStands(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.txt", "on the disk\n")
	e := ts.editor()
	for _, blocks := range [][]any{
		{words("look"), link(ts.uri("a.txt")), embedded(ts.uri("a.txt"), "in the editor\n")},
		{words("look"), embedded(ts.uri("a.txt"), "in the editor\n"), link(ts.uri("a.txt"))},
	} {
		sid := e.NewSession(ts.work)
		promptWith(t, e, sid, blocks...)
		if sent := lastSent(ts); strings.Contains(sent, "on the disk") || strings.Count(sent, "in the editor") != 1 {
			t.Errorf("sent: %s", sent)
		}
	}
	sid := e.NewSession(ts.work)
	promptWith(t, e, sid, words("look"), embedded(ts.uri("a.txt")+"#L3-L5", "some lines\n"))
	if files := filesOf(ts, e, sid); len(files) != 0 || !strings.Contains(lastSent(ts), "some lines") {
		t.Errorf("lines of a file became the file: %v", files)
	}
}

func TestTheClientsUnsavedTextWins(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	path := map[string]any{"path": "a.txt"}
	content := func(e caller, sid string) string {
		return call[workspace.FileText](ts, e, "_strata/files/content", sid, map[string]any{"path": "a.txt"}).Content
	}
	ts.write("a.txt", "disk 1\n")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	f := addTo(ts, e, sid, "a.txt", map[string]any{"content": "buffer\n"})
	if !f.Unsaved || f.Hash != sha("buffer\n") {
		t.Errorf("%+v", f)
	}
	mustPrompt(t, e, sid, "look")
	if sent := lastSent(ts); !strings.Contains(sent, "buffer") || strings.Contains(sent, "disk 1") {
		t.Errorf("sent: %s", sent)
	}
	addTo(ts, e, sid, "a.txt") // without content
	promptWith(t, e, sid, words("look"), link(ts.uri("a.txt")))
	ts.restart()
	e = resume(ts, sid)
	if got := content(e, sid); got != "buffer\n" {
		t.Errorf("after a restart the content is %q", got)
	}
	changed := call[map[string][]string](ts, e, "_strata/files/changed", sid, map[string]any{"paths": []string{"a.txt", "none.txt", "../x"}})
	if diff := cmp.Diff([]string{"a.txt"}, changed["changed"]); diff != "" {
		t.Error(diff)
	}
	if got := content(e, sid); got != "disk 1\n" || filesOf(ts, e, sid)["a.txt"].Unsaved {
		t.Errorf("after files/changed the content is %q", got)
	}
	if changed = call[map[string][]string](ts, e, "_strata/files/changed", sid, map[string]any{"paths": []string{"a.txt"}}); len(changed["changed"]) != 0 {
		t.Errorf("changed again: %v", changed)
	}

	addTo(ts, e, sid, "a.txt", map[string]any{"content": "buffer again\n"})
	call[map[string]bool](ts, e, "_strata/files/remove", sid, path)
	addTo(ts, e, sid, "a.txt")
	if got := content(e, sid); got != "disk 1\n" {
		t.Errorf("after it was removed the content is %q", got)
	}

	addTo(ts, e, sid, "a.txt", map[string]any{"content": "buffer at the end\n"})
	addTo(ts, e, sid, "never.txt", map[string]any{"content": "never saved\n"})
	if err := e.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	e = resume(ts, sid)
	if got := content(e, sid); got != "disk 1\n" {
		t.Errorf("after the session was closed the content is %q", got)
	}
	mustPrompt(t, e, sid, "look")
	if sent := lastSent(ts); strings.Contains(sent, "never saved") || len(filesOf(ts, e, sid)) != 1 {
		t.Errorf("a text that was never saved is still there: %s", sent)
	}
}

func TestOnlyWhatTheModelHasSeenWholeMayBePatched(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	content := numbered(5)
	ts.write("a.md", content)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	expect := func(when, base, want string) {
		t.Helper()
		if got := editRefusal(ts, e, sid, "a.md", base); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	expect("unknown", "", "not_available")
	addTo(ts, e, sid, "a.md", map[string]any{"state": "summary"})
	expect("a summary", "", "summary_only")
	addTo(ts, e, sid, "a.md")
	expect("not sent yet", sha(content), "not_available")
	ts.upstream.Push(upstream.Script{Status: 400})
	if _, err := e.Prompt(sid, "fails"); err == nil {
		t.Fatal("the prompt did not fail")
	}
	expect("sent in vain", "", "not_available")
	mustPrompt(t, e, sid, "look")
	expect("seen", "", "")
	expect("seen", sha(content), "")
	expect("seen", strings.ToUpper(sha(content)), "")
	expect("another base", sha("other"), "stale")
	ts.restart()
	e = resume(ts, sid)
	expect("seen before the restart", sha(content), "")
	ts.write("a.md", content+"more\n")
	expect("changed", "", "stale")
	expect("changed", sha(content+"more\n"), "stale")
	mustPrompt(t, e, sid, "look again")
	expect("seen anew", sha(content+"more\n"), "")
	addTo(ts, e, sid, "a.md", map[string]any{"content": "unsaved\n"})
	expect("unsaved", "", "stale")
	mustPrompt(t, e, sid, "look at that")
	expect("unsaved and seen", sha("unsaved\n"), "")
	call[map[string]int](ts, e, "_strata/files/clear", sid, nil)
	expect("taken out", "", "not_available")
	addTo(ts, e, sid, "a.md")
	mustPrompt(t, e, sid, "once more")
	ts.remove("a.md")
	expect("deleted", "", "not_available")
}

func TestFilesAreListedAlikeAfterARestart(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	for name, n := range map[string]int{"a.txt": 10, "b.txt": 200, "c.md": 30, "empty.txt": 0} {
		ts.write(name, numbered(n))
	}
	e := ts.editor()
	sid := e.NewSession(ts.work)
	addTo(ts, e, sid, "a.txt")
	addTo(ts, e, sid, "b.txt", map[string]any{"range": map[string]int{"start": 5, "end": 9}, "lineNumbers": true})
	addTo(ts, e, sid, "c.md", map[string]any{"state": "summary"})
	addTo(ts, e, sid, "empty.txt")
	addTo(ts, e, sid, "new.txt", map[string]any{"content": "unsaved\n"})
	before := filesOf(ts, e, sid)
	for range 2 {
		ts.restart()
		e = resume(ts, sid)
		for range 2 {
			if diff := cmp.Diff(before, filesOf(ts, e, sid)); diff != "" {
				t.Error(diff)
			}
		}
	}
	if before["a.txt"].Tokens < 50 || before["b.txt"].Tokens < 20 {
		t.Errorf("%+v", before)
	}
	mustPrompt(t, e, sid, "look")
	if diff := cmp.Diff(before, filesOf(ts, e, sid)); diff != "" {
		t.Errorf("after a prompt: %s", diff)
	}

	ts.write("a.txt", numbered(11))
	ts.remove("empty.txt")
	ts.restart()
	e = resume(ts, sid)
	now := filesOf(ts, e, sid)
	if now["a.txt"].Hash != sha(numbered(11)) || now["a.txt"].Tokens <= before["a.txt"].Tokens {
		t.Errorf("changed meanwhile: %+v", now["a.txt"])
	}
	if left := leftOutOf(t, mustPrompt(t, e, sid, "look")); left["file:empty.txt"] != "deleted" {
		t.Errorf("omitted: %v", left)
	}
}

func TestFileContentIsThePresentOne(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.txt", "one\r\n")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	addTo(ts, e, sid, "a.txt")
	ts.write("a.txt", "two\r\n")
	got := call[workspace.FileText](ts, e, "_strata/files/content", sid, map[string]any{"path": ts.uri("a.txt")})
	if diff := cmp.Diff(workspace.FileText{Path: "a.txt", Content: "two\r\n", Hash: sha("two\r\n")}, got); diff != "" {
		t.Error(diff)
	}
	fault := wireFault(t, e.Call("_strata/files/content", map[string]any{"sessionId": sid, "path": "b.txt"}, nil), wire.CodeNotFound)
	if data := faultData[map[string]string](t, fault); data["kind"] != "file" || data["id"] != "b.txt" {
		t.Errorf("%v", data)
	}
	ts.remove("a.txt")
	wireFault(t, e.Call("_strata/files/content", map[string]any{"sessionId": sid, "path": "a.txt"}, nil), wire.CodeRefusedPath)
}

func TestWorkspaceFind(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	further := t.TempDir()
	for _, path := range []string{"src/main.go", "src/maintain.go", "build/main.go", ".git/main.go", "README.md"} {
		ts.writeDeep(filepath.Join(ts.work, path), "x\n")
	}
	ts.writeDeep(filepath.Join(further, "lib/main.go"), "x\n")
	ts.write(".gitignore", "build/\n")
	e := ts.editor()
	var opened struct{ SessionID string }
	if err := e.Call("session/new", map[string]any{"cwd": ts.work, "additionalDirectories": []string{further}}, &opened); err != nil {
		t.Fatal(err)
	}
	find := func(query string, limit int) []string {
		found := call[struct{ Paths []workspace.FoundPath }](ts, e, "_strata/workspace/find", opened.SessionID, map[string]any{"query": query, "limit": limit})
		paths := []string{}
		for _, f := range found.Paths {
			paths = append(paths, f.Path)
		}
		return paths
	}
	want := []string{"src/main.go", "src/maintain.go", filepath.ToSlash(filepath.Join(further, "lib/main.go"))}
	got := find("main", 0)
	if len(got) != 3 || got[0] != want[0] || !strings.Contains(strings.Join(got, " "), want[2]) {
		t.Errorf("found %v", got)
	}
	if got := find("main", 1); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	if got := find("no such thing", 0); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	wireFault(t, e.Call("_strata/workspace/find", map[string]any{"sessionId": opened.SessionID, "limit": -1}, nil), rpc.CodeInvalidParams)
}

// writeDeep writes a file and creates its folders.
func (ts *testServer) writeDeep(path, text string) {
	ts.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		ts.t.Fatal(err)
	}
}

func TestFilesOfFurtherRootsKeepTheirName(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	further := t.TempDir()
	path := filepath.Join(further, "lib.go")
	ts.writeDeep(path, "package lib\n")
	e := ts.editor()
	var opened struct{ SessionID string }
	if err := e.Call("session/new", map[string]any{"cwd": ts.work, "additionalDirectories": []string{further}}, &opened); err != nil {
		t.Fatal(err)
	}
	if f := addTo(ts, e, opened.SessionID, "file://"+path); f.Path != filepath.ToSlash(path) {
		t.Errorf("%+v", f)
	}
	mustPrompt(t, e, opened.SessionID, "look")
	ts.restart()
	if files := filesOf(ts, resume(ts, opened.SessionID), opened.SessionID); files[filepath.ToSlash(path)].Tokens == 0 {
		t.Errorf("after a restart: %+v", files)
	}
}

func TestFilesAreToldAsEvents(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.txt", "one\n")
	ts.write("b.txt", "one\n")
	e, sid := attached(t, ts)
	addTo(ts, e, sid, "a.txt")
	addTo(ts, e, sid, "b.txt")
	ts.write("a.txt", "two\n")
	mustPrompt(t, e, sid, "look")
	if n := call[map[string]int](ts, e, "_strata/files/clear", sid, nil); n["removed"] != 2 {
		t.Errorf("%v", n)
	}
	e.Expect(testclient.SeesTimes(sid, "files_changed", 4))
	told := rawOf(e.Frames().Of(sid).Kind("files_changed"))
	for _, want := range []string{`{"path":"a.txt","change":"added"`, `{"path":"a.txt","change":"changed"`, `{"path":"b.txt","change":"removed"`} {
		if !strings.Contains(told, want) {
			t.Errorf("%s is not among %s", want, told)
		}
	}
}
