package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/rpc"
	"strata/session/compacting"
)

// The requested part of a history's middle is removed, and roles still alternate, also the second time.
func TestTheMiddleLeavesAsAskedFor(t *testing.T) {
	t.Parallel()
	for keep, want := range map[string][2]int{ // messages in view after the first and the second time
		"none":    {2, 2}, // the first pair
		"lastTwo": {4, 4},
		"half":    {12, 8},
		"quarter": {8, 4},
	} {
		ts := startServer(t)
		e := ts.editor()
		sid := e.NewSession(ts.work)
		call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": "task"})
		appendTo(ts, e, sid, chat(10, 50)...)
		var got [2]int
		for i := range got {
			var done compacting.Result
			if err := e.Call("_strata/history/compact", map[string]any{"sessionId": sid, "keep": keep}, &done); err != nil {
				t.Fatal(err)
			}
			var roles []history.Role
			for _, m := range transcript(t, e, sid) {
				if m.InView {
					roles = append(roles, m.Role)
				}
			}
			got[i] = len(roles)
			for j := 1; j < len(roles); j++ {
				if roles[j] == roles[j-1] {
					t.Errorf("%s, time %d: roles are %v", keep, i+1, roles)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", keep, diff)
		}
		mustPrompt(t, e, sid, "go on")
		if sent := lastSent(ts); !strings.Contains(sent, "question 0") || !strings.Contains(sent, fmt.Sprintf("summary of %d earlier messages", 20-got[1])) {
			t.Errorf("%s: the request lacks the first prompt or the summary: %.300s", keep, sent)
		}
	}
}

func TestKeepIsChecked(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	appendTo(ts, e, sid, chat(4, 20)...)
	for _, tc := range []struct{ strategy, keep, want string }{
		{"topic", "half", "keep: the strategy topic takes none"},
		{"", "half", "keep: the strategy topic takes none"},
		{"middle", "most", `keep: "most" is not one of none, lastTwo, half, quarter`},
	} {
		err := e.Call("_strata/history/compact", map[string]any{"sessionId": sid, "strategy": tc.strategy, "keep": tc.keep}, nil)
		if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, tc.want) {
			t.Errorf("%+v: %s", tc, fault.Message)
		}
	}
}
