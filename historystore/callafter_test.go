package historystore

import (
	"fmt"
	"testing"
	"time"

	"strata/history"
)

// A file that two requests contain is in the call before the newest one, and calls of which nothing arrived are not counted.
func TestCallsThatBroughtNothingAreNotCounted(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	for i, c := range []history.Call{
		{Purpose: history.PurposeTurn, Status: history.CallComplete},
		{Purpose: history.PurposeSummary, Status: history.CallComplete},
		{Purpose: history.PurposeTurn, Status: history.CallFailed},
		{Purpose: history.PurposeTurn, Status: history.CallStopped, Usage: history.Usage{Input: 10, Output: 1}},
		{Purpose: history.PurposeTurn, Status: history.CallStopped, Usage: history.Usage{Input: 10}},
		{Purpose: history.PurposeFrontend, Status: history.CallComplete},
		{Purpose: history.PurposeTurn, Status: history.CallFailed},
	} {
		c.ID, c.At = fmt.Sprint("call_", i), epoch.Add(time.Duration(i)*time.Second)
		commit(t, s, history.Change{Session: "sess_a", Calls: []history.Call{c}})
	}
	for n, want := range map[int]string{1: "call_5", 2: "call_3", 3: "call_0", 4: ""} {
		call, ok, err := NewCallLog(s).CallBack(ctx, "sess_a", n)
		if err != nil || call.ID != want || ok != (want != "") {
			t.Errorf("%d calls back: %q, %v, %v, want %q", n, call.ID, ok, err, want)
		}
	}
}
