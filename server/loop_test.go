package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/session/assembly"
)

// looping returns an attached client and a session with the profile loop.
func looping(t *testing.T, ts *testServer) (*testclient.Editor, string) {
	t.Helper()
	e, sid := attached(t, ts)
	call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": "loop"})
	return e, sid
}

func TestALoopTellsItsProgressAndItsEnd(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := looping(t, ts)
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("<progress>the parser ", "works</progress><progress>tests pass</progress>")})
	reply := mustPrompt(t, e, sid, "Build the parser.")
	told := reply.Frames.Kind("progress")
	if len(told) != 1 || !strings.Contains(rawOf(told), `"markers":["the parser works","tests pass"]`) || len(reply.Frames.Kind("completed")) != 0 {
		t.Errorf("received: %s", rawOf(reply.Frames))
	}
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("All done. <promise>COMPLETE</promise> <promise>COMPLETE</promise>")})
	reply = mustPrompt(t, e, sid, "Go on.")
	if told := reply.Frames.Kind("completed"); len(told) != 1 || !strings.Contains(rawOf(told), `"iterations":2`) {
		t.Errorf("received: %s", rawOf(reply.Frames))
	}
	sent := lastSent(ts)
	for _, want := range []string{"# Goal", "Build the parser.", "# Recent Iterations", "## Iteration 1", "# Current State (after iteration 1)", "Progress markers: the parser works; tests pass"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the request lacks %q: %s", want, sent)
		}
	}
	appendTo(ts, e, sid, "user", "And?", "assistant", "<promise>COMPLETE</promise>")
	e.Expect(testclient.SeesTimes(sid, "completed", 2))
}

func TestOtherProfilesPromiseNothing(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("<progress>x</progress> <promise>COMPLETE</promise>")})
	reply := mustPrompt(t, e, sid, "hello")
	if len(reply.Frames.Kind("completed"))+len(reply.Frames.Kind("progress")) != 0 {
		t.Errorf("received: %s", rawOf(reply.Frames))
	}
}

func TestMetaIsStoredExportedAndImported(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := looping(t, ts)
	meta := map[string]any{"progressScore": 0.5, "progressMarkers": []string{"half of it"}, "fileChanges": []string{"a.go"}, "durationSeconds": 3, "tool": "editor", "mine": "kept"}
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "Begin."}, map[string]any{"role": "assistant", "content": "Begun.", "meta": meta},
		map[string]any{"role": "user", "content": "Go on."},
	}})
	call[map[string]any](ts, e, "_strata/context/assemble", sid, nil)
	call[map[string]any](ts, e, "_strata/context/commit", sid, map[string]any{"message": map[string]any{"role": "assistant", "content": "Gone on.", "meta": meta}})
	mustPrompt(t, e, sid, "And now?")
	if sent := lastSent(ts); !strings.Contains(sent, "Progress markers: half of it") || !strings.Contains(sent, "Files changed: a.go") || !strings.Contains(sent, "Done with editor, 3 s, progress score 0.5") {
		t.Errorf("the request does not mention it: %s", sent)
	}
	copied := imported(ts, e, exported(ts, e, sid))
	for _, id := range []string{sid, copied} {
		n := 0
		for _, m := range transcript(t, e, id) {
			if !strings.Contains(string(m.Meta), `"mine"`) { // the reply to the prompt has its duration
				continue
			}
			n++
			parsed, err := history.ParseMeta(m.Meta)
			if err != nil || parsed.Tool != "editor" || parsed.FileChanges[0] != "a.go" {
				t.Errorf("meta of %s: %s, %v", m.ID, m.Meta, err)
			}
		}
		if n != 2 {
			t.Errorf("%d messages of %s have a meta", n, id)
		}
	}
}

// exported returns the lines of an export.
func exported(ts *testServer, e caller, sid string) []json.RawMessage {
	ts.t.Helper()
	var lines []json.RawMessage
	for cursor, first := "", true; first || cursor != ""; first = false {
		page := call[struct {
			Lines      []json.RawMessage
			NextCursor string
		}](ts, e, "_strata/session/export", sid, map[string]any{"cursor": cursor})
		lines, cursor = append(lines, page.Lines...), page.NextCursor
	}
	return lines
}

// imported creates a session from the lines of an export.
func imported(ts *testServer, e caller, lines []json.RawMessage) string {
	ts.t.Helper()
	var result struct{ SessionID string }
	if err := e.Call("_strata/session/import", map[string]any{"lines": lines, "done": true}, &result); err != nil {
		ts.t.Fatal(err)
	}
	return result.SessionID
}

func TestAMetaThatNobodyCanReadIsRefused(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, meta := range []any{map[string]any{"tool": 1}, map[string]any{"progressScore": -1}, map[string]any{"mine": strings.Repeat("x", history.MaxMetaBytes)}} {
		message := map[string]any{"role": "assistant", "content": "x", "meta": meta}
		err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": []any{message}}, nil)
		if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, "messages[0].meta") {
			t.Errorf("%.40v: %s", meta, fault.Message)
		}
	}
	if info := call[assembly.Breakdown](ts, e, "_strata/context/breakdown", sid, nil); len(info.Omitted) != 0 {
		t.Errorf("omitted %v", info.Omitted)
	}
	appendTo(ts, e, sid, "user", "hello")
	lines := exported(ts, e, sid)
	for i, line := range lines {
		lines[i] = json.RawMessage(strings.Replace(string(line), `"role":"user"`, `"meta":{"tool":1},"role":"user"`, 1))
	}
	err := e.Call("_strata/session/import", map[string]any{"lines": lines, "done": true}, nil)
	if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, "meta.tool: must be a string") {
		t.Errorf("import: %s", fault.Message)
	}
}

func TestALoopsRollingSummary(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(opt *Options) { opt.Sessions.Rules.Profiles = profiles(t, true) })
	e, sid := looping(t, ts)
	for i := range 8 {
		ts.upstream.Push(upstream.Script{Steps: upstream.Texts(fmt.Sprintf("We decided to use table_%d in pkg/file%d.go. <progress>step %d</progress> %s", i, i, i, strings.Repeat("It works so. ", 60)))})
		mustPrompt(t, e, sid, fmt.Sprintf("Do step %d: %s", i, strings.Repeat("carefully ", 40)))
		call[map[string]any](ts, e, "_strata/debug/quiesce", sid, nil)
	}
	mustPrompt(t, e, sid, "Do the rest.")
	sent := lastSent(ts)
	for _, want := range []string{"# Progress Summary (iterations 1-3)", "Iteration 4: Do step 3", "Iteration 5: Do step 4", "## Iteration 6", "## Iteration 8", "Iterations: 8"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the request lacks %q: %s", want, sent)
		}
	}
}

// What a prompt attaches tells of its iteration like what a reply attaches, and the duration of the turn is filled in. Both are
// in the view of later requests, in the brief lines and the state too, and after a restart.
func TestP08ATurnHasItsScoreFilesAndDuration(t *testing.T) {
	t.Parallel()
	c := &clock{now: noon}
	ts := startServer(t, func(opt *Options) { setClock(opt, c.Now) })
	ts.upstream.Choose(func(*upstream.Request) upstream.Script {
		c.advance(12_340 * time.Millisecond)
		return upstream.Script{Steps: upstream.Texts("Done.")}
	})
	e, sid := looping(t, ts)
	ask := func(words string, meta any) {
		t.Helper()
		params := map[string]any{
			"sessionId": sid, "prompt": []any{map[string]any{"type": "text", "text": words}}, "_meta": map[string]any{"strata": map[string]any{"meta": meta}},
		}
		if err := e.Call("session/prompt", params, nil); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(facts ...string) {
		t.Helper()
		ask("Go on.", nil)
		sent := lastSent(ts)
		for _, want := range facts {
			if !strings.Contains(sent, want) {
				t.Errorf("the request lacks %q: %s", want, sent)
			}
		}
	}
	ask("Build it.", map[string]any{"progressScore": 0.5, "fileChanges": []string{"a.go"}, "progressMarkers": []string{"half of it"}, "tool": "editor", "mine": 1})
	shows("Files changed: a.go", "Done with editor, 12 s, progress score 0.5", "Progress markers: half of it")
	ask("Again.", map[string]any{"durationSeconds": 99})
	shows("Done 99 s")

	metas := map[string][]string{}
	for _, m := range transcript(t, e, sid) {
		metas[string(m.Role)] = append(metas[string(m.Role)], string(m.Meta))
	}
	want := map[string][]string{
		"user":      {`{"fileChanges":["a.go"],"mine":1,"progressMarkers":["half of it"],"progressScore":0.5,"tool":"editor"}`, "", `{"durationSeconds":99}`, ""},
		"assistant": {`{"durationSeconds":12.34}`, `{"durationSeconds":12.34}`, "", `{"durationSeconds":12.34}`},
	}
	if diff := cmp.Diff(want, metas); diff != "" {
		t.Error(diff)
	}
	ts.close()
	ts.start(func(opt *Options) { setClock(opt, c.Now) })
	e = ts.editor()
	shows("Done 99 s", "Progress markers: half of it", "Files changed: a.go")
}

// Data that an append would refuse is refused with a prompt too, and nothing is stored. In other profiles nothing is filled in.
func TestP08TheMetaOfAPromptIsChecked(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ask := func(meta any) error {
		return e.Call("session/prompt", map[string]any{
			"sessionId": sid, "prompt": []any{map[string]any{"type": "text", "text": "hello"}}, "_meta": map[string]any{"strata": map[string]any{"meta": meta}},
		}, nil)
	}
	for _, meta := range []any{
		map[string]any{"tool": 1}, map[string]any{"progressScore": -1}, map[string]any{"durationSeconds": "long"}, map[string]any{"fileChanges": []string{""}},
		map[string]any{"mine": strings.Repeat("x", history.MaxMetaBytes)},
	} {
		if fault := wireFault(t, ask(meta), rpc.CodeInvalidParams); !strings.Contains(fault.Message, "params._meta.strata.meta") {
			t.Errorf("%.40v: %s", meta, fault.Message)
		}
	}
	if all := transcript(t, e, sid); len(all) != 0 {
		t.Fatalf("%d messages are stored", len(all))
	}
	for _, meta := range []any{nil, "a text", []int{1}, map[string]any{"mine": true}} {
		if err := ask(meta); err != nil {
			t.Errorf("%v: %v", meta, err)
		}
	}
	var metas []string
	for _, m := range transcript(t, e, sid) {
		metas = append(metas, string(m.Meta))
	}
	if diff := cmp.Diff([]string{"", "", `"a text"`, "", `[1]`, "", `{"mine":true}`, ""}, metas); diff != "" {
		t.Error(diff)
	}
}

// The same prompt after a failure takes the place of the first one only if it has the same meta.
func TestP08APromptWithAnotherMetaIsAnotherPrompt(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := looping(t, ts)
	ask := func(score float64) error {
		return e.Call("session/prompt", map[string]any{
			"sessionId": sid, "prompt": []any{map[string]any{"type": "text", "text": "hello"}},
			"_meta": map[string]any{"strata": map[string]any{"meta": map[string]any{"progressScore": score}}},
		}, nil)
	}
	for _, score := range []float64{0.25, 0.25, 0.5} {
		ts.upstream.Push(upstream.Script{Status: 400})
		if err := ask(score); err == nil {
			t.Fatal("the prompt did not fail")
		}
	}
	if err := ask(0.5); err != nil {
		t.Fatal(err)
	}
	all := transcript(t, e, sid)
	if len(all) != 3 || string(all[0].Meta) != `{"progressScore":0.25}` || string(all[1].Meta) != `{"progressScore":0.5}` {
		t.Errorf("%d messages: %+v", len(all), all)
	}
}
