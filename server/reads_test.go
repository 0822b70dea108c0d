package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/upstream"
	"strata/session"
	"strata/session/workspace"
)

// The files that tools read are listed on request and may be patched by what was shown of them, also after a restart. A change
// on disk is told with the next prompt, and the rules of their folder are sent.
func TestFilesThatToolsRead(t *testing.T) {
	t.Parallel()
	tools := func(o *Options) {
		o.Sessions.Tools = session.ToolSettings{Enabled: true, MaxSteps: 10}
		o.Sessions.RulesFile = true
	}
	ts := startServer(t, tools)
	if err := os.Mkdir(filepath.Join(ts.work, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	ts.write("sub/a.txt", numbered(40))
	ts.write("sub/AGENTS.md", "Rules of sub.\n")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.upstream.Push(upstream.Script{Steps: upstream.Call("toolu_1", "read_file", `{"path":"sub/a.txt","start_line":10,"end_line":20}`)})
	mustPrompt(t, e, sid, "look")
	if !strings.Contains(lastSent(ts), `# rules:sub (sub/AGENTS.md)\n\nRules of sub.\n`) {
		t.Errorf("the rules of the folder are not sent: %s", lastSent(ts))
	}
	check := func(lines *workspace.FileRange) string {
		params := map[string]any{"sessionId": sid, "path": "sub/a.txt"}
		if lines != nil {
			params["lines"] = lines
		}
		if err := e.Call("_strata/files/check_edit", params, nil); err != nil {
			return err.Error()
		}
		return ""
	}
	read := func() workspace.FileInfo {
		list := call[struct{ Files []workspace.FileInfo }](ts, e, "_strata/files/list", sid, map[string]any{"read": true})
		if len(list.Files) != 1 {
			t.Fatalf("%+v", list.Files)
		}
		return list.Files[0]
	}
	for _, restarted := range []bool{false, true} {
		if restarted {
			ts.close()
			ts.start(tools)
			e = resume(ts, sid)
		}
		f := read()
		if f.State != "partial" || f.Reason != "read by a tool" || !f.Read || f.Range == nil || *f.Range != (workspace.FileRange{Start: 10, End: 20}) || f.Hash != sha(numbered(40)) {
			t.Errorf("restarted: %t: %+v", restarted, f)
		}
		if files := filesOf(ts, e, sid); len(files) != 0 {
			t.Errorf("files of the session: %v", files)
		}
		if err := check(&workspace.FileRange{Start: 12, End: 20}); err != "" {
			t.Errorf("restarted: %t: %s", restarted, err)
		}
		if err := check(&workspace.FileRange{Start: 12, End: 21}); !strings.Contains(err, "summary_only") {
			t.Errorf("restarted: %t: an edit of lines that were not shown: %q", restarted, err)
		}
		if err := check(nil); !strings.Contains(err, "summary_only") {
			t.Errorf("restarted: %t: an edit of all lines: %q", restarted, err)
		}
	}
	if err := check(&workspace.FileRange{Start: 3, End: 2}); err == "" || strings.Contains(err, "refused") {
		t.Errorf("an edit of no lines: %q", err)
	}
	ts.write("sub/a.txt", "first\n"+numbered(40))
	if f := read(); f.State != "not_available" || f.Reason != "changed since it was read" {
		t.Errorf("%+v", f)
	}
	if err := check(&workspace.FileRange{Start: 12, End: 20}); !strings.Contains(err, "stale") {
		t.Errorf("an edit of another version: %q", err)
	}
	mustPrompt(t, e, sid, "and now?")
	const told = "sub/a.txt has changed since it was read: lines 10 to 20 are now lines 11 to 21, unchanged."
	if sent := lastSent(ts); strings.Count(sent, told) != 1 || strings.Count(sent, "Rules of sub.") != 1 {
		t.Errorf("sent: %s", sent)
	}
}
