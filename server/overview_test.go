package server

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/rpc"
	"strata/server/budgets"
	"strata/server/overview"
	"strata/server/wire"
)

// overviewOf returns the overview of the last days in UTC.
func overviewOf(t *testing.T, e interface {
	Call(method string, params, result any) error
}, days int) (o overview.Overview) {
	t.Helper()
	if err := e.Call("_strata/usage/overview", map[string]any{"days": days, "timeZone": "UTC"}, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// The overview has the calls of all sessions, with the numbers of their usage logs.
func TestOverviewAddsUpTheUsageLogs(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	folder := filepath.Join(ts.work, "part")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	var want wire.UsageTotals
	sids := []string{e.NewSession(ts.work), e.NewSession(folder), e.NewSession(folder)}
	for i, sid := range sids {
		for range i + 1 {
			if _, err := e.Prompt(sid, "hello"); err != nil {
				t.Fatal(err)
			}
		}
		var page wire.UsagePage
		if err := e.Call("_strata/usage/list", map[string]any{"sessionId": sid}, &page); err != nil {
			t.Fatal(err)
		}
		want.Calls, want.Usage, want.Cost = want.Calls+page.Totals.Calls, want.Usage.Add(page.Totals.Usage), want.Cost+page.Totals.Cost
		want.Uncached, want.Expected = want.Uncached+page.Totals.Uncached, want.Expected+page.Totals.Expected
	}
	var fork struct{ SessionID string }
	if err := e.Call("session/fork", map[string]any{"sessionId": sids[2], "cwd": folder}, &fork); err != nil {
		t.Fatal(err)
	}
	if err := e.Call("session/delete", map[string]any{"sessionId": sids[1]}, nil); err != nil {
		t.Fatal(err)
	}
	o := overviewOf(t, e, 2) // also if midnight passes
	got := o.Totals
	if got.Calls != 6 || got.Calls != want.Calls || got.Usage != want.Usage || math.Abs(got.Cost-want.Cost) > 1e-9 ||
		math.Abs(got.Uncached-want.Uncached) > 1e-9 || got.Expected != want.Expected {
		t.Errorf("the totals are %+v, want %+v", got, want)
	}
	if len(o.Days) != 2 || len(o.Models) != 1 || len(o.Folders) != 2 || len(o.Sessions) != 3 {
		t.Errorf("there are %d days, %d models, %d folders, %d sessions", len(o.Days), len(o.Models), len(o.Folders), len(o.Sessions))
	}
	for _, s := range o.Sessions {
		if s.Deleted != (s.SessionID == sids[1]) || s.Title != "hello" {
			t.Errorf("listed is %+v", s)
		}
	}
}

// What overview is asked for is bounded, and a name of a time zone leads to no other file.
func TestOverviewRefusesOtherPeriods(t *testing.T) {
	e := startServer(t).editor()
	for _, params := range []map[string]any{
		{"days": -1}, {"days": 367}, {"timeZone": "../../etc/passwd"}, {"timeZone": "/etc/passwd"}, {"timeZone": "Mars/Olympus"},
		{"timeZone": "Europe/Berlin\x00"}, {"timeZone": string(make([]byte, 1<<20))},
	} {
		fault := wireFault(t, e.Call("_strata/usage/overview", params, nil), rpc.CodeInvalidParams)
		if len(fault.Message) > 400 {
			t.Errorf("the message has %d bytes", len(fault.Message))
		}
	}
	for _, params := range []map[string]any{{}, {"days": 366, "timeZone": "Pacific/Chatham"}, {"days": 1, "timeZone": "Local"}} {
		var o overview.Overview
		if err := e.Call("_strata/usage/overview", params, &o); err != nil || !o.Since.Before(time.Now()) || !o.Until.After(time.Now()) {
			t.Errorf("%v: from %v to %v, error %v", params, o.Since, o.Until, err)
		}
	}
}

// A budget of a folder warns in its sessions only: all clients with an event, and the session that runs, or prompts next, with
// a notice; each once, also after a restart.
func TestABudgetWarnsInItsFolder(t *testing.T) {
	ts := &testServer{t: t, upstream: upstream.Start(upstream.Options{}), dir: t.TempDir(), work: t.TempDir()}
	t.Cleanup(ts.upstream.Close)
	part := filepath.Join(ts.work, "part")
	if err := os.Mkdir(part, 0o700); err != nil {
		t.Fatal(err)
	}
	ts.models = map[string]llm.ModelConfig{"local/test": {Price: &llm.Price{Input: 1000, Output: 1000}}}
	budget := func(o *Options) {
		o.Budgets = []budgets.Budget{{Name: "part", Per: budgets.Day, Folder: part, Limit: 0.001, WarnPercent: 80}}
	}
	ts.start(budget)
	e := ts.editor()
	if err := e.Call("_strata/server/subscribe", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	elsewhere, inside := e.NewSession(ts.work), e.NewSession(part)
	prompt := func(sid string) {
		t.Helper()
		if _, err := e.Prompt(sid, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	prompt(elsewhere)
	if o := overviewOf(t, e, 2); len(o.Budgets) != 1 || o.Budgets[0].Spent != 0 || o.Budgets[0].State != budgets.OK || o.Totals.Cost == 0 {
		t.Fatalf("the budgets are %+v", o.Budgets)
	}
	prompt(inside)
	e.Expect(told("budget"))
	if o := overviewOf(t, e, 2); o.Budgets[0].State != budgets.Over || o.Budgets[0].Spent <= 0 || o.Budgets[0].Spent >= o.Totals.Cost {
		t.Fatalf("the budgets are %+v", o.Budgets)
	}
	prompt(elsewhere)
	prompt(inside)
	e.Expect(testclient.Sees(inside, "notice"))
	prompt(inside)
	if n := len(e.Frames().Of(elsewhere).Kind("notice")); n != 0 {
		t.Errorf("%d notices in another folder", n)
	}
	ts.close()
	ts.start(budget)
	again := ts.editor()
	if err := again.Call("_strata/server/subscribe", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := again.Call("session/load", map[string]any{"sessionId": inside, "cwd": part}, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := again.Prompt(inside, "after a restart"); err != nil {
			t.Fatal(err)
		}
	}
	if n, events := len(again.Frames().Of(inside).Kind("notice")), told("budget").Met(again.Frames()); n != 0 || events {
		t.Errorf("after a restart: %d notices, an event: %t", n, events)
	}
	if n := len(e.Frames().Of(inside).Kind("notice")); n != 1 {
		t.Errorf("%d notices", n)
	}
}

// told holds when an event of the server of a type was received.
func told(kind string) testclient.Condition {
	return testclient.Condition{Name: "an event " + kind, Met: func(fs testclient.Frames) bool {
		return slices.ContainsFunc(fs, func(f testclient.Frame) bool {
			var e struct{ Type string }
			return f.Method == wire.MethodServerEvent && json.Unmarshal(f.Params, &e) == nil && e.Type == kind
		})
	}}
}
