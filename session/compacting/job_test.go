package compacting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/tokens"
)

// replies is a Streamer with a function for each call.
type replies struct {
	calls []llm.Request
	reply func(ctx context.Context, n int, on func(reply.Event)) (reply.Result, error)
}

func (r *replies) Stream(ctx context.Context, req llm.Request, on func(reply.Event)) (reply.Result, error) {
	r.calls = append(r.calls, req)
	return r.reply(ctx, len(r.calls), on)
}

// said returns the result of a reply and sends it as deltas of some bytes.
func said(on func(reply.Event), text string, delta int) (reply.Result, error) {
	for rest := text; rest != ""; {
		n := min(delta, len(rest))
		on(reply.Event{Kind: reply.EventText, Text: rest[:n]})
		rest = rest[n:]
	}
	return reply.Result{
		Blocks: []history.Block{{Type: history.BlockText, Text: text}}, StopReason: reply.StopEndTurn,
		Usage: history.Usage{Input: 900, Output: 50}, UsageReported: true, Cost: 0.25,
	}, nil
}

// modelJob is a compaction with a model, and what it tells.
type modelJob struct {
	*job
	drafts []string // chunks, "anew: " before each that begins a summary after another one
	window int      // that was learned
}

// modelled returns a compaction of steps, due for a summary, by a model with the replies.
func modelled(t *testing.T, r *replies) *modelJob {
	st := newStage(t, "steps", 32_000)
	for i := range 8 {
		st.ask(fmt.Sprint("step ", i, wordsOf(100)))
		st.answer(fmt.Sprint("done ", i, wordsOf(100)))
	}
	st.ask("Go on.")
	m := &modelJob{job: st.job(true)}
	ids := 0
	m.Services = &Services{
		Streamer: r, SummaryModel: "local/small", Now: func() time.Time { return time.Unix(7, 0) },
		NewID: func(prefix string) string { ids++; return fmt.Sprint(prefix, ids) },
		Model: func(string) (llm.Model, bool) {
			return llm.Model{Name: "local/small", Window: 20_000, MaxOutput: 2_000}, true
		},
		LimitWindow: func(_ string, window int) { m.window = window },
	}
	m.draft = func(text string, anew bool) {
		if anew {
			text = "anew: " + text
		}
		m.drafts = append(m.drafts, text)
	}
	return m
}

// A summary is drafted in chunks of a size that is worth an event, and all of it.
func TestASummaryIsDrafted(t *testing.T) {
	text := strings.TrimSpace(wordsOf(130)) // 649 bytes
	m := modelled(t, &replies{reply: func(_ context.Context, _ int, on func(reply.Event)) (reply.Result, error) { return said(on, text, 7) }})
	if out := m.run(t.Context()); out.Result != compaction.Compacted || out.Summary != text || out.By != compaction.ByModel {
		t.Fatalf("%+v", out)
	}
	sizes := make([]int, len(m.drafts))
	for i, chunk := range m.drafts {
		sizes[i] = len(chunk)
	}
	if diff := cmp.Diff([]int{203, 203, 203, 40}, sizes); diff != "" || strings.Join(m.drafts, "") != text {
		t.Errorf("drafted %q: %s", m.drafts, diff)
	}
	want := []history.Call{{
		ID: "call_1", Purpose: history.PurposeSummary, Model: "local/small", Usage: history.Usage{Input: 900, Output: 50}, Cost: 0.25, At: time.Unix(7, 0),
		Status: history.CallComplete, FirstToken: 1,
	}}
	if diff := cmp.Diff(want, m.calls); diff != "" {
		t.Errorf("calls: %s", diff)
	}
}

// A call that is refused for its length is made once more, with what the refusal told; after other errors nothing is made
// again, and nothing is learned from them.
func TestASummaryThatIsRefused(t *testing.T) {
	tooLong := &llm.Error{Kind: llm.KindContext, Limit: 9_000}
	overloaded := &llm.Error{Kind: llm.KindOverloaded, Limit: 9_000, Counted: 50_000}
	for name, tt := range map[string]struct {
		errs   []error // of the calls; further ones succeed
		result compaction.Result
		calls  int
		drafts []string
		window int
	}{
		"no error":               {nil, compaction.Compacted, 1, []string{"Well done."}, 0},
		"too long":               {[]error{tooLong}, compaction.Compacted, 2, []string{"begun", "anew: Well done."}, 9_000},
		"too long, and again":    {[]error{tooLong, tooLong}, compaction.Failed, 2, []string{"begun", "anew: begun"}, 9_000},
		"another one":            {[]error{overloaded}, compaction.Failed, 1, []string{"begun"}, 0},
		"no error of a provider": {[]error{errors.New("broken")}, compaction.Failed, 1, []string{"begun"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &replies{reply: func(_ context.Context, n int, on func(reply.Event)) (reply.Result, error) {
				if n > len(tt.errs) {
					return said(on, "Well done.", 100)
				}
				on(reply.Event{Kind: reply.EventText, Text: "begun"})
				return reply.Result{}, tt.errs[n-1]
			}}
			m := modelled(t, r)
			out := m.run(t.Context())
			if out.Result != tt.result || len(r.calls) != tt.calls || m.window != tt.window {
				t.Errorf("%s: %v after %d calls, a window of %d is known", out.Result, out.Err, len(r.calls), m.window)
			}
			if diff := cmp.Diff(tt.drafts, m.drafts); diff != "" {
				t.Errorf("drafts: %s", diff)
			}
			if known := m.state.Calibrations.Known("local/small"); known {
				t.Error("a count was learned that no refusal told")
			}
		})
	}
}

// A refusal that tells the provider's count teaches that.
func TestARefusalTeachesTheCount(t *testing.T) {
	r := &replies{}
	var m *modelJob
	r.reply = func(_ context.Context, n int, on func(reply.Event)) (reply.Result, error) {
		if n > 1 {
			return said(on, "Well done.", 100)
		}
		return reply.Result{}, &llm.Error{Kind: llm.KindContext, Counted: m.tokens(t.Context(), &r.calls[0]) * 3 / 2}
	}
	m = modelled(t, r)
	if out := m.run(t.Context()); out.Result != compaction.Compacted || len(m.calls) != 2 || m.calls[0].Status != history.CallFailed || m.calls[0].Usage != (history.Usage{}) {
		t.Errorf("%+v, noted are %+v", out, m.calls)
	}
	if got := m.state.Calibrations.Apply("local/small", 1000); got < 1_400 || got > 1_600 {
		t.Errorf("1,000 tokens are taken for %d", got)
	}
}

// A model that does not end is stopped, and its text is no summary.
func TestASummaryHasALimit(t *testing.T) {
	for size, want := range map[int]compaction.Result{maxSummary: compaction.NoGain, maxSummary + 1: compaction.Failed} {
		stopped := false
		m := modelled(t, &replies{reply: func(ctx context.Context, _ int, on func(reply.Event)) (reply.Result, error) {
			result, err := said(on, strings.Repeat("x", size), 1<<10)
			stopped = ctx.Err() != nil
			return result, err
		}})
		out := m.run(t.Context())
		if out.Result != want || stopped != (want == compaction.Failed) || errors.Is(out.Err, compaction.ErrTruncated) != stopped {
			t.Errorf("%d bytes: %s, %v, stopped %t", size, out.Result, out.Err, stopped)
		}
	}
}

// condensed returns the edit by which a way shortens the history of a stage, and checks what it says that it saves.
func condensed(t *testing.T, st *stage, by Condensation, evicted []history.Viewed) (history.Edit, bool) {
	t.Helper()
	state, rules := st.state(), st.rules()
	edit, ok, err := Condense(t.Context(), &state, &rules, by, evicted)
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		before := state.HistoryTokens
		st.apply(edit)
		if after := st.state(); before-after.HistoryTokens != edit.SavedTokens || edit.Before != before || edit.After != after.HistoryTokens {
			t.Errorf("the history went from %d to %d tokens; the edit says %d to %d, %d saved", before, after.HistoryTokens, edit.Before, edit.After, edit.SavedTokens)
		}
	}
	return edit, ok
}

func TestMessagesThatDoNotFitAreCondensed(t *testing.T) {
	newest := func(*stage) {}
	for name, tt := range map[string]struct {
		set     func(*stage)
		profile string
		evicted int // of five messages
		want    bool
	}{
		"some":                  {newest, "chat", 2, true},
		"none":                  {newest, "chat", 0, false},
		"the newest one, too":   {newest, "chat", 5, false},
		"steps with summaries":  {newest, "steps", 2, true},
		"steps without":         {func(st *stage) { st.profile.Compaction.SummaryThreshold = 0 }, "steps", 2, false},
		"no room for summaries": {func(st *stage) { st.profile.Compaction.SummaryBudgetTokens = 0 }, "chat", 2, false},
		"after an earlier summary": {func(st *stage) {
			st.apply(history.Edit{Kind: history.EditCompact, Summary: wordsOf(80), SummaryTokens: 80})
		}, "chat", 2, true},
		"calls whose results are not there yet": {func(st *stage) {
			st.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "c", Name: "run", Args: "{}"})
		}, "chat", 2, false},
		"a threshold of 0 in a profile of talks": {func(st *stage) { st.profile.Compaction.SummaryThreshold = 0 }, "chat", 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, tt.profile, 32_000)
			for i := range 4 {
				st.say([]history.Role{history.RoleUser, history.RoleAssistant}[i%2], text(fmt.Sprint("message ", i, wordsOf(300))))
			}
			st.ask("Go on.")
			tt.set(st)
			state := st.state()
			edit, ok := condensed(t, st, byNeed, state.View[:tt.evicted])
			if ok != tt.want || ok && (edit.Summary == "" || len(edit.Messages) != tt.evicted) {
				t.Errorf("condensed %t: %+v", ok, edit)
			}
		})
	}
}

// What precedes a topic that was found by words is summarized: the topic can be a wrong one.
func TestATopicFoundByWordsDropsNothing(t *testing.T) {
	st := newStage(t, "chat", 13_000)
	talk := func(words string, n int) {
		for i := range n {
			st.ask(fmt.Sprintf("%s %d? %s", words, i, strings.Repeat(words+" ", 40)))
			st.answer(fmt.Sprintf("%s %d. %s", words, i, strings.Repeat(words+" ", 60)))
		}
	}
	talk("lexer token rune scanner literal", 12)
	talk("billing invoice customer refund tax", 3)
	state, rules := st.state(), st.rules()
	h, err := historyOf(t.Context(), &state)
	if err != nil {
		t.Fatal(err)
	}
	n := numbers(&state, &rules, rules.Strategy, true)
	strategy, err := compaction.Named(rules.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	out := compaction.New(strategy, n, compaction.NewSummarizer(nil, tokens.For(""), compaction.Limits{})).Compact(t.Context(), h)
	if out.Result != compaction.Compacted || out.Plan.Confidence == 0 {
		t.Fatalf("the words show no new topic: %+v", out)
	}
	if out.Summary == "" {
		t.Errorf("%d messages leave without a summary", len(out.Plan.Drop))
	}
	if edit, ok := condensed(t, st, byStrategy, nil); !ok || edit.Summary == "" {
		t.Errorf("condensed %t: %d messages leave, reason %q, without a summary", ok, len(edit.Messages), edit.Reason)
	}
}

// What the copies of files save is saved whatever follows, unless the compaction is cancelled or there are none.
func TestCopiesLeaveWithACompaction(t *testing.T) {
	ctx := context.Background()
	for name, tt := range map[string]struct {
		copies int // of the file
		result compaction.Result
		want   compaction.Result
		leave  bool
	}{
		"compacted":            {4, compaction.Compacted, compaction.Compacted, true},
		"nothing more to do":   {4, compaction.NothingToDo, compaction.Compacted, true},
		"failed":               {4, compaction.Failed, compaction.Compacted, true},
		"cancelled":            {4, compaction.Cancelled, compaction.Cancelled, false},
		"no copies":            {1, compaction.NothingToDo, compaction.NothingToDo, false},
		"no copies, compacted": {1, compaction.Compacted, compaction.Compacted, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, "task", 64_000)
			for i := range tt.copies {
				st.call("--- FULL CONTENT: a.go ---\n" + strings.ReplaceAll(linesOf("a", 80), "value", fmt.Sprint("v", i)))
				st.answer("seen")
			}
			j := st.job(true)
			h, err := historyOf(ctx, &j.state)
			if err != nil {
				t.Fatal(err)
			}
			before := h.Tokens()
			out := j.lighten(ctx, h, 101, func(h compaction.History) compaction.Outcome { // no copies suffice
				if got := h.Tokens(); got != before-j.copies.tokens {
					t.Errorf("a history of %d tokens is compacted, of %d without copies", got, before-j.copies.tokens)
				}
				return compaction.Outcome{Result: tt.result, Before: h.Tokens(), After: h.Tokens()}
			})
			if out.Result != tt.want || out.Before != before || (len(j.copies.patches) > 0) != tt.leave {
				t.Errorf("%+v, %d copies leave", out, len(j.copies.patches))
			}
			if out.After != before-j.copies.tokens || (j.copies.tokens > 0) != tt.leave {
				t.Errorf("%d tokens are left of %d, copies save %d", out.After, before, j.copies.tokens)
			}
		})
	}
}

// Topics and summaries have models of their own; a reply that ends at its limit is truncated.
func TestEachPurposeHasItsModel(t *testing.T) {
	stop := reply.StopEndTurn
	r := &replies{reply: func(_ context.Context, _ int, on func(reply.Event)) (reply.Result, error) {
		result, err := said(on, "Well done.", 100)
		result.StopReason = stop
		return result, err
	}}
	m := modelled(t, r)
	call := compaction.Call{Purpose: history.PurposeDetection, System: "s", Prompt: "p", MaxTokens: 70}
	if _, err := m.Complete(t.Context(), call); !errors.Is(err, compaction.ErrNoModel) || len(r.calls) != 0 {
		t.Errorf("without a model for topics: %v, %d calls", err, len(r.calls))
	}
	m.DetectionModel = "local/quick"
	for _, tt := range []struct {
		purpose, model string
		stop           reply.StopReason
	}{
		{history.PurposeDetection, "local/quick", reply.StopEndTurn}, {history.PurposeSummary, "local/small", reply.StopEndTurn}, {history.PurposeSummary, "local/small", reply.StopMaxTokens},
	} {
		call.Purpose, stop = tt.purpose, tt.stop
		got, err := m.Complete(t.Context(), call)
		if err != nil || got.Text != "Well done." || got.Truncated != (tt.stop == reply.StopMaxTokens) {
			t.Errorf("%+v: %+v, %v", tt, got, err)
		}
		if req := r.calls[len(r.calls)-1]; req.Model != tt.model || req.MaxOutput != 70 || req.Purpose != tt.purpose {
			t.Errorf("%+v: asked is %s for %d tokens", tt, req.Model, req.MaxOutput)
		}
	}
}

// Calls that did not end are noted with their status. What a call used is estimated if the provider received it.
func TestCallsThatDidNotEndAreNoted(t *testing.T) {
	refused := &llm.Error{Kind: llm.KindOverloaded}
	for name, tt := range map[string]struct {
		result reply.Result
		err    error
		stops  bool
		want   history.CallStatus
	}{
		"refused":         {reply.Result{Attempts: 5}, refused, false, history.CallFailed},
		"broken off":      {reply.Result{Attempts: 1, Received: true, Blocks: []history.Block{{Type: history.BlockText, Text: "Well done."}}}, refused, false, history.CallFailed},
		"stopped":         {reply.Result{Attempts: 1, Received: true}, context.Canceled, true, history.CallStopped},
		"stopped, unsent": {reply.Result{}, context.Canceled, true, history.CallStopped},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			m := modelled(t, &replies{reply: func(context.Context, int, func(reply.Event)) (reply.Result, error) {
				if tt.stops {
					stop()
				}
				return tt.result, tt.err
			}})
			m.run(ctx)
			if len(m.calls) != 1 {
				t.Fatalf("%d calls", len(m.calls))
			}
			c := m.calls[0]
			if c.Status != tt.want || c.Attempts != tt.result.Attempts || (c.Failure != nil) != (tt.want == history.CallFailed) {
				t.Errorf("%+v", c)
			}
			if received := tt.result.Received; c.Estimated != received || (c.Usage.Input > 0) != received || (c.Usage.Output > 0) != (len(tt.result.Blocks) > 0) {
				t.Errorf("received %v: %+v", received, c)
			}
		})
	}
}
