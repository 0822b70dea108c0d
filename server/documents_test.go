package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/rpc"
	"strata/session/documents"
)

// set sets a document; more contains further parameters.
func set(ts *testServer, e caller, sid, name, text string, more ...map[string]any) documents.Info {
	ts.t.Helper()
	params := map[string]any{"name": name, "text": text}
	for _, m := range more {
		for k, v := range m {
			params[k] = v
		}
	}
	return call[documents.Info](ts, e, "_strata/documents/set", sid, params)
}

func documentsOf(ts *testServer, e caller, sid string) []documents.Info {
	ts.t.Helper()
	return call[struct{ Documents []documents.Info }](ts, e, "_strata/documents/list", sid, nil).Documents
}

func TestDocumentsHaveDefaults(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, name := range []string{"tests", "rules", "design", "state", "types"} {
		set(ts, e, sid, name, name+" are so.\n")
	}
	set(ts, e, sid, "unit", "u", map[string]any{"priority": 7, "pinned": true, "phases": []string{"testing"}, "status": "approved", "order": 3})
	set(ts, e, sid, "design", "changed", map[string]any{"pinned": false})
	want := "design 80 false; rules 80 true; state 98 false; tests 80 false; types 80 false; unit 7 true testing approved 3; "
	check := func() {
		t.Helper()
		got := ""
		for _, d := range documentsOf(ts, e, sid) {
			got += fmt.Sprintf("%s %d %v", d.Name, d.Priority, d.Pinned)
			if d.Status != "" {
				got += fmt.Sprintf(" %s %s %d", strings.Join(d.Phases, ","), d.Status, d.Order)
			}
			got += "; "
			if d.Tokens == 0 || d.Bytes == 0 || len(d.Hash) != 64 {
				t.Errorf("%+v", d)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check()
	ts.restart()
	e = resume(ts, sid)
	check()
}

func TestDocumentsAreSetReplacedAndRemoved(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	first := set(ts, e, sid, "types", "type A")
	again := set(ts, e, sid, " types ", "type B")
	if first.Hash != sha("type A") || again.Hash != sha("type B") || len(documentsOf(ts, e, sid)) != 1 {
		t.Errorf("%+v, then %+v", first, again)
	}
	mustPrompt(t, e, sid, "look")
	if sent := lastSent(ts); strings.Contains(sent, "type A") || !strings.Contains(sent, `# types\n\ntype B\n`) {
		t.Errorf("sent: %.400s", sent)
	}
	remove := func(name string) bool {
		return call[map[string]bool](ts, e, "_strata/documents/remove", sid, map[string]any{"name": name})["removed"]
	}
	if !remove("types") || remove("types") || remove("") {
		t.Error("the removal is not reported correctly")
	}
	if d := documentsOf(ts, e, sid); d == nil || len(d) != 0 {
		t.Errorf("documents: %v", d)
	}
}

func TestDocumentsHaveLimits(t *testing.T) {
	long(t)
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	refused := func(params map[string]any) {
		t.Helper()
		params["sessionId"] = sid
		wireFault(t, e.Call("_strata/documents/set", params, nil), rpc.CodeInvalidParams)
	}
	big := strings.Repeat("x", documents.MaxBytes)
	long := strings.Repeat("n", 101)
	for _, params := range []map[string]any{
		{"name": "", "text": "x"}, {"name": " \t", "text": "x"}, {"name": long, "text": "x"}, {"name": "two\nlines", "text": "x"},
		{"name": "a\x1b[2J", "text": "x"}, {"name": "none"}, {"name": "big", "text": big + "x"}, {"name": "a", "text": "x", "status": long},
		{"name": "a", "text": "x", "phases": []string{""}}, {"name": "a", "text": "x", "phases": strings.Split(strings.Repeat("p,", 40), ",")},
		{"name": "a", "text": "x", "priority": "high"}, {"name": "a", "text": "x", "pinned": 1},
	} {
		refused(params)
	}
	for i := range documents.MaxTotal / documents.MaxBytes {
		set(ts, e, sid, fmt.Sprint("big ", i), big)
	}
	refused(map[string]any{"name": "one more", "text": "x"})
	set(ts, e, sid, "big 0", "small now")
	for i := range documents.Max - documents.MaxTotal/documents.MaxBytes {
		set(ts, e, sid, fmt.Sprint("small ", i), "x")
	}
	refused(map[string]any{"name": "one more", "text": "x"})
	set(ts, e, sid, "small 0", "replaced")
}

func TestStateIsShownAsVerifiedFacts(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	set(ts, e, sid, "state", "The tests pass.")
	set(ts, e, sid, "goal", "A server.")
	set(ts, e, sid, "empty", " \n")
	mustPrompt(t, e, sid, "look")
	sent := lastSent(ts)
	facts, goal := strings.Index(sent, `# Verified facts\n\nThe tests pass.\n`), strings.Index(sent, `# goal\n\nA server.\n`)
	if facts < 0 || goal < facts || strings.Contains(sent, "# empty") {
		t.Errorf("sent: %.600s", sent)
	}
}

func TestAgentsFileIsTheRules(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	sent := func(want ...string) string {
		t.Helper()
		mustPrompt(t, e, sid, "look")
		body := lastSent(ts)
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%q is not in %.600s", w, body)
			}
		}
		return body
	}
	sent()
	ts.write("AGENTS.md", "First rules.\n")
	sent(`# rules\n\nFirst rules.\n`)
	ts.write("AGENTS.md", "Second rules.\n")
	if body := sent("Second rules."); strings.Contains(body, "First rules.") && strings.Index(body, "First rules.") > strings.Index(body, "Second rules.") {
		t.Error("the old rules follow the new ones")
	}
	if d := documentsOf(ts, e, sid); len(d) != 0 {
		t.Errorf("listed: %v", d)
	}
	set(ts, e, sid, "rules", "Own rules.")
	keys := func() string {
		out := ""
		for _, tier := range tokensOf(ts, e, sid).Tiers {
			for _, it := range tier.Items {
				if it.Kind == "document" && it.Dead < it.Tokens {
					out += it.Key + " "
				}
			}
		}
		return out
	}
	sent("Own rules.")
	if got := keys(); got != "doc:rules " {
		t.Errorf("documents in the request: %s", got)
	}
	call[map[string]bool](ts, e, "_strata/documents/remove", sid, map[string]any{"name": "rules"})
	sent("Second rules.")
	ts.write("AGENTS.md", "\x00\x01\x02")
	if left := leftOutOf(t, mustPrompt(t, e, sid, "look")); left["doc:rules"] != "binary" {
		t.Errorf("omitted: %v", left)
	}
	ts.remove("AGENTS.md")
	if left := leftOutOf(t, mustPrompt(t, e, sid, "look")); len(left) != 0 {
		t.Errorf("omitted: %v", left)
	}
	if got := keys(); got != "" {
		t.Errorf("documents in the request: %s", got)
	}
}

func TestAgentsFileCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(o *Options) { o.Sessions.RulesFile = false })
	ts.write("AGENTS.md", "Rules.\n")
	e := ts.editor()
	mustPrompt(t, e, e.NewSession(ts.work), "look")
	if sent := lastSent(ts); strings.Contains(sent, "Rules.") {
		t.Errorf("sent: %s", sent)
	}
}
