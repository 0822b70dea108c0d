package server

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"strata/internal/upstream"
	"strata/llm"
	"strata/session/outlines"
	"strata/session/profile"
	"strata/session/workspace"
)

// withOutlines returns an option that gives the outlines of the workspace their room, as by default.
func withOutlines(t *testing.T, adjust ...func(*profile.Profile)) func(*Options) {
	t.Helper()
	shown, err := profile.All()
	must(t, err)
	all := profiles(t, false)
	for name, p := range all {
		p.Budget.OutlineShare, p.Budget.StructureTokens = shown[name].Budget.OutlineShare, shown[name].Budget.StructureTokens
		for _, f := range adjust {
			f(&p)
		}
		all[name] = p
	}
	return func(opt *Options) { opt.Sessions.Rules.Profiles = all }
}

// indexed waits until the folder of a session is indexed.
func indexed(ts *testServer, e caller, sid string) outlines.IndexStatus {
	ts.t.Helper()
	for {
		found := call[outlines.Found](ts, e, "_strata/outline/search", sid, map[string]any{"query": "x"})
		if found.Index.Complete {
			return found.Index
		}
		time.Sleep(time.Millisecond)
	}
}

// folder writes files to the session's folder, and to folders in it.
func (ts *testServer) folder(files map[string]string) {
	ts.t.Helper()
	for name, text := range files {
		must(ts.t, os.MkdirAll(filepath.Dir(filepath.Join(ts.work, name)), 0o700))
		ts.write(name, text)
	}
}

const parserGo = "package parser\n\nimport \"strings\"\n\n// Parse parses.\nfunc Parse(text string) (*Tree, error) { return nil, nil }\n"

var project = map[string]string{
	"main.go":          "package main\n\nfunc main() {}\n",
	"parser/parser.go": parserGo,
	"parser/tree.go":   "package parser\n\ntype Tree struct{ root *node }\n",
	"docs/guide.md":    "# Guide\n\n## Start\n",
	"notes.txt":        "not a source file\n",
}

// A session in a folder shows what the folder contains: outlines of its source files, by default. A file in full is not
// outlined; taken out it is again. A restart changes no byte.
func TestTheModelKnowsTheWorkspace(t *testing.T) {
	t.Parallel()
	ts := startServer(t, withOutlines(t))
	ts.folder(project)
	e, sid := attached(t, ts)
	if s := indexed(ts, e, sid); s.Files != 5 || s.Outlined != 4 || s.Problem != "" {
		t.Errorf("index %+v", s)
	}
	mustPrompt(t, e, sid, "one")
	for _, want := range []string{"# Outlines of files", "parser/parser.go\\n imports strings\\n 6 func Parse(text string) (*Tree, error)\\n", "docs/guide.md\\n 1 # Guide", "# structure\\n\\ndocs/\\n  guide.md\\nmain.go\\nnotes.txt\\nparser/\\n  parser.go\\n  tree.go\\n"} {
		if !strings.Contains(lastSent(ts), want) {
			t.Errorf("not sent: %s in\n%s", want, lastSent(ts))
		}
	}
	known := func() string {
		var all []string
		for _, f := range call[struct{ Files []workspace.FileInfo }](ts, e, "_strata/files/list", sid, map[string]any{"outlines": true}).Files {
			if f.Tokens <= 0 || f.Hash != sha(project[f.Path]) {
				t.Errorf("%+v", f)
			}
			all = append(all, f.Path+" "+f.State)
		}
		return strings.Join(all, ", ")
	}
	if got, want := known(), "docs/guide.md summary_only, main.go summary_only, parser/parser.go summary_only, parser/tree.go summary_only"; got != want {
		t.Errorf("known: %s, want %s", got, want)
	}
	if d := tokensOf(ts, e, sid); d.Index == nil || !d.Index.Complete || categoryOf(d.Categories, "outlines") < 50 || categoryOf(d.Categories, "documents") < 10 {
		t.Errorf("index %+v, categories %+v", d.Index, d.Categories)
	}
	if text := call[struct{ Text string }](ts, e, "_strata/context/report", sid, nil).Text; !strings.Contains(text, "outlines (2) ") || !strings.Contains(text, "workspace: 5 files, 4 with an outline\n") || strings.Contains(text, "outline:") {
		t.Errorf("report:\n%s", text)
	}

	addTo(ts, e, sid, "parser/parser.go")
	mustPrompt(t, e, sid, "two")
	if got := known(); !strings.Contains(got, "parser/parser.go full") {
		t.Errorf("known: %s", got)
	}
	call[map[string]any](ts, e, "_strata/files/remove", sid, map[string]any{"path": "parser/parser.go"})
	mustPrompt(t, e, sid, "three")
	if got := known(); !strings.Contains(got, "parser/parser.go summary_only") {
		t.Errorf("known: %s", got)
	}
	before := systemSent(t, lastSent(ts))
	ts.close()
	ts.start(withOutlines(t))
	e = resume(ts, sid)
	indexed(ts, e, sid)
	mustPrompt(t, e, sid, "four")
	if after := systemSent(t, lastSent(ts)); after != before {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", after, before)
	}
}

// categoryOf returns the tokens of a category.
func categoryOf[C ~struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}](all []C, name string) int {
	for _, c := range all {
		if v := struct {
			Name   string `json:"name"`
			Tokens int    `json:"tokens"`
		}(c); v.Name == name {
			return v.Tokens
		}
	}
	return 0
}

var systemMessage = regexp.MustCompile(`\{"content":"((?:[^"\\]|\\.)*)","role":"system"`)

// systemSent returns the system prompt of a request.
func systemSent(t *testing.T, body string) string {
	t.Helper()
	m := systemMessage.FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("no system prompt in %.500s", body)
	}
	return m[1]
}

// A file can be added as its outline: of its present text, whether or not the index has it. What has no outline is
// refused, and so is everything if outlines are turned off.
func TestAFileCanBeAddedAsItsOutline(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.folder(project)
	ts.folder(map[string]string{".gitignore": "ignored.go\n", "ignored.go": "package ignored\n\nfunc Ignored() {}\n"})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for path, content := range map[string]any{"parser/parser.go": nil, "ignored.go": nil, "main.go": "package main\n\nfunc unsaved() {}\n"} {
		more := map[string]any{"state": "summary"}
		if content != nil {
			more["content"] = content
		}
		if f := addTo(ts, e, sid, path, more); f.State != "summary_only" || f.Tokens <= 0 || f.Reason != "asked for" {
			t.Errorf("%+v", f)
		}
	}
	mustPrompt(t, e, sid, "look")
	sent := lastSent(ts)
	for _, want := range []string{"func Parse(text string)", "func Ignored()", "func unsaved()", "SUMMARY: ignored.go", "SUMMARY: main.go"} {
		if !strings.Contains(sent, want) {
			t.Errorf("not sent: %s", want)
		}
	}
	for _, other := range []string{"type Tree", "func main", "notes.txt"} {
		if strings.Contains(sent, other) {
			t.Errorf("sent although nobody asked for it: %s", other)
		}
	}
	if got := editRefusal(ts, e, sid, "main.go", ""); got != "summary_only" {
		t.Errorf("an edit of a file of which the outline was sent is refused as %q", got)
	}
	if got := refusal(ts, e, "_strata/files/add", sid, map[string]any{"path": "notes.txt", "state": "summary"}); got != "no_outline" {
		t.Errorf("a text file is refused as %q", got)
	}
	before := filesOf(ts, e, sid)
	ts.restart()
	e = resume(ts, sid)
	for path, f := range filesOf(ts, e, sid) {
		if f.Tokens != before[path].Tokens || f.State != before[path].State {
			t.Errorf("after a restart %+v, before %+v", f, before[path])
		}
	}

	off := startServer(t, func(o *Options) { o.Outlines = nil })
	off.folder(project)
	e = off.editor()
	sid = e.NewSession(off.work)
	for _, method := range []string{"_strata/files/add", "_strata/outline/get", "_strata/outline/search"} {
		err := e.Call(method, map[string]any{"sessionId": sid, "path": "main.go", "state": "summary", "query": "main"}, nil)
		if err == nil || !strings.Contains(err.Error(), "outlines.enabled") {
			t.Errorf("%s: %v", method, err)
		}
	}
	if d := tokensOf(off, e, sid); d.Index != nil {
		t.Errorf("index %+v", d.Index)
	}
}

// The outline of any file of the folder can be seen, with how much of the file the model is shown.
func TestOutlinesCanBeSeenAndSearched(t *testing.T) {
	t.Parallel()
	ts := startServer(t, withOutlines(t))
	ts.folder(project)
	ts.folder(map[string]string{".env": "KEY=1\n"})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	indexed(ts, e, sid)
	get := func(path string) workspace.OutlineInfo {
		return call[workspace.OutlineInfo](ts, e, "_strata/outline/get", sid, map[string]any{"path": path})
	}
	o := get("./parser/parser.go")
	if o.Path != "parser/parser.go" || o.State != "not_available" || o.Language != "go" || len(o.Symbols) != 2 || o.Symbols[1].Signature != "func Parse(text string) (*Tree, error)" ||
		o.Symbols[1].Line != 6 || len(o.Imports) != 1 || o.Imports[0].Path != "strings" || o.Tokens <= 0 || o.Hash != sha(parserGo) {
		t.Errorf("%+v", o)
	}
	mustPrompt(t, e, sid, "look")
	if o := get("parser/parser.go"); o.State != "summary_only" || o.Reason != "outline of the workspace" {
		t.Errorf("%+v", o)
	}
	ts.write("parser/parser.go", strings.Replace(parserGo, "Parse(", "ParseAll(", 1))
	if o := get("parser/parser.go"); !strings.Contains(o.Text, "func ParseAll(") {
		t.Errorf("%+v", o)
	}
	addTo(ts, e, sid, "parser/parser.go")
	if o := get("parser/parser.go"); o.State != "full" {
		t.Errorf("%+v", o)
	}
	if o := get("notes.txt"); o.Language != "" || o.Symbols == nil || o.Imports == nil || o.Text != "" || o.Tokens != 0 {
		t.Errorf("%+v", o)
	}
	for path, want := range map[string]string{"no.go": "missing", "../x.go": "outside", ".env": "secret", "parser": "directory"} {
		if got := refusal(ts, e, "_strata/outline/get", sid, map[string]any{"path": path}); got != want {
			t.Errorf("%s is refused as %q, want %q", path, got, want)
		}
	}
	found := call[outlines.Found](ts, e, "_strata/outline/search", sid, map[string]any{"query": "parseall", "limit": 3})
	if len(found.Symbols) == 0 || found.Symbols[0].Name != "ParseAll" || found.Symbols[0].Path != "parser/parser.go" || found.Symbols[0].Line != 6 {
		t.Errorf("%+v", found)
	}
	wireFault(t, e.Call("_strata/outline/search", map[string]any{"sessionId": sid, "query": "x", "limit": -1}, nil), -32602)
}

// The profile steps shows the tree of the workspace. It is made anew when files come or go, and only then; it is bounded;
// and a document with its name takes its place.
func TestP04StructureIsTheTreeOfTheWorkspace(t *testing.T) {
	t.Parallel()
	ts := startServer(t, withOutlines(t, func(p *profile.Profile) {
		if p.Name == "steps" {
			p.Budget.OutlineShare = 0 // the tree alone
		}
	}))
	ts.folder(project)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": "steps"})
	indexed(ts, e, sid)
	const tree = `docs/\n  guide.md\nmain.go\nnotes.txt\nparser/\n  parser.go\n  tree.go\n`
	mustPrompt(t, e, sid, "one")
	if sent := lastSent(ts); !strings.Contains(sent, tree) || strings.Contains(sent, "# Outlines") {
		t.Errorf("the first request: %s", sent)
	}
	documents := func() int { return categoryOf(tokensOf(ts, e, sid).Categories, "documents") }
	size := documents()
	ts.write("notes.txt", "changed\n")
	mustPrompt(t, e, sid, "two")
	if documents() != size || strings.Count(lastSent(ts), tree) != 1 {
		t.Errorf("after an edit %d tokens of documents, before %d: %s", documents(), size, lastSent(ts))
	}
	ts.write("new.go", "package main\n")
	must(t, os.Remove(filepath.Join(ts.work, "notes.txt")))
	mustPrompt(t, e, sid, "three")
	if want := `main.go\nnew.go\n`; !strings.Contains(lastSent(ts), want) {
		t.Errorf("a new file is not in the tree: %s", lastSent(ts))
	}
	call[map[string]any](ts, e, "_strata/documents/set", sid, map[string]any{"name": "structure", "text": "my own tree"})
	mustPrompt(t, e, sid, "four")
	if d := tokensOf(ts, e, sid); !strings.Contains(lastSent(ts), "my own tree") || categoryOf(d.Categories, "documents") > size+20 {
		t.Errorf("categories %+v: %s", d.Categories, lastSent(ts))
	}

	many := make(map[string]string)
	for i := range 2000 {
		many[fmt.Sprintf("deep/%d/a-file-with-a-long-name-%d.txt", i%50, i)] = "x"
	}
	ts.folder(many)
	other := e.NewSession(ts.work)
	call[map[string]any](ts, e, "session/set_config_option", other, map[string]any{"configId": "profile", "value": "steps"})
	for indexed(ts, e, other).Files < 2000 { // the sweep before a request waits one second at most
		time.Sleep(time.Millisecond)
	}
	mustPrompt(t, e, other, "look")
	if d := tokensOf(ts, e, other); categoryOf(d.Categories, "documents") > 2000 || !strings.Contains(lastSent(ts), `  17/ (40 files)\n`) {
		t.Errorf("categories %+v: %.3000s", d.Categories, lastSent(ts))
	}
}

// A file in full that does not fit any more leaves its outline, which is smaller, in the next request.
func TestAFileThatDoesNotFitLeavesItsOutline(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(o *Options) { adjustModels(o, func(m *llm.Model) { m.Window, m.MaxOutput = 4000, 500 }) })
	body := strings.Repeat("	println(\"a line of the body of a function\")\n", 120)
	ts.folder(map[string]string{"big.go": "package big\n\nfunc Big() {\n" + body + "}\n"})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	addTo(ts, e, sid, "big.go")
	ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("yes")}})
	mustPrompt(t, e, sid, "look")
	appendTo(ts, e, sid, "user", strings.Repeat("a word and another ", 450), "assistant", "yes", "user", strings.Repeat("a word and another ", 300), "assistant", "yes")
	mustPrompt(t, e, sid, "and now")
	if f := filesOf(ts, e, sid)["big.go"]; f.State != "summary_only" || f.Reason != "over_budget" || f.Tokens <= 0 || f.Tokens > 50 {
		t.Errorf("%+v", f)
	}
	mustPrompt(t, e, sid, "and then")
	if sent := lastSent(ts); strings.Contains(sent, "a line of the body") || !strings.Contains(sent, "3 func Big()") {
		t.Errorf("%v sent %s", filesOf(ts, e, sid), sent)
	}
}
