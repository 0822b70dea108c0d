package server

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/session"
	"strata/session/assembly"
	"strata/session/documents"
	"strata/session/workspace"
)

func TestFilesAndDocumentsReachTheModel(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("main.go", "package main\n\nfunc main() {}\n")
	ts.write("AGENTS.md", "Always answer in verse.\n")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	call[workspace.FileInfo](ts, e, "_strata/files/add", sid, map[string]any{"path": "main.go"})
	call[documents.Info](ts, e, "_strata/documents/set", sid, map[string]any{"name": "design", "text": "One package."})
	if _, err := e.Prompt(sid, "What is there?"); err != nil {
		t.Fatal(err)
	}
	sent := string(ts.upstream.Last().Body)
	for _, want := range []string{"You are a test.", "Always answer in verse.", "One package.", "func main() {}", "Files available for this step:", "FULL: main.go", "What is there?"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the request does not contain %q:\n%s", want, sent)
		}
	}
	ts.write("main.go", "package main\n\nfunc main() { println() }\n")
	if _, err := e.Prompt(sid, "And now?"); err != nil {
		t.Fatal(err)
	}
	if sent := string(ts.upstream.Last().Body); !strings.Contains(sent, "println()") {
		t.Errorf("the request does not contain the current content:\n%s", sent)
	}
}

func TestBreakdownAddsUp(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.go", "package a\n"+strings.Repeat("// a line of text\n", 200))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	call[workspace.FileInfo](ts, e, "_strata/files/add", sid, map[string]any{"path": "a.go"})
	for range 3 {
		if _, err := e.Prompt(sid, "Go on"); err != nil {
			t.Fatal(err)
		}
	}
	b := call[assembly.Breakdown](ts, e, "_strata/context/breakdown", sid, nil)
	categories, tiers := 0, b.Overhead
	for _, c := range b.Categories {
		categories += c.Tokens
	}
	for _, tier := range b.Tiers {
		items := 0
		for _, it := range tier.Items {
			items += it.Tokens
		}
		if items != tier.Tokens {
			t.Errorf("tier %s: its items have %d tokens, the tier has %d", tier.Tier, items, tier.Tokens)
		}
		tiers += tier.Tokens
	}
	if categories != b.Used || tiers != b.Used || b.Used == 0 {
		t.Errorf("used %d, sum of categories %d, sum of tiers and overhead %d", b.Used, categories, tiers)
	}
	if b.Totals.Calls != 3 {
		t.Errorf("totals: %+v", b.Totals)
	}
	report := call[assembly.Report](ts, e, "_strata/context/report", sid, nil)
	if !strings.Contains(report.Text, "file:a.go") {
		t.Errorf("report:\n%s", report.Text)
	}
	t.Log(report.Text)
}

func TestAssembleAndCommit(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "What is the weather?"},
	}})
	a := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, map[string]any{"tools": []any{map[string]any{"name": "weather"}}})
	last := a.Messages[len(a.Messages)-1]
	if last.Role != "user" || last.Content[0].Text != "What is the weather?" {
		t.Errorf("assembled: %+v", a.Messages)
	}
	sum := 0
	for _, m := range a.Messages {
		sum += m.Tokens
	}
	preview := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, map[string]any{"preview": true})
	if preview.AssemblyID != "" || preview.Tokens != sum || !reflect.DeepEqual(preview.Messages, a.Messages) {
		t.Errorf("the preview has %d tokens in messages of %d: %+v", preview.Tokens, sum, preview)
	}
	c := call[session.Committed](ts, e, "_strata/context/commit", sid, map[string]any{
		"assemblyId": a.AssemblyID, "usage": map[string]int{"input": 100, "output": 5},
		"messages": []any{map[string]any{"role": "assistant", "content": "Fine."}},
	})
	if len(c.MessageIDs) != 1 || c.Usage.Input != 100 {
		t.Errorf("committed: %+v", c)
	}
	if err := e.Call("_strata/context/commit", map[string]any{"sessionId": sid, "messages": []any{map[string]any{"role": "assistant", "content": "x"}}}, nil); err == nil {
		t.Error("a second commit of the same request was accepted")
	}
}

func TestALongHistoryIsShedAndStaysShed(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	var messages []any
	for range 200 {
		messages = append(messages,
			map[string]any{"role": "user", "content": strings.Repeat("word ", 500)},
			map[string]any{"role": "assistant", "content": strings.Repeat("reply ", 500)})
	}
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": messages})
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("ok")}, upstream.Script{Steps: upstream.Texts("ok")})
	if _, err := e.Prompt(sid, "And now?"); err != nil {
		t.Fatal(err)
	}
	first := ts.upstream.Last().Tokens()
	if _, err := e.Prompt(sid, "And again?"); err != nil {
		t.Fatal(err)
	}
	if sent := string(ts.upstream.Last().Body); !strings.Contains(sent, "earlier messages omitted]") {
		t.Error("the request does not say that messages were omitted")
	}
	t.Logf("%d tokens, then %d", first, ts.upstream.Last().Tokens())
}

func TestPreviewWorksWhileATurnRunsAndLeavesAnAssembledRequestAlone(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{map[string]any{"role": "user", "content": "Well?"}}})
	assembled := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, nil)
	before := call[map[string]any](ts, e, "_strata/context/breakdown", sid, nil)
	call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, map[string]any{"preview": true})
	if after := call[map[string]any](ts, e, "_strata/context/breakdown", sid, nil); !reflect.DeepEqual(before, after) {
		t.Errorf("a preview changed the breakdown: %v, then %v", before, after)
	}
	call[session.Committed](ts, e, "_strata/context/commit", sid, map[string]any{
		"assemblyId": assembled.AssemblyID, "messages": []any{map[string]any{"role": "assistant", "content": "Fine."}},
	})

	gate := make(chan struct{})
	ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Half"), upstream.Hold(gate)}})
	turn := e.Start(sid, "And now?")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "Half"))
	preview := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, map[string]any{"preview": true})
	if last := preview.Messages[len(preview.Messages)-1]; last.Content[0].Text != "And now?" {
		t.Errorf("the preview ends with %+v", last)
	}
	if err := e.Call("_strata/context/assemble", map[string]any{"sessionId": sid}, nil); err == nil {
		t.Error("a request was assembled while a turn runs")
	}
	close(gate)
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A report is as wide as the client's terminal.
func TestP18AReportHasTheWidthOfTheTerminal(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 2)
	for columns, width := range map[int]int{0: 72, 100: 100, -1: 72, 1 << 40: 400} {
		report := call[assembly.Report](ts, e, "_strata/context/report", sid, map[string]any{"columns": columns})
		lines := strings.Split(report.Text, "\n")
		if bar := lines[2]; utf8.RuneCountInString(bar) != width || !strings.HasPrefix(bar, "  █") || !strings.HasSuffix(bar, "░") {
			t.Errorf("%d columns: %s", columns, report.Text)
		}
	}
	for _, columns := range []any{"wide", 1.5, []int{1}} {
		wireFault(t, e.Call("_strata/context/report", map[string]any{"sessionId": sid, "columns": columns}, nil), rpc.CodeInvalidParams)
	}
}
