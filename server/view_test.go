package server

import (
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

// listedState returns a session's state in session/list.
func listedState(t *testing.T, e *testclient.Editor, sid string) string {
	t.Helper()
	var list struct {
		Sessions []struct {
			SessionID string
			Meta      struct {
				Strata struct{ State string }
			} `json:"_meta"`
		}
	}
	if err := e.Call("session/list", map[string]any{}, &list); err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Sessions {
		if s.SessionID == sid {
			return s.Meta.Strata.State
		}
	}
	t.Fatalf("%s is not listed", sid)
	return ""
}

func TestListSaysWhatASessionIsDoing(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if got := listedState(t, e, sid); got != "" {
		t.Errorf("a new session is %q", got)
	}
	gate := make(chan struct{})
	ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Half"), upstream.Hold(gate)}})
	turn := e.Start(sid, "Go on")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "Half"))
	if got := listedState(t, e, sid); got != "running" {
		t.Errorf("a session with a running turn is %q", got)
	}
	close(gate)
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := e.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	if got := listedState(t, e, sid); got != "" {
		t.Errorf("a closed session is %q", got)
	}
	if n := len(ts.server.monitors.Working()); n != 0 {
		t.Errorf("the states of %d sessions are kept that do nothing", n)
	}
}

func TestHistorySaysWhatTheViewDoes(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, text := range []string{"one", "two"} {
		if _, err := e.Prompt(sid, text); err != nil {
			t.Fatal(err)
		}
	}
	states := func() (states []string) {
		t.Helper()
		var page struct{ Messages []wire.Message }
		if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &page); err != nil {
			t.Fatal(err)
		}
		for i := range page.Messages {
			m := &page.Messages[i]
			if m.InView != (m.View == nil) {
				t.Errorf("message %d is in view: %v, and has %+v", i, m.InView, m.View)
			}
			if m.View != nil {
				states = append(states, string(m.View.State))
			}
		}
		return states
	}
	if got := states(); len(got) != 0 {
		t.Errorf("in the beginning: %q", got)
	}
	var page struct{ Messages []wire.Message }
	if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &page); err != nil {
		t.Fatal(err)
	}
	if err := e.Call("_strata/checkpoint/restore", map[string]any{"sessionId": sid, "beforeMessageId": page.Messages[2].ID}, nil); err != nil {
		t.Fatal(err)
	}
	if got := states(); len(got) != 2 || got[0] != "taken_back" {
		t.Errorf("after a restore: %q", got)
	}
	if err := e.Call("_strata/history/clear", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	if got := states(); len(got) != 4 || got[0] != "cleared" || got[3] != "taken_back" {
		t.Errorf("after a clear: %q", got)
	}
}
