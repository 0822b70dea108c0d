package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/server/wire"
	"strata/session"
	"strata/session/assembly"
	"strata/session/compacting"
	"strata/tokens"
)

// dense is a provider that counts 2.2 times as many tokens as Strata.
func dense(context int, dialect upstream.Dialect) upstream.Options {
	return upstream.Options{Strict: true, Count: tokens.For(tokens.O200k).Count, Factor: 2.2, Context: context, Dialect: dialect}
}

// startChat starts a server with the default profile on a provider, with automatic compaction without a model.
func startChat(t *testing.T, up upstream.Options, models map[string]llm.ModelConfig, adjust ...func(*Options)) *testServer {
	t.Helper()
	ts := &testServer{t: t, upstream: upstream.Start(up), dir: t.TempDir(), work: t.TempDir(), models: models}
	t.Cleanup(ts.upstream.Close)
	ts.start(append([]func(*Options){withCompaction(t), func(o *Options) {
		o.Sessions.SummaryModel, o.Sessions.DetectionModel = "", ""
	}}, adjust...)...)
	return ts
}

// talk returns a text of n tokens, different for each number.
func talk(number, n int) string {
	var b strings.Builder
	for i := 0; i < n/12; i++ {
		fmt.Fprintf(&b, "Part %d of topic %d lives in pkg/topic%d/file%d.go.\n", i, number, number, i)
	}
	return b.String()
}

// compactions returns the outcomes of compactions that a client has received.
func compactions(t testing.TB, frames testclient.Frames) (ended []compacting.Result) {
	t.Helper()
	for _, f := range frames.Kind("compaction") {
		var c compacting.Result
		if err := json.Unmarshal(f.Params, &c); err != nil {
			t.Fatal(err)
		}
		if c.Outcome != compacting.Running {
			ended = append(ended, c)
		}
	}
	return ended
}

// noneForgotten fails if messages were removed from the view without a summary.
func noneForgotten(t testing.TB, e *testclient.Editor, sid string) {
	t.Helper()
	for _, m := range transcript(t, e, sid) {
		if !m.InView && m.View.State != history.HiddenSummarised {
			t.Fatalf("message %d is %q without a summary", m.Seq, m.View.State)
		}
	}
}

func TestF16TriggersAreWhatTheProviderCounts(t *testing.T) {
	long(t)
	t.Parallel()
	ts := startChat(t, dense(0, upstream.Numbers), map[string]llm.ModelConfig{"local/test": {Window: 60_000, MaxOutput: 8_000}})
	e, sid := attached(t, ts)
	for i := range 40 {
		reply := mustPrompt(t, e, sid, talk(i, 600))
		ts.settle(e)
		if out := leftOutOf(t, reply); len(out) > 0 {
			t.Fatalf("prompt %d: omitted %v", i, out)
		}
		status := call[compacting.Status](ts, e, "_strata/context/compaction", sid, nil)
		if status.TriggerTokens != 24_000 {
			t.Fatalf("prompt %d: the trigger is %d", i, status.TriggerTokens)
		}
		if used := ts.upstream.Last().Tokens(); used > 24_000+3_000 {
			t.Fatalf("prompt %d: %d tokens were sent, the trigger is 24,000", i, used)
		}
	}
	noneForgotten(t, e, sid)
	if all := compactions(t, e.Frames()); len(all) == 0 || all[0].Outcome != "compacted" {
		t.Errorf("compactions: %+v", all)
	}
}

// The provider allows 8,192 tokens for a model with an assumed window of 128,000, and counts 2.2 times as many tokens:
// in a session that grows, and with a first request that is too long.
func TestF14TheContextIsLearned(t *testing.T) {
	t.Parallel()
	for name, dialect := range map[string]upstream.Dialect{
		"numbers": upstream.Numbers, "completed": upstream.Completed, "limit": upstream.LimitOnly, "silent": upstream.Silent,
	} {
		for _, model := range []string{"local/test", "claude/test"} {
			t.Run(name+" "+model, func(t *testing.T) {
				t.Parallel()
				ts := startChat(t, dense(8_192, dialect), map[string]llm.ModelConfig{model: {Window: 128_000, MaxOutput: 4_096}},
					func(o *Options) { o.Sessions.DefaultConfig.Model = model })
				e, sid := attached(t, ts)
				told := false
				for i := range 40 {
					reply := mustPrompt(t, e, sid, talk(i, 300))
					told = told || strings.Contains(rawOf(reply.Frames.Kind("notice")), "the request was shortened")
					ts.settle(e)
				}
				noneForgotten(t, e, sid)
				if all := compactions(t, e.Frames()); len(all) == 0 {
					t.Error("nothing was compacted")
				}
				if !told {
					t.Error("there is no notice about the reduced request")
				}
				b := call[assembly.Budget](ts, e, "_strata/context/budget", sid, nil)
				if dialect != upstream.Silent && b.MaxInputTokens != 8_192 || b.MaxInputTokens > 12_000 {
					t.Errorf("the budget's window is %d", b.MaxInputTokens)
				}
				other := e.NewSession(ts.work)
				if b := call[assembly.Budget](ts, e, "_strata/context/budget", other, nil); b.MaxInputTokens > 12_000 {
					t.Errorf("another session's window is %d", b.MaxInputTokens)
				}
			})
		}
	}
}

func TestF14TheFirstRequestOfALongHistory(t *testing.T) {
	t.Parallel()
	for name, dialect := range map[string]upstream.Dialect{"numbers": upstream.Numbers, "limit": upstream.LimitOnly, "silent": upstream.Silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts := startChat(t, dense(8_192, dialect), map[string]llm.ModelConfig{"local/test": {Window: 128_000, MaxOutput: 4_096}})
			e, sid := attached(t, ts)
			var turns []string
			for i := range 20 {
				turns = append(turns, "user", talk(i, 300), "assistant", talk(100+i, 100))
			}
			appendTo(ts, e, sid, turns...)
			reply := mustPrompt(t, e, sid, "Which topics were there?")
			if n := len(ts.upstream.Requests()); n < 2 || n > 4 {
				t.Errorf("%d requests were sent", n)
			}
			sizes := []int{}
			for _, r := range ts.upstream.Requests() {
				sizes = append(sizes, r.Tokens())
			}
			if !slices.IsSortedFunc(sizes, func(a, b int) int { return b - a }) {
				t.Errorf("the requests had %v tokens", sizes)
			}
			if notices := rawOf(reply.Frames.Kind("notice")); !strings.Contains(notices, "the request was shortened") {
				t.Errorf("notices: %s", notices)
			}
			noneForgotten(t, e, sid)
			mustPrompt(t, e, sid, "go on")
		})
	}
}

func TestF14WithoutRoomTheProvidersWordsRemain(t *testing.T) {
	t.Parallel()
	ts := startChat(t, dense(600, upstream.Numbers), nil)
	e, sid := attached(t, ts)
	_, err := e.Prompt(sid, talk(1, 2_000))
	if fault := wireFault(t, err, wire.CodeProvider); !strings.Contains(fault.Message, "600 tokens") {
		t.Errorf("received %q", fault.Message)
	}
	if n := len(ts.upstream.Requests()); n != 1 {
		t.Errorf("%d requests, although nothing can be omitted", n)
	}
	mustPrompt(t, e, sid, "short")
}

// The summary model has a smaller window than assumed, and counts more tokens.
func TestF14ACompactionGoesOnInSmallerPieces(t *testing.T) {
	t.Parallel()
	for name, dialect := range map[string]upstream.Dialect{"numbers": upstream.Numbers, "limit": upstream.LimitOnly} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts, scribe := startCompacting(t, 128_000, dense(8_192, dialect), withCompaction(t))
			scribe.says(upstream.Texts("Decided: many topics in pkg.")...)
			e, sid := attached(t, ts)
			var turns []string
			for i := range 14 {
				turns = append(turns, "user", talk(i, 500), "assistant", talk(100+i, 200))
			}
			appendTo(ts, e, sid, turns...)
			ts.settle(e)
			ts.catchUp(e, sid)
			all := compactions(t, e.Frames())
			if len(all) == 0 {
				all = append(all, call[compacting.Result](ts, e, "_strata/history/compact", sid, nil))
			}
			if c := all[0]; c.Outcome != "compacted" || c.By != "model" {
				t.Fatalf("%+v", c)
			}
			if scribe.times() < 3 {
				t.Errorf("the summary was made in %d calls", scribe.times())
			}
			mustPrompt(t, e, sid, "go on")
			noneForgotten(t, e, sid)
		})
	}
}

func TestF12MissingUsageIsCounted(t *testing.T) {
	t.Parallel()
	price := llm.Price{Input: 3, Output: 15}
	ts := startChat(t, upstream.Options{Strict: true}, map[string]llm.ModelConfig{"local/test": {Price: &price}})
	ts.upstream.Choose(func(req *upstream.Request) upstream.Script {
		script := upstream.Default(req)
		script.NoUsage = true
		return script
	})
	e, sid := attached(t, ts)
	reply := mustPrompt(t, e, sid, talk(1, 600))
	page := call[wire.UsagePage](ts, e, "_strata/usage/list", sid, nil)
	if len(page.Calls) != 1 {
		t.Fatalf("%d calls", len(page.Calls))
	}
	c := page.Calls[0]
	if !c.Estimated || c.Input < 500 || c.Input > 900 || c.Output < 50 || c.Output > 200 {
		t.Errorf("%+v", c)
	}
	if want := (float64(c.Input)*3 + float64(c.Output)*15) / 1e6; c.Cost != want {
		t.Errorf("cost %v, want %v", c.Cost, want)
	}
	if page.Totals.Usage != c.Usage || page.Totals.Cost != c.Cost {
		t.Errorf("totals %+v", page.Totals)
	}
	if finished := rawOf(reply.Frames.Kind("turn_finished")); !strings.Contains(finished, `"estimated":true`) {
		t.Errorf("finished: %s", finished)
	}
	assembled := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, nil)
	committed := call[session.Committed](ts, e, "_strata/context/commit", sid, map[string]any{
		"assemblyId": assembled.AssemblyID, "messages": []any{map[string]any{"role": "assistant", "content": tokensLong(200)}},
	})
	if !committed.Estimated || committed.Usage.Input < assembled.Tokens-10 || committed.Usage.Output != 200 {
		t.Errorf("committed %+v of %d tokens", committed, assembled.Tokens)
	}
	ts.close()
	ts.start()
	again := call[wire.UsagePage](ts, resume(ts, sid), "_strata/usage/list", sid, nil)
	if len(again.Calls) != 2 || !again.Calls[0].Estimated || again.Calls[0].Usage != c.Usage || !again.Calls[1].Estimated {
		t.Errorf("after a restart %+v", again.Calls)
	}
}

// A provider reports only the uncached part of its input.
func TestF12PartialReportsTeachNothing(t *testing.T) {
	t.Parallel()
	ts := startChat(t, upstream.Options{Strict: true}, nil)
	ts.upstream.Choose(func(req *upstream.Request) upstream.Script {
		script := upstream.Default(req)
		script.Usage = upstream.Usage{Input: req.Tokens() / 25, Output: 10}
		return script
	})
	e, sid := attached(t, ts)
	for i := range 6 {
		reply := mustPrompt(t, e, sid, talk(i, 600))
		b := call[assembly.Budget](ts, e, "_strata/context/budget", sid, nil)
		sent := ts.upstream.Last().Tokens()
		if b.Calibrated || b.Used < sent/2 {
			t.Errorf("prompt %d: the budget uses %d of a request of %d, calibrated: %v", i, b.Used, sent, b.Calibrated)
		}
		if used := usedOf(t, reply); used < sent/2 {
			t.Errorf("prompt %d: %d tokens are reported as used of %d", i, used, sent)
		}
	}
	page := call[wire.UsagePage](ts, e, "_strata/usage/list", sid, nil)
	if c := page.Calls[5]; c.Estimated || c.Input != ts.upstream.Last().Tokens()/25 {
		t.Errorf("the reported figures are %+v", c)
	}
}

// usedOf returns the used part of the window in the last usage update of a reply.
func usedOf(t testing.TB, reply testclient.Reply) int {
	t.Helper()
	all := reply.Frames.Kind("usage_update")
	if len(all) == 0 {
		t.Fatal("no usage update")
	}
	var params struct{ Update struct{ Used int } }
	if err := json.Unmarshal(all[len(all)-1].Params, &params); err != nil {
		t.Fatal(err)
	}
	return params.Update.Used
}
