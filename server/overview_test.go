package server

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"strata/rpc"
	"strata/server/wire"
)

// overviewOf returns the overview of the last days in UTC.
func overviewOf(t *testing.T, e interface {
	Call(method string, params, result any) error
}, days int) (o wire.Overview) {
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
		var o wire.Overview
		if err := e.Call("_strata/usage/overview", params, &o); err != nil || !o.Since.Before(time.Now()) || !o.Until.After(time.Now()) {
			t.Errorf("%v: from %v to %v, error %v", params, o.Since, o.Until, err)
		}
	}
}
