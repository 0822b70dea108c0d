package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/workspace"
)

// write writes a file of the session's folder.
func (a *acted) write(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.folder, name), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// lastContext returns the context that follows everything else in a request, and how many entries contain a word.
func lastContext(req llm.Request, word string) (last string, times int) {
	for _, e := range req.Entries {
		m := history.Message{Blocks: e.Blocks}
		if e.Kind == llm.EntryContext {
			last = m.PlainText()
		}
		if strings.Contains(m.PlainText(), word) {
			times++
		}
	}
	return last, times
}

// checkEdit returns the reason for which an edit of a file is refused, "" if it is allowed.
func (a *acted) checkEdit(req workspace.EditRequest) string {
	_, err := answerOf(func(reply func(struct{}, error)) { a.Workspace().CheckEdit(req, reply) })
	if err == nil {
		return ""
	}
	refused, ok := err.(*workspace.EditRefusedError)
	if !ok {
		a.t.Fatal(err)
	}
	return string(refused.Reason)
}

// known returns the state and the reason of a file that tools read, "" for one that is not listed.
func (a *acted) known(path string) string {
	a.t.Helper()
	files, err := answerOf(func(reply func([]workspace.FileInfo, error)) {
		a.Workspace().KnownFiles(workspace.Known{Read: true}, reply)
	})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, f := range files {
		if f.Path == path && f.Read {
			return f.State + ", " + f.Reason
		}
	}
	return ""
}

// A file that a tool read counts as shown, and a change of it on disk is told once: in the next step, after the results of
// tools, or with the next prompt.
func TestAChangeOfAFileThatAToolReadIsTold(t *testing.T) {
	a := acting(t)
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`, `read_file{"path":"b.go","start_line":1,"end_line":1}`)...)
	second := a.asked()
	if _, n := lastContext(second.req, "changed since"); n != 0 {
		t.Error("a change is told without one")
	}
	if s := a.known("a.go"); s != "full, read by a tool" {
		t.Errorf("a.go is %s", s)
	}
	if s := a.known("b.go"); s != "partial, read by a tool" {
		t.Errorf("b.go is %s", s)
	}
	a.write("a.go", "package a\n\nfunc Omega() {}\n")
	second.act(reply.StopToolUse, callsOf(3, `search{"pattern":"Beta"}`)...)
	third := a.asked()
	last, _ := lastContext(third.req, "")
	if !strings.HasPrefix(last, "Changes to files that were read:\na.go has changed since it was read: line 3.\n") {
		t.Errorf("the last context is %q", last)
	}
	if s := a.known("a.go"); s != "not_available, changed since it was read" {
		t.Errorf("a.go is %s", s)
	}
	third.end("done")
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}

	result = a.prompt("and now?", nil)
	fourth := a.asked()
	if _, n := lastContext(fourth.req, "a.go has changed"); n != 1 {
		t.Errorf("the change is in %d entries", n)
	}
	a.write("a.go", "package a\n\nfunc Alpha() {}\n")
	fourth.end("nothing")
	<-result
	result = a.prompt("again", nil)
	fifth := a.asked()
	if last, _ := lastContext(fifth.req, ""); last != "Changes to files that were read:\nThe newest lines of a.go in this conversation are its present text again.\n" {
		t.Errorf("the last context is %q", last)
	}
	fifth.end("fine")
	<-result

	for name, tt := range map[string]struct {
		req  workspace.EditRequest
		want string
	}{
		"the whole file":             {workspace.EditRequest{Path: "a.go"}, ""},
		"lines of the whole file":    {workspace.EditRequest{Path: "a.go", Lines: &workspace.FileRange{Start: 2, End: 3}}, ""},
		"another version":            {workspace.EditRequest{Path: "a.go", Base: strings.Repeat("0", 64)}, "stale"},
		"a part":                     {workspace.EditRequest{Path: "b.go", Lines: &workspace.FileRange{Start: 1, End: 1}}, ""},
		"lines that a search showed": {workspace.EditRequest{Path: "b.go", Lines: &workspace.FileRange{Start: 3, End: 3}}, ""},
		"lines that are not shown":   {workspace.EditRequest{Path: "b.go", Lines: &workspace.FileRange{Start: 1, End: 2}}, "summary_only"},
		"all of which a part":        {workspace.EditRequest{Path: "b.go"}, "summary_only"},
	} {
		if got := a.checkEdit(tt.req); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	a.write("b.go", "package b\n")
	if got := a.checkEdit(workspace.EditRequest{Path: "b.go", Lines: &workspace.FileRange{Start: 1, End: 1}}); got != "stale" {
		t.Errorf("lines of an older version: %q", got)
	}
	if _, err := answerOf(func(reply func(Cleared, error)) { a.Clear(reply) }); err != nil {
		t.Fatal(err)
	}
	if s := a.known("a.go"); s != "not_available, read earlier, no longer shown" {
		t.Errorf("a.go is %s", s)
	}
	if got := a.checkEdit(workspace.EditRequest{Path: "a.go"}); got != "not_available" {
		t.Errorf("an edit of a file that is no longer shown: %q", got)
	}
}

// The rules of a folder follow the result of the first tool that reads a file in it, once.
func TestTheRulesOfAFolderFollowTheFirstRead(t *testing.T) {
	a := acting(t, func(d *Deps) { d.RulesFile = true })
	folder := a.told().Session.CWD
	if err := os.MkdirAll(filepath.Join(folder, "sub", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	a.write("CLAUDE.md", "Rules of all.\n")
	a.write("sub/AGENTS.md", "Rules of sub.\n")
	a.write("sub/deep/c.go", "package deep\n\nvar c int\n")
	result := a.prompt("go", nil)
	first := a.asked()
	if s := texts(first.req); !strings.Contains(s, "# rules\n\nRules of all.\n") || strings.Contains(s, "Rules of sub.") {
		t.Errorf("the first request has\n%s", s)
	}
	first.act(reply.StopToolUse, callsOf(1, `search{"pattern":"deep"}`)...)
	second := a.asked()
	if strings.Contains(texts(second.req), "Rules of sub.") {
		t.Error("a search brings the rules of the folders that it looked at")
	}
	second.act(reply.StopToolUse, callsOf(2, `read_file{"path":"sub/deep/c.go"}`)...)
	third := a.asked()
	if last, n := lastContext(third.req, "Rules of sub."); n != 1 || !strings.HasPrefix(last, "# rules:sub (sub/AGENTS.md)\n") {
		t.Errorf("%d times, the last context is %q", n, last)
	}
	third.end("done")
	<-result
	result = a.prompt("again", nil)
	next := a.asked()
	if _, n := lastContext(next.req, "Rules of sub."); n != 1 {
		t.Errorf("%d times in the next turn", n)
	}
	next.end("done")
	<-result
}
