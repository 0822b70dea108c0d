package compacting

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/content"
	"strata/session/profile"
)

// narrow is a provider of models with small windows. It reports calls that they refuse as errors of the test.
type narrow struct {
	t      *testing.T
	st     *stage
	models map[string]llm.Model
	calls  map[string]int // by purpose
}

func (p *narrow) Stream(_ context.Context, req llm.Request, on func(reply.Event)) (reply.Result, error) {
	m, counted := p.models[req.Model], 0
	for i := range req.Entries {
		counted += content.Tokens(context.Background(), p.st.counter(), req.Entries[i].Blocks)
	}
	if n := p.st.learned.Apply(m.Name, counted); n+req.MaxOutput > m.Window || req.MaxOutput > m.MaxOutput || req.MaxOutput <= 0 {
		p.t.Errorf("%s: a call of %d tokens for a reply of %d; the window has %d, the longest reply %d", req.Purpose, n, req.MaxOutput, m.Window, m.MaxOutput)
		return reply.Result{}, &llm.Error{Kind: llm.KindContext}
	}
	p.calls[req.Purpose]++
	if req.Purpose == history.PurposeDetection {
		return said(on, `{"boundary": null, "reason": "one topic", "confidence": 0.9}`, 100)
	}
	return said(on, "Notes."+wordsOf(req.MaxOutput/4), 100)
}

// narrowJob returns a compaction of a long history with models that have the given windows.
func narrowJob(t *testing.T, profileName, strategy string, ratio float64, summary, detection llm.Model, previous int) (*job, *narrow) {
	t.Helper()
	st := newStage(t, profileName, 128_000)
	if previous > 0 {
		st.ask("Begin.")
		st.answer("Begun.")
		ids := []string{st.messages[0].ID, st.messages[1].ID}
		text := "What came before." + wordsOf(previous)
		st.apply(history.Edit{Kind: history.EditCompact, Messages: ids, Summary: text, SummaryTokens: st.counter().Count(text), Strategy: strategy})
	}
	for i := range 24 {
		st.ask(fmt.Sprint("Question ", i, " about the parser.", wordsOf(200)))
		st.answer(fmt.Sprint("Answer ", i, " is in parse.go.", wordsOf(200)))
	}
	for name := range map[string]bool{summary.Name: true, detection.Name: true} {
		if ratio != 1 {
			st.learned.Learn(name, 10_000, int(10_000*ratio))
			for range 40 {
				st.learned.Learn(name, 10_000, int(10_000*ratio))
			}
		}
	}
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	named, err := compaction.Named(strategy)
	if err != nil {
		t.Fatal(err)
	}
	p := &narrow{t: t, st: st, models: map[string]llm.Model{summary.Name: summary, detection.Name: detection}, calls: make(map[string]int)}
	state, rules := st.state(), Rules{Strategy: strategy, Profiles: all}
	ids := 0
	return &job{
		Services: &Services{
			Streamer: p, SummaryModel: summary.Name, DetectionModel: detection.Name, Now: func() time.Time { return time.Unix(7, 0) },
			NewID:       func(prefix string) string { ids++; return fmt.Sprint(prefix, ids) },
			Model:       func(name string) (llm.Model, bool) { m, ok := p.models[name]; return m, ok },
			LimitWindow: func(string, int) {},
		},
		state: state, strategy: named, numbers: numbers(&state, &rules, strategy, true), draft: func(string, bool) {}, describe: described,
	}, p
}

// A model with a small window, or with short replies, summarizes with each strategy that uses one in each profile, also a
// history whose previous summary is longer than its window. The budget of the summary shrinks with it.
func TestF27ASmallModelSummarizes(t *testing.T) {
	for _, profile := range []string{"chat", "steps", "loop", "task", "phased"} {
		for _, strategy := range []string{compaction.Topic, compaction.Rolling, compaction.Prune, compaction.Middle, compaction.Window} {
			for _, small := range []struct {
				window, output int
				ratio          float64
				previous       int
			}{
				{2_048, 2_048, 1, 0}, {4_096, 1_024, 1, 0}, {8_192, 8_192, 1, 0}, {8_192, 300, 1, 0}, {8_192, 200, 1, 0}, {8_192, 4_096, 2, 0}, {32_000, 4_000, 1, 0},
				{8_192, 8_192, 1, 6_000}, {4_096, 1_024, 1, 6_000},
			} {
				model := llm.Model{Name: "local/small", Window: small.window, MaxOutput: small.output}
				job, provider := narrowJob(t, profile, strategy, small.ratio, model, model, small.previous)
				if strategy == compaction.Window {
					job.numbers.RoomTokens, job.numbers.FillTokens = 5_000, 3_500
				}
				out := job.run(t.Context())
				about := fmt.Sprintf("%s, %s, %+v", profile, strategy, small)
				if out.Result != compaction.Compacted || out.Err != nil || out.After >= out.Before {
					t.Errorf("%s: %s, %v, from %d to %d tokens", about, out.Result, out.Err, out.Before, out.After)
				}
				uses := strategy == compaction.Topic || strategy == compaction.Rolling || strategy == compaction.Prune && !job.numbers.NoSummary
				if calls := provider.calls[history.PurposeSummary]; uses != (calls > 0) || uses != (out.By == compaction.ByModel) {
					t.Errorf("%s: %d calls, by %q", about, calls, out.By)
				}
				if uses && out.SummaryTokens > small.output && small.previous == 0 {
					t.Errorf("%s: a summary of %d tokens", about, out.SummaryTokens)
				}
			}
		}
	}
}

// The models for the two purposes have windows of their own. A model whose window has no room for two messages is not asked
// for the newest topic.
func TestF27EachModelHasItsOwnWindow(t *testing.T) {
	large := llm.Model{Name: "local/large", Window: 64_000, MaxOutput: 4_000}
	small := llm.Model{Name: "local/small", Window: 2_600, MaxOutput: 2_000}
	tiny := llm.Model{Name: "local/tiny", Window: 1_100, MaxOutput: 1_000}
	for _, tt := range []struct {
		summary, detection llm.Model
		detections         int
	}{{large, small, 1}, {small, large, 1}, {small, small, 1}, {large, tiny, 0}} {
		job, provider := narrowJob(t, "chat", compaction.Topic, 1, tt.summary, tt.detection, 0)
		out := job.run(t.Context())
		if out.Result != compaction.Compacted || out.Err != nil || out.By != compaction.ByModel {
			t.Errorf("%s and %s: %s, %v", tt.summary.Name, tt.detection.Name, out.Result, out.Err)
		}
		if n := provider.calls[history.PurposeDetection]; n != tt.detections {
			t.Errorf("%s and %s: %d detections", tt.summary.Name, tt.detection.Name, n)
		}
	}
}

// A window without room for anything is refused with its size.
func TestF27AWindowThatIsTooSmall(t *testing.T) {
	tiny := llm.Model{Name: "local/tiny", Window: 900, MaxOutput: 900}
	job, provider := narrowJob(t, "loop", compaction.Rolling, 1, tiny, tiny, 0)
	if out := job.run(t.Context()); out.Result != compaction.Failed || !strings.Contains(fmt.Sprint(out.Err), "900 tokens") || len(provider.calls) > 0 {
		t.Errorf("%s, %v, %v", out.Result, out.Err, provider.calls)
	}
}
