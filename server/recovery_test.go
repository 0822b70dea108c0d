package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

func TestAnswerOfAClosedSessionIsThereWhenItIsOpenedAgain(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("all of ", "the answer")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	allow := refuseAnswers(t, ts)
	if _, err := e.Prompt(sid, "question"); err != nil {
		t.Fatal(err)
	}
	e.Expect(testclient.Sees(sid, "save_failed"))
	if err := e.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}

	// While the reply cannot be stored, the session can be read, and gets no other ending.
	attached, err := e.Attach(sid, testclient.Place{})
	if err != nil || !strings.Contains(string(attached.Snapshot), "all of the answer") {
		t.Errorf("attached: %s, %v", attached.Snapshot, err)
	}
	_, err = e.Prompt(sid, "next")
	wireFault(t, err, wire.CodeStorage)

	allow()
	e.Expect(testclient.Sees(sid, "saved"))
	if m := lastMessage(t, e, sid); m.PlainText() != "all of the answer" || m.Status != "complete" {
		t.Errorf("the transcript ends with %s %q", m.Status, m.PlainText())
	}
	left, err := filepath.Glob(filepath.Join(ts.dir, recoveryPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("recovery files: %q, %v", left, err)
	}
}

func TestRecoveryFileThatCannotBeReadHoldsUpOnlyItsSession(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid, other := e.NewSession(ts.work), e.NewSession(ts.work)
	for _, id := range []string{sid, other} {
		if err := e.Call("session/close", map[string]any{"sessionId": id}, nil); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(ts.dir, recoveryName(sid, "turn_1"))
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{sid, other} {
		if err := e.Call("_strata/session/info", map[string]any{"sessionId": id}, nil); err != nil {
			t.Errorf("session %s: %v", id, err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is missing: %v", err)
	}
}

func TestRecoveryFileOfATurnWithAnotherEndIsKept(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("the end")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := e.Prompt(sid, "question"); err != nil {
		t.Fatal(err)
	}
	stored := lastMessage(t, e, sid).Message
	if err := e.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text string
		kept bool
	}{{"the end", false}, {"another end", true}} {
		m := stored
		m.Blocks = []history.Block{{Type: history.BlockText, Text: tc.text}}
		ch := history.Change{Session: sid, End: &history.Turn{ID: stored.Turn, Status: history.TurnCompleted}, Messages: []history.Message{m}}
		if err := ts.server.recovery.keep(ch); err != nil {
			t.Fatal(err)
		}
		if _, err := ts.server.recovery.restore(t.Context(), sid); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(ts.dir, recoveryName(sid, stored.Turn))
		if _, err := os.Stat(path); (err == nil) != tc.kept {
			t.Errorf("%s: the file is there: %v", tc.text, err == nil)
		}
	}
	if m := lastMessage(t, e, sid); m.PlainText() != "the end" {
		t.Errorf("the transcript ends with %q", m.PlainText())
	}
}

// The recovery file of a session is looked at when that session is loaded, and one of another database is left alone.
func TestRecoveryFilesOfOtherSessionsAreKept(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("the end")})
	e := ts.editor()
	sid, other := e.NewSession(ts.work), e.NewSession(ts.work)
	if _, err := e.Prompt(sid, "question"); err != nil {
		t.Fatal(err)
	}
	m := lastMessage(t, e, sid).Message
	r := ts.server.recovery
	const foreign = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	for _, ch := range []history.Change{
		{Session: sid, End: &history.Turn{ID: m.Turn, Status: history.TurnCompleted}, Messages: []history.Message{m}},
		{Session: foreign, End: &history.Turn{ID: "turn_1", Status: history.TurnCompleted}},
	} {
		if err := r.keep(ch); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		restored string
		left     int
	}{{other, 2}, {sid, 1}, {foreign, 1}, {"", 1}} {
		if _, err := r.restore(t.Context(), step.restored); err != nil {
			t.Errorf("restore %q: %v", step.restored, err)
		}
		left, err := filepath.Glob(filepath.Join(ts.dir, recoveryPrefix+"*"))
		if err != nil || len(left) != step.left {
			t.Errorf("after %q there are %q, %v", step.restored, left, err)
		}
	}
}
