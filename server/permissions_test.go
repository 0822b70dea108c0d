package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/approval"
	"strata/session/permissions"
)

// kept are the rules that a server has kept in a configuration that has the rules pan and, denied, deploy.
type kept struct {
	mu      sync.Mutex
	rules   []string
	failure error
}

func (k *kept) keep(_ context.Context, rule approval.Rule) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failure == nil {
		k.rules = append(k.rules, rule.String())
	}
	return k.failure
}

// configure gives a server the configuration.
func (k *kept) configure(t *testing.T) func(*Options) {
	t.Helper()
	allow, err := approval.ParseRules([]string{"pan"}, approval.ParseAllow)
	if err != nil {
		t.Fatal(err)
	}
	deny, err := approval.ParseRules([]string{"deploy"}, approval.ParseDeny)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Options) {
		o.Sessions.Tools = session.ToolSettings{Enabled: true, MaxSteps: 100, Rules: permissions.NewConfigured(allow, deny, k.keep)}
		o.Sessions.DefaultConfig = history.Config{Model: "offline/actor"}
	}
}

// asker returns an editor whose user answers every question with an option, and that runs all tools.
func asker(ts *testServer, option string) *testclient.Editor {
	e := ts.editor()
	e.Serve(wire.MethodCallTool, func(json.RawMessage) (any, *rpc.Error) { return said("called"), nil })
	if option != "" {
		e.Serve(wire.MethodRequestPermission, func(json.RawMessage) (any, *rpc.Error) {
			return selected(option), nil
		})
	}
	return e
}

// rulesOf returns the rules that the server lists for a session.
func rulesOf(ts *testServer, e *testclient.Editor, sid string) (all []string) {
	ts.t.Helper()
	for _, r := range call[struct{ Rules []permissions.Listed }](ts, e, "_strata/permissions/list", sid, nil).Rules {
		all = append(all, fmt.Sprintf("%s %s %s", r.Effect, r.Scope, r.Rule))
	}
	return all
}

func wantRules(ts *testServer, e *testclient.Editor, sid string, want ...string) {
	ts.t.Helper()
	want = append(want, "allow config pan", "deny config deploy")
	got := rulesOf(ts, e, sid)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		ts.t.Errorf("the rules are %q, want %q", got, want)
	}
}

// runs lets the model of a session call a tool, and returns the result.
func runs(ts *testServer, e *testclient.Editor, sid, tool string, meta map[string]any) string {
	ts.t.Helper()
	if err := prompting(e, sid, "call "+tool, meta).Wait(nil); err != nil {
		ts.t.Fatal(err)
	}
	got, _ := lastResult(ts.t, e, sid)
	return got
}

// A rule that an answer makes is listed, comes back after a restart, goes with a fork, and stays out of exports and imports.
func TestRulesOfASession(t *testing.T) {
	t.Parallel()
	k := new(kept)
	ts := startServer(t, k.configure(t))
	e := asker(ts, "allow_always")
	sid := e.NewSession(ts.work)
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	wantRules(ts, e, sid)
	if got := runs(ts, e, sid, "zoom", changing("zoom")); got != "called" {
		t.Errorf("the result is %q", got)
	}
	if got := runs(ts, e, sid, "deploy", changing("deploy")); !strings.Contains(got, "the user's configuration denies it") {
		t.Errorf("the result is %q", got)
	}
	wantRules(ts, e, sid, "allow session zoom")
	e.Expect(testclient.Condition{Name: "permissions_changed", Met: func(fs testclient.Frames) bool { return len(fs.Of(sid).Kind("permissions_changed")) == 1 }})

	ts.close()
	ts.start(k.configure(t))
	e = asker(ts, "")
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	if got := runs(ts, e, sid, "zoom", changing("zoom")); got != "called" {
		t.Errorf("the result is %q", got)
	}
	fork, _ := forkOf(t, e, sid, nil)
	wantRules(ts, e, fork, "allow session zoom")
	call[struct{}](ts, e, "_strata/permissions/revoke", sid, map[string]any{"rule": "zoom"})
	wantRules(ts, e, sid)
	wantRules(ts, e, fork, "allow session zoom")
	if page := call[json.RawMessage](ts, e, "_strata/session/export", fork, nil); strings.Contains(string(page), `"rules"`) {
		t.Errorf("exported is %s", page)
	}
	if info := call[json.RawMessage](ts, e, "_strata/session/info", fork, nil); strings.Contains(string(info), `"rules"`) {
		t.Errorf("the session is %s", info)
	}
}

// A rule that is kept holds for all sessions, also for a call that waits in one of them.
func TestAKeptRuleHoldsForAllSessions(t *testing.T) {
	t.Parallel()
	k := new(kept)
	ts := startServer(t, k.configure(t))
	e, other := asker(ts, "allow_always"), asker(ts, "")
	sid := e.NewSession(ts.work)
	runs(ts, e, sid, "zoom", changing("zoom"))
	waits := other.NewSession(ts.work)
	turn := prompting(other, waits, "call zoom", changing("zoom"))
	asked := other.Asked(wire.MethodRequestPermission, 1)
	for range 2 {
		call[struct{}](ts, e, "_strata/permissions/keep", sid, map[string]any{"rule": "zoom"})
	}
	if err := turn.Wait(nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := lastResult(t, other, waits); got != "called" {
		t.Errorf("the result is %q", got)
	}
	want := `{"requestId":` + string(asked.ID) + `}`
	other.Expect(testclient.Condition{Name: "a cancellation", Met: func(fs testclient.Frames) bool {
		return slices.ContainsFunc(fs, func(f testclient.Frame) bool { return f.Method == rpc.MethodCancel && string(f.Params) == want })
	}})
	wantRules(ts, e, sid, "allow session zoom", "allow config zoom")
	wantRules(ts, other, waits, "allow config zoom")
	if !slices.Equal(k.rules, []string{"zoom", "zoom"}) {
		t.Errorf("kept are %q", k.rules)
	}
}

// A request that cannot be met is refused in a sentence, and changes nothing.
func TestWrongRequestsForRules(t *testing.T) {
	t.Parallel()
	k := &kept{failure: errors.New("/home/me/strata.yaml: read-only")}
	ts := startServer(t, k.configure(t))
	e := asker(ts, "allow_always")
	sid := e.NewSession(ts.work)
	runs(ts, e, sid, "zoom", changing("zoom"))
	for _, tt := range []struct {
		method string
		params map[string]any
		want   string
	}{
		{"list", map[string]any{"sessionId": "sess_x"}, "not found"},
		{"revoke", map[string]any{"sessionId": sid}, "params.rule is missing"},
		{"revoke", map[string]any{"sessionId": sid, "rule": 7}, "params.rule: must be"},
		{"revoke", map[string]any{"sessionId": sid, "rule": "pan"}, `rule "pan" belongs to the configuration`},
		{"revoke", map[string]any{"sessionId": sid, "rule": "run_command(rm *)"}, "the session has no such rule"},
		{"keep", map[string]any{"sessionId": "sess_x", "rule": "zoom"}, "not found"},
		{"keep", map[string]any{"sessionId": sid, "rule": strings.Repeat("x", 100_000)}, "the session has no such rule"},
		{"keep", map[string]any{"sessionId": sid, "rule": "pan"}, `rule "pan" belongs to the configuration`},
		{"keep", map[string]any{"sessionId": sid, "rule": "zoom"}, `rule "zoom" was not added to the configuration: /home/me/strata.yaml: read-only`},
	} {
		err := e.Call("_strata/permissions/"+tt.method, tt.params, nil)
		fault, ok := errors.AsType[*rpc.Error](err)
		if !ok || !strings.Contains(fault.Message, tt.want) || len(fault.Message) > 400 {
			t.Errorf("%s %.200v: got %v, want %s", tt.method, tt.params, err, tt.want)
		}
	}
	wantRules(ts, e, sid, "allow session zoom")
}
