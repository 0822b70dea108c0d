package server

import (
	"encoding/json"
	"net/http"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

// endOf returns how the turn of the newest prompt ended, by the list and by a snapshot.
func endOf(t *testing.T, e *testclient.Editor, sid string) (listed, snapped *wire.Message) {
	t.Helper()
	newest := func(all []wire.Message) *wire.Message {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Role == "user" {
				return &all[i]
			}
		}
		t.Fatal("there is no prompt")
		return nil
	}
	attached, err := e.Attach(sid, testclient.Place{})
	if err != nil {
		t.Fatal(err)
	}
	var snap struct{ Messages []wire.Message }
	if err := json.Unmarshal(attached.Snapshot, &snap); err != nil {
		t.Fatal(err)
	}
	return newest(transcript(t, e, sid)), newest(snap.Messages)
}

// checkEnd checks how the turn of the newest prompt ended; an empty status stands for a complete reply.
func checkEnd(t *testing.T, e *testclient.Editor, sid, status, message string) {
	t.Helper()
	listed, snapped := endOf(t, e, sid)
	for name, m := range map[string]*wire.Message{"the list": listed, "the snapshot": snapped} {
		switch end := m.Ended; {
		case status == "":
			if end != nil {
				t.Errorf("by %s, the answered prompt ended as %+v", name, *end)
			}
		case end == nil:
			t.Errorf("%s does not say how the turn ended", name)
		case string(end.Status) != status || message != "" && (end.Error == nil || end.Error.Message != message):
			t.Errorf("by %s, the turn ended as %+v", name, *end)
		}
	}
}

// A list and a snapshot say how the turn of a prompt ended, with the error that its sender received, also after a restart,
// and until it is answered.
func TestPromptsSayHowTheirTurnsEnded(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	fail := func(script upstream.Script) string {
		t.Helper()
		ts.upstream.Push(script)
		_, err := e.Prompt(sid, "Why?")
		return wireFault(t, err, wire.CodeProvider).Message
	}
	checkEnd(t, e, sid, "failed", fail(upstream.Script{Status: http.StatusUnauthorized}))
	second := fail(upstream.Script{Status: http.StatusBadRequest})
	checkEnd(t, e, sid, "failed", second)
	ts.restart()
	e = ts.editor()
	checkEnd(t, e, sid, "failed", second)
	if _, err := e.Prompt(sid, "Why?"); err != nil {
		t.Fatal(err)
	}
	checkEnd(t, e, sid, "", "")

	ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Hold(nil)}})
	turn := e.Start(sid, "Stop!")
	e.Expect(testclient.Sees(sid, "turn_started"))
	if err := e.Cancel(sid); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	checkEnd(t, e, sid, "cancelled", "")
}

// The end of a turn that cannot be stored yet is told.
func TestPromptsSayHowTheirTurnsEndedBeforeThatIsStored(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	allow := refuseAnswers(t, ts)
	ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("half"), upstream.Fail("invalid_request_error", "not like this")}})
	_, err := e.Prompt(sid, "Why?")
	fault := wireFault(t, err, wire.CodeProvider)
	e.Expect(testclient.Sees(sid, "save_failed"))
	checkEnd(t, e, sid, "failed", fault.Message)
	allow()
	e.Expect(testclient.Sees(sid, "saved"))
	checkEnd(t, e, sid, "failed", fault.Message)
}
