package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/compaction"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/compacting"
	"strata/tokens"
)

// strategies are all strategies of compactions.
var strategies = []string{compaction.Topic, compaction.Rolling, compaction.Prune, compaction.Middle, compaction.Window}

// holdCompactions lets no compaction of the server run before the test ends.
func (ts *testServer) holdCompactions() {
	ts.t.Helper()
	hold := make(chan struct{})
	ts.t.Cleanup(func() { close(hold) })
	for i := range max(ts.server.CompactionWorkers, 2) {
		if _, err := ts.server.pool.Submit(fmt.Sprint("held ", i), func(ctx context.Context) compaction.Result {
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return compaction.Cancelled
		}); err != nil {
			ts.t.Fatal(err)
		}
	}
}

// choose sets an option of a session.
func (ts *testServer) choose(e *testclient.Editor, sid, option, value string) {
	ts.t.Helper()
	call[any](ts, e, "session/set_config_option", sid, map[string]any{"configId": option, "value": value})
}

// appendPair appends a prompt and its answer.
func (ts *testServer) appendPair(e *testclient.Editor, sid, prompt, answer string) {
	ts.t.Helper()
	call[any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": prompt}, map[string]any{"role": "assistant", "content": answer},
	}})
}

// need is what all methods say of the next compaction of a session.
type need struct {
	status compacting.Status
	budget assembly.Budget
	report assembly.Report
}

// needOf asks every method that says whether a compaction is due. All must say the same.
func (ts *testServer) needOf(e *testclient.Editor, sid string) need {
	ts.t.Helper()
	n := need{
		call[compacting.Status](ts, e, "_strata/context/compaction", sid, nil), call[assembly.Budget](ts, e, "_strata/context/budget", sid, nil),
		call[assembly.Report](ts, e, "_strata/context/report", sid, nil),
	}
	due := n.status.NeedsCompaction
	if n.budget.NeedsCompaction != due || strings.Contains(n.report.Line, "compaction is due") != due ||
		strings.Contains(n.report.Text, "compaction is due") != due || n.status.PercentUsed >= 100 != due {
		ts.t.Errorf("is a compaction due?\n%+v\n%+v\n%s\n%s", n.status, n.budget, n.report.Line, n.report.Text)
	}
	if info := call[struct{ HistoryTokens int }](ts, e, "_strata/session/info", sid, nil); info.HistoryTokens != n.budget.HistoryTokens {
		ts.t.Errorf("the session has %d tokens of history, the budget says %d", info.HistoryTokens, n.budget.HistoryTokens)
	}
	if n.status.Enabled && n.budget.HistoryTokens != n.status.HistoryTokens || !strings.Contains(n.report.Line, "history "+tokens.Format(n.budget.HistoryTokens)+" ") {
		ts.t.Errorf("how large is the history?\n%+v\n%+v\n%s", n.status, n.budget, n.report.Line)
	}
	return n
}

// In each profile, with each strategy and a provider that counts 2.2 times as many tokens, everything that says whether a
// compaction is due says the same at each step, and a compaction starts exactly when it does.
func TestF18AllSayTheSameOfTheNextCompaction(t *testing.T) {
	long(t)
	t.Parallel()
	ts := startChat(t, dense(0, upstream.Numbers), map[string]llm.ModelConfig{"local/test": {Window: 20_000, MaxOutput: 2_000}})
	ts.holdCompactions()
	e := ts.editor()
	mustPrompt(t, e, e.NewSession(ts.work), talk(0, 600)) // teaches how the provider counts
	for _, profile := range []string{"chat", "steps", "loop", "task", "phased"} {
		for _, strategy := range strategies {
			t.Run(profile+" "+strategy, func(t *testing.T) {
				ts.t = t
				sid := e.NewSession(ts.work)
				ts.choose(e, sid, "profile", profile)
				ts.choose(e, sid, "compaction", strategy)
				for pairs := 0; ; pairs++ {
					n := ts.needOf(e, sid)
					s := n.status
					if !n.budget.Calibrated || s.Strategy != strategy || !s.Enabled {
						t.Fatalf("%+v, %+v", s, n.budget)
					}
					want := s.Size >= s.Trigger
					switch s.Unit {
					case compaction.Tokens:
						want = s.HistoryTokens > s.TriggerTokens
						if s.Size != s.HistoryTokens || s.Trigger != s.TriggerTokens || s.TriggerTokens == 0 {
							t.Errorf("%+v", s)
						}
					case compaction.Steps, compaction.Iterations:
						if s.Size != pairs || s.TriggerTokens != 0 {
							t.Errorf("after %d pairs: %+v", pairs, s)
						}
					default:
						t.Fatalf("the unit is %q", s.Unit)
					}
					if s.NeedsCompaction != want || s.Running != want || s.WaitsFor != "" {
						t.Fatalf("after %d pairs, due: %v: %+v", pairs, want, s)
					}
					if want {
						break
					}
					if pairs == 60 {
						t.Fatalf("never due: %+v", s)
					}
					ts.appendPair(e, sid, talk(pairs, 200), talk(pairs, 260))
				}
			})
		}
	}
	ts.t = t
}

// A history far above its trigger needs a compaction, also if one cannot start: then the status says what it waits for.
func TestF18AHistoryThatHasToWait(t *testing.T) {
	t.Parallel()
	ts := startChat(t, dense(0, upstream.Numbers), map[string]llm.ModelConfig{"local/test": {Window: 100_000, MaxOutput: 2_000}})
	ts.holdCompactions()
	e := ts.editor()
	large := e.NewSession(ts.work)
	for i := range 2 {
		ts.appendPair(e, large, talk(i, 15_000), talk(i, 15_000))
	}
	if s := ts.needOf(e, large).status; !s.NeedsCompaction || s.Running || s.WaitsFor != "more_history" || s.PercentUsed < 200 {
		t.Errorf("all of the history has to be kept: %+v", s)
	}
	ts.appendPair(e, large, "And now?", "Now there is more of it.")
	if s := ts.needOf(e, large).status; !s.NeedsCompaction || !s.Running || s.WaitsFor != "" {
		t.Errorf("with one more exchange: %+v", s)
	}

	calls := e.NewSession(ts.work)
	ts.choose(e, calls, "profile", "steps")
	messages := []any{map[string]any{"role": "user", "content": "Look at it."}}
	for i := range 10 + 6 { // the last ten of a turn that is not over do not count
		id := fmt.Sprint("c", i)
		messages = append(messages,
			map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_call", "callId": id, "name": "read", "args": "{}"}}},
			map[string]any{"role": "tool", "content": []any{map[string]any{"type": "tool_result", "callId": id, "content": []any{map[string]any{"type": "text", "text": "fine"}}}}})
	}
	last := len(messages) - 1
	call[any](ts, e, "_strata/history/append", calls, map[string]any{"messages": messages[:last]})
	if s := ts.needOf(e, calls).status; !s.NeedsCompaction || s.Running || s.WaitsFor != "tool_results" || s.Size != 6 {
		t.Errorf("a result is missing: %+v", s)
	}
	call[any](ts, e, "_strata/history/append", calls, map[string]any{"messages": messages[last:]})
	if s := ts.needOf(e, calls).status; !s.NeedsCompaction || !s.Running {
		t.Errorf("the result is there: %+v", s)
	}
}

// Without automatic compaction none is ever due.
func TestF18CompactionThatIsOff(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for i := range 8 {
		ts.appendPair(e, sid, talk(i, 3_000), talk(i, 3_000))
	}
	n := ts.needOf(e, sid)
	if n.status != (compacting.Status{}) || n.budget.NeedsCompaction || n.budget.HistoryTokens < 40_000 {
		t.Errorf("%+v, %+v", n.status, n.budget)
	}
	if !slices.Contains(strings.Split(n.report.Line, " · "), "history "+tokens.Format(n.budget.HistoryTokens)) {
		t.Error(n.report.Line)
	}
}
