package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"strata/compaction"
	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/session/compacting"
	"strata/session/profile"
)

// atThirtyPercent is a trigger of 3,000 tokens for a window of 10,000.
func atThirtyPercent(p *profile.Profile) {
	p.Compaction.TriggerTokens, p.Compaction.WindowPercent, p.Compaction.VerbatimWindowTokens = 0, 30, 500
}

// shownNow returns the current content of a session's view.
func (ts *testServer) shownNow(sid string) []string {
	ts.t.Helper()
	l := ts.stored(sid)
	return ts.viewed(sid, history.NewLog(l.Heads, l.Edits))
}

// untilOver sends prompts until the history exceeds the trigger.
func (ts *testServer) untilOver(e *testclient.Editor, sid string) {
	ts.t.Helper()
	for i := 0; ; i++ {
		status := statusOf(ts, e, sid)
		if status.HistoryTokens > status.TriggerTokens || len(ts.stored(sid).Edits) > 0 {
			return
		}
		mustPrompt(ts.t, e, sid, fmt.Sprintf("Question %d. %s", i, strings.Repeat("How does this part work? ", 40)))
		ts.settle(e)
	}
}

// A compaction runs once: afterwards, the compacted history is counted.
func TestK1_01TheCountFollowsTheCompaction(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 10_000, upstream.Options{}, withCompaction(t, atThirtyPercent))
	e, sid := attached(t, ts)
	before := statusOf(ts, e, sid)
	if before.TriggerTokens != 3000 {
		t.Fatalf("%+v", before)
	}
	s.says(upstream.Text(strings.Repeat("It was decided so. ", 20))) // 100 tokens
	ts.untilOver(e, sid)
	if s.times() != 1 {
		t.Fatalf("%d summaries were requested", s.times())
	}
	after := statusOf(ts, e, sid)
	if after.HistoryTokens >= after.TriggerTokens/2 || after.LastOutcome != "compacted" {
		t.Errorf("after the compaction: %+v", after)
	}
	ts.catchUp(e, sid)
	usage := usageOf(t, e.Frames(), sid)
	if last, peak := usage[len(usage)-1], usage[len(usage)-2]; last >= peak || last > 2000 {
		t.Errorf("received: %v", usage)
	}
	for range 3 {
		mustPrompt(t, e, sid, "And this one, which is about twenty tokens long, more or less, what of it then?")
		ts.settle(e)
	}
	if s.times() != 1 {
		t.Errorf("%d summaries were requested", s.times())
	}
	if now := statusOf(ts, e, sid); now.HistoryTokens <= after.HistoryTokens || now.HistoryTokens > now.TriggerTokens {
		t.Errorf("after three prompts: %+v", now)
	}
}

// usageOf returns the used tokens of each update.
func usageOf(t *testing.T, fs testclient.Frames, sid string) (used []int) {
	t.Helper()
	for _, f := range fs.Of(sid).Kind("usage_update") {
		var params struct{ Update struct{ Used int } }
		if err := json.Unmarshal(f.Params, &params); err != nil {
			t.Fatal(err)
		}
		used = append(used, params.Update.Used)
	}
	return used
}

// A summary without gain is attempted at most twice; then the history must have grown.
func TestK1_02FruitlessCompactionsPause(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 10_000, upstream.Options{}, withCompaction(t, atThirtyPercent))
	s.does(func(req *upstream.Request) upstream.Script {
		_, said, _ := strings.Cut(req.LastText(), "<conversation>")
		said, _, _ = strings.Cut(said, "</conversation>")
		return upstream.Script{Steps: upstream.Texts(said)}
	})
	e, sid := attached(t, ts)
	ts.untilOver(e, sid)
	for i := range 5 {
		mustPrompt(t, e, sid, fmt.Sprint("A short one, ", i))
		ts.settle(e)
	}
	if n := s.times(); n < 1 || n > 2 {
		t.Errorf("%d summaries were requested", n)
	}
	status := statusOf(ts, e, sid)
	if status.LastOutcome != "no_gain" || status.HistoryTokens <= status.TriggerTokens {
		t.Errorf("%+v", status)
	}
	stored := ts.stored(sid)
	if log := history.NewLog(stored.Heads, stored.Edits); len(stored.Edits) != 0 || len(log.View()) != len(stored.Heads) {
		t.Errorf("%d of %d messages are in view, %d edits", len(log.View()), len(stored.Heads), len(stored.Edits))
	}
	ts.catchUp(e, sid)
	if got := outcomes(e.Frames(), sid); strings.Join(got, " ") != strings.TrimSpace(strings.Repeat("running no_gain ", s.times())) {
		t.Errorf("received: %v", got)
	}
}

// If a compaction would make a short conversation longer, the conversation remains unchanged, byte for byte.
func TestK1_03ACompactionNeverMakesLonger(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 100_000, upstream.Options{}, withCompaction(t))
	s.says(upstream.Text(strings.Repeat("The summary goes on. ", 1200))) // 6,000 tokens
	e, sid := attached(t, ts)
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		message("user", "What is this?"), message("assistant", "A parser, in pkg/parser/parse.go."), message("user", "And that?"),
	}})
	before, tokens := ts.stored(sid), statusOf(ts, e, sid).HistoryTokens
	seen := make(map[string]bool)
	for _, strategy := range []string{compaction.Topic, compaction.Rolling, compaction.Prune, compaction.Middle, compaction.Window} {
		c := call[compacting.Result](ts, e, "_strata/history/compact", sid, map[string]any{"strategy": strategy})
		seen[c.Outcome] = true
		if c.Outcome != "no_gain" && c.Outcome != "nothing_to_do" || c.After != c.Before || c.Before != tokens {
			t.Errorf("%s: %+v", strategy, c)
		}
		ts.settle(e)
		if d := cmp.Diff(before, ts.stored(sid), cmpopts.IgnoreFields(history.Loaded{}, "Compaction", "Totals"), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: %s", strategy, d)
		}
	}
	if s.times() > 0 && !seen["no_gain"] {
		t.Errorf("outcomes: %v", seen)
	}
	if now := statusOf(ts, e, sid).HistoryTokens; now != tokens {
		t.Errorf("the history has %d tokens, %d before", now, tokens)
	}

	// The same for a conversation that is just long enough for a summary.
	ts.talk(e, sid, 12)
	shown := ts.shownNow(sid)
	if c := compactNow(ts, e, sid, compaction.Rolling, "no_gain"); c.Reason == "" || c.After != c.Before {
		t.Errorf("%+v", c)
	}
	if d := cmp.Diff(shown, ts.shownNow(sid)); d != "" {
		t.Error(d)
	}
}

// Wherever a history is divided, tool calls are followed by their results and a user's message comes first.
func TestK1_04BatchesStayWholeAtEveryCut(t *testing.T) {
	long(t)
	t.Parallel()
	const turns = 20
	strategies := []string{compaction.Topic, compaction.Rolling, compaction.Prune, compaction.Middle, compaction.Window}
	cuts := func(opt *Options) {
		for _, strategy := range strategies {
			for keep := 1; keep <= turns+2; keep++ {
				p := opt.Sessions.Rules.Profiles["chat"]
				p.Compaction = profile.Compaction{
					Strategy: strategy, TriggerTokens: 1, VerbatimWindowTokens: 1, MinVerbatimExchanges: keep, MinConfidence: 0.5, RawWindowSize: keep,
					SummarizeEvery: 10, SummaryThreshold: keep, MaxSteps: keep + 2, KeepFirst: 1, KeepLast: keep,
				}
				p.Budget.HistoryTokens = 40 * keep
				opt.Sessions.Rules.Profiles[fmt.Sprintf("%s%d", strategy, keep)] = p
			}
		}
	}
	ts, _ := startCompacting(t, 100_000, upstream.Options{Strict: true}, withCompaction(t, func(p *profile.Profile) { p.Compaction.Enabled = false }), cuts)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	result := func(id string) map[string]any {
		return message("tool", []any{map[string]any{"type": "tool_result", "callId": id, "content": []any{map[string]any{"type": "text", "text": "found " + id}}}})
	}
	messages := []any{
		message("user", "Look at both files."),
		message("assistant", []any{
			map[string]any{"type": "tool_call", "callId": "c1", "name": "read", "args": `{"path":"a"}`},
			map[string]any{"type": "tool_call", "callId": "c2", "name": "read", "args": `{"path":"b"}`},
		}),
		result("c1"), result("c2"), message("assistant", "Both are there."),
	}
	for i := range turns {
		messages = append(messages, message("user", fmt.Sprint("Turn ", i)), message("assistant", fmt.Sprint("Answer to turn ", i)))
	}
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": messages})
	whole := len(messages)
	compacted := make(map[string]int)
	for _, strategy := range strategies {
		for keep := 1; keep <= turns+2; keep++ {
			name := fmt.Sprintf("%s%d", strategy, keep)
			call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": name})
			c := call[compacting.Result](ts, e, "_strata/history/compact", sid, map[string]any{})
			if c.Outcome == "compacted" {
				compacted[strategy]++
			}
			log := ts.stored(sid)
			if view := history.NewLog(log.Heads, log.Edits).View(); len(view) == 0 || view[0].Role != history.RoleUser {
				t.Fatalf("%s: %d messages are kept", name, len(view))
			}
			if _, err := e.Prompt(sid, "Go on."); err != nil { // the provider refuses calls without results
				t.Fatalf("%s: %v", name, err)
			}
			call[map[string]any](ts, e, "_strata/checkpoint/restore", sid, map[string]any{"seq": whole})
		}
	}
	t.Log(compacted)
	for _, strategy := range strategies {
		if compacted[strategy] == 0 {
			t.Errorf("%s cut nothing", strategy)
		}
	}
}

// Prompts sent while a summary is written are answered immediately, stored once, and survive a restart.
func TestK1_06PromptsDuringACompaction(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 100_000, upstream.Options{}, withCompaction(t))
	e, sid := attached(t, ts)
	ts.talk(e, sid, 12)
	r, gate := heldCompaction(ts, s, e, sid)
	for _, marker := range []string{"marker M1", "marker M2"} {
		mustPrompt(t, e, sid, marker)
	}
	close(gate)
	var c compacting.Result
	if err := r.Wait(&c); err != nil || c.Outcome != "compacted" {
		t.Fatalf("%+v, %v", c, err)
	}
	for range 2 {
		var users []string
		for _, m := range transcript(t, e, sid) {
			if m.Role == history.RoleUser && strings.HasPrefix(m.PlainText(), "marker") {
				users = append(users, m.PlainText())
				if !m.InView {
					t.Errorf("%s is in no view", m.PlainText())
				}
			}
		}
		if d := cmp.Diff([]string{"marker M1", "marker M2"}, users); d != "" {
			t.Error(d)
		}
		ts.restart()
		e = ts.editor()
	}
	mustPrompt(t, e, sid, "What was marked?")
	body := string(ts.upstream.Last().Body)
	if !strings.Contains(body, "marker M1") || !strings.Contains(body, "marker M2") || !strings.Contains(body, "The other half.") {
		t.Errorf("the request is %s", body)
	}
}

// A second compaction that is stopped while its summary streams changes nothing, whoever stops it.
func TestK1_07AStoppedCompactionChangesNothing(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"cancelled", "beside a prompt", "the client vanishes", "the session is closed"} {
		t.Run(stop, func(t *testing.T) {
			ts, s := startCompacting(t, 100_000, upstream.Options{}, withCompaction(t))
			e, sid := attached(t, ts)
			ts.talk(e, sid, 12)
			compactNow(ts, e, sid, compaction.Rolling, "compacted")
			ts.talk(e, sid, 10)
			ts.settle(e)
			before, shown := ts.stored(sid), ts.shownNow(sid)
			tiers := tokensOf(ts, e, sid)
			watcher := ts.editor()
			if _, err := watcher.Attach(sid, testclient.Place{}); err != nil {
				t.Fatal(err)
			}
			client := ts.editor()
			gate := make(chan struct{})
			s.says(upstream.Text(strings.Repeat("Half a summary. ", 20)), upstream.Hold(gate), upstream.Text("The other half."))
			r := client.Go("_strata/history/compact", map[string]any{"sessionId": sid, "strategy": compaction.Rolling})
			watcher.Expect(testclient.Sees(sid, "compaction_summary_chunk"))

			applied := false
			switch stop {
			case "cancelled":
				if err := r.Cancel(); err != nil {
					t.Fatal(err)
				}
				if err := r.Wait(nil); err != nil {
					t.Fatal(err)
				}
			case "the session is closed":
				call[map[string]any](ts, e, "session/close", sid, nil)
			case "the client vanishes": // the compaction that it requested continues
				client.Vanish()
				close(gate)
				applied = true
			case "beside a prompt":
				mustPrompt(t, e, sid, "In between.")
				if d := cmp.Diff(shown[1:2], ts.shownNow(sid)[1:2]); d == "" {
					t.Error("the prompt is in no view")
				}
				close(gate)
				applied = true
			}
			ts.settle(watcher)
			after := ts.stored(sid)
			for i := range before.Heads {
				if before.Heads[i] != after.Heads[i] {
					t.Errorf("message %d was %+v, is %+v", i, before.Heads[i], after.Heads[i])
				}
			}
			if applied {
				if last := after.Edits[len(after.Edits)-1]; len(after.Edits) != 2 || !strings.Contains(last.Summary, "The other half.") {
					t.Errorf("applied: %+v", after.Edits)
				}
				return
			}
			ts.restart()
			e = ts.editor()
			if d := cmp.Diff(before.Edits, after.Edits); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(shown, ts.shownNow(sid)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tiers.Tiers, tokensOf(ts, e, sid).Tiers); d != "" {
				t.Error(d)
			}
		})
	}
}

// A failed, empty or truncated summary does not replace the history, and the next compaction can succeed.
func TestK1_09FailedSummaries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script upstream.Script
		reason string
	}{
		{"refused", upstream.Script{Status: 400, Body: `{"error":{"message":"no"}}`}, ""},
		{"empty", upstream.Script{}, compaction.ErrEmpty.Error()},
		{"blank", upstream.Script{Steps: upstream.Texts(" \n")}, compaction.ErrEmpty.Error()},
		{"cut off", upstream.Script{Steps: upstream.Texts("It was decided"), StopReason: "max_tokens"}, compaction.ErrTruncated.Error()},
		{"broken", upstream.Script{Steps: append(upstream.Texts("It was decided"), upstream.Cut())}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ts, s := startCompacting(t, 100_000, upstream.Options{}, withCompaction(t))
			e, sid := attached(t, ts)
			ts.talk(e, sid, 12)
			before, shown := ts.stored(sid), ts.shownNow(sid)
			s.does(func(*upstream.Request) upstream.Script { return tt.script })
			c := compactNow(ts, e, sid, compaction.Rolling, "failed")
			if c.Reason == "" || tt.reason != "" && c.Reason != tt.reason || c.Summary != "" {
				t.Errorf("%+v", c)
			}
			ts.settle(e)
			ts.catchUp(e, sid)
			if got := outcomes(e.Frames(), sid); strings.Join(got, " ") != "running failed" {
				t.Errorf("received: %v", got)
			}
			if after := ts.stored(sid); len(after.Edits) != 0 || len(after.Heads) != len(before.Heads) {
				t.Errorf("%d messages and %d edits", len(after.Heads), len(after.Edits))
			}
			if d := cmp.Diff(shown, ts.shownNow(sid)); d != "" {
				t.Error(d)
			}
			mustPrompt(t, e, sid, "Go on.")
			s.says(upstream.Text(notes))
			if c := compactNow(ts, e, sid, compaction.Rolling, "compacted"); c.Summary != notes || c.By != compaction.ByModel {
				t.Errorf("%+v", c)
			}
		})
	}
}
