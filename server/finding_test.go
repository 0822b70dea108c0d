package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"strata/internal/testclient"
	"strata/server/wire"
	"strata/session/finding"
)

// found returns how the next request contains a message.
func found(ts *testServer, e *testclient.Editor, sid, id string) wire.Located {
	ts.t.Helper()
	return call[wire.Located](ts, e, "_strata/context/find", sid, map[string]any{"messageId": id})
}

// A state is since the first call after it began: a prompt's own call, the one after a reply, and the one after an edit. What a
// user arranged is the same after a restart.
func TestAFoundMessageNamesItsCallAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, words := range []string{"one", "two", "three"} {
		mustPrompt(t, e, sid, words)
	}
	calls := func() (ids []string) {
		page := call[wire.UsagePage](ts, e, "_strata/usage/list", sid, nil)
		for _, c := range page.Calls {
			ids = append(ids, c.ID)
		}
		return ids
	}
	before := calls()
	messages := call[wire.HistoryPage](ts, e, "_strata/history/list", sid, nil).Messages
	prompt, reply, last := messages[2].ID, messages[3].ID, messages[5].ID
	for id, want := range map[string]string{prompt: before[1], reply: before[2], last: ""} {
		if l := found(ts, e, sid, id); l.State != finding.Whole || l.Since == nil || l.Since.CallID != want {
			t.Errorf("%s is %+v since %+v, want %q of %q", id, l.Found, l.Since, want, before)
		}
	}
	call[finding.Arranged](ts, e, "_strata/history/arrange", sid, map[string]any{"messageId": reply, "action": "take_out"})
	call[finding.Arranged](ts, e, "_strata/history/arrange", sid, map[string]any{"messageId": prompt, "action": "keep"})
	if l := found(ts, e, sid, reply); l.State != finding.NotIn || l.Rule != "taken_out" || l.Since.CallID != "" {
		t.Errorf("taken out: %+v since %+v", l.Found, l.Since)
	}
	mustPrompt(t, e, sid, "four")
	all := calls()
	taken, kept := found(ts, e, sid, reply), found(ts, e, sid, prompt)
	if newest := all[len(all)-1]; taken.Since.CallID != newest || kept.Since.CallID != newest || !kept.Kept {
		t.Errorf("taken out since %+v, kept since %+v, the newest call is %s", taken.Since, kept.Since, newest)
	}
	ts.restart()
	e = resume(ts, sid)
	same := cmp.Options{cmpopts.IgnoreFields(finding.Found{}, "Cached", "Tier", "Since"), cmpopts.EquateApproxTime(time.Microsecond)}
	if d := cmp.Diff([]wire.Located{taken, kept}, []wire.Located{found(ts, e, sid, reply), found(ts, e, sid, prompt)}, same); d != "" {
		t.Errorf("after the restart: %s", d)
	}
}

// A message that an undo brought back is in requests since then.
func TestAMessageThatAnUndoBroughtBack(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	mustPrompt(t, e, sid, "one")
	mustPrompt(t, e, sid, "two")
	first := call[wire.HistoryPage](ts, e, "_strata/history/list", sid, nil).Messages[0].ID
	began := found(ts, e, sid, first).Since
	for _, remove := range []func(){
		func() {
			call[finding.Arranged](ts, e, "_strata/history/arrange", sid, map[string]any{"messageId": first, "action": "take_out"})
		},
		func() { call[any](ts, e, "_strata/history/clear", sid, nil) },
	} {
		remove()
		out := found(ts, e, sid, first)
		call[any](ts, e, "_strata/checkpoint/undo", sid, nil)
		back := found(ts, e, sid, first)
		if back.State != finding.Whole || !back.Since.At.After(*out.Since.At) || back.Since.CallID != "" || began.CallID == "" {
			t.Errorf("out since %+v, back since %+v, at first since %+v", out.Since, back.Since, began)
		}
		mustPrompt(t, e, sid, "next")
		if back = found(ts, e, sid, first); back.Since.CallID == "" || back.Since.CallID == began.CallID {
			t.Errorf("after a request: since %+v, at first since %+v", back.Since, began)
		}
	}
}
