package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// compactionJob is one compaction, on a copy of the working history that does not change.
type compactionJob struct {
	deps     *Deps
	session  string
	view     []history.Viewed
	summary  history.Summary
	strategy compaction.Strategy
	numbers  compaction.Numbers
	counter  *tokens.Counter
	draft    func(text string, anew bool) // told of a summary while it is written; anew: what was told before does not count
	drafts   int                          // begun so far
	calls    []history.Call               // made so far
	tooLong  bool                         // a call was refused for its length, and that taught something

	snap          snapshot
	dedupePercent int    // of the history's characters: where copies of files have as many only they leave; 0: none does
	copies        copies // once it is done
}

func (j *compactionJob) run(ctx context.Context) compaction.Outcome {
	h, err := j.history(ctx)
	if err != nil {
		return compaction.Outcome{Result: compaction.Failed, Err: err}
	}
	if j.dedupePercent > 0 {
		return j.lighten(ctx, h, j.dedupePercent, func(h compaction.History) compaction.Outcome { return j.compact(ctx, h) })
	}
	return j.compact(ctx, h)
}

// compact makes the compaction. Where the model refuses a call for its length it is made once more, with the context that
// the model has shown to have: the history then goes to it in smaller pieces.
func (j *compactionJob) compact(ctx context.Context, h compaction.History) compaction.Outcome {
	out := j.compactor().Compact(ctx, h)
	if !j.tooLong || out.Result == compaction.Cancelled {
		return out
	}
	return j.compactor().Compact(ctx, h)
}

// compactor returns a compactor for the models as they are known now.
func (j *compactionJob) compactor() *compaction.Compactor {
	var model compaction.Model
	window := llm.DefaultWindow
	if m, ok := j.deps.Model(j.deps.SummaryModel); ok {
		s := snapshot{deps: j.deps, model: m, drift: 1}
		model, window = j, s.capacity(m.Window)
	}
	return compaction.New(j.strategy, j.numbers, compaction.NewSummarizer(model, j.counter, window))
}

// learnRefusal learns from a call that was refused for its length.
func (j *compactionJob) learnRefusal(request *llm.Request, failed error) {
	e, ok := errors.AsType[*llm.Error](failed)
	if !ok || e.Kind != llm.KindContext {
		return
	}
	model, counted := request.Model, entryTokens(j.counter, request.Entries)
	m, _ := j.deps.Model(model)
	r := contextRefusal(e, counted, j.deps.Calibrations.Apply(model, counted), request.MaxOutput, m.Window)
	if r.counted > 0 {
		j.deps.Calibrations.Learn(model, counted, r.counted)
	}
	if r.window > 0 {
		j.deps.limitWindow(model, r.window)
	}
	j.tooLong = true
}

// entryTokens counts the entries of a request.
func entryTokens(c *tokens.Counter, entries []llm.Entry) int {
	n := 0
	for i := range entries {
		n += countBlocks(c, entries[i].Blocks)
	}
	return n
}

// history reads the messages of the view.
func (j *compactionJob) history(ctx context.Context) (compaction.History, error) {
	seqs := make([]int64, len(j.view))
	for i, v := range j.view {
		seqs[i] = v.Seq
	}
	messages, err := j.deps.Store.Messages(ctx, j.session, seqs)
	if err != nil {
		return compaction.History{}, fmt.Errorf("read the history of session %s: %w: %w", j.session, ErrStorage, err)
	}
	h := outline(j.view, j.summary)
	for i := range messages {
		m := history.Patched(messages[i], j.view[i].Patches)
		h.Messages[i].Text, h.Messages[i].Failed = j.text(&m), failed(&m)
	}
	return h, nil
}

// compactText is what a plan and a summary see of a message: its text, and what tools were called with.
func compactText(m *history.Message) string {
	var b strings.Builder
	b.WriteString(m.PlainText())
	for i := range m.Blocks {
		if call := &m.Blocks[i]; call.Type == history.BlockToolCall {
			fmt.Fprintf(&b, "\n%s(%s)", call.Name, call.Args)
		}
	}
	return b.String()
}

func failed(m *history.Message) bool {
	for i := range m.Blocks {
		if m.Blocks[i].IsError {
			return true
		}
	}
	return false
}

// Complete implements compaction.Model with the session's provider. It notes the call and what it cost.
func (j *compactionJob) Complete(ctx context.Context, c compaction.Call) (compaction.Reply, error) {
	text := func(s string) []history.Block { return []history.Block{{Type: history.BlockText, Text: s}} }
	model := j.deps.SummaryModel
	if c.Purpose == history.PurposeDetection {
		model = j.deps.DetectionModel
	}
	if model == "" {
		return compaction.Reply{}, compaction.ErrNoModel
	}
	request := llm.Request{
		Model: model, MaxOutput: c.MaxTokens, Temperature: &c.Temperature, Purpose: c.Purpose,
		Entries: []llm.Entry{
			{Kind: llm.EntrySystem, Blocks: text(c.System)},
			{Kind: llm.EntryMessage, Role: history.RoleUser, Blocks: text(c.Prompt)},
		},
	}
	result, err := j.stream(ctx, request)
	j.note(&request, &result, err)
	j.learnRefusal(&request, err)
	if err != nil {
		return compaction.Reply{}, err
	}
	reply := history.Message{Blocks: result.Blocks}
	return compaction.Reply{Text: reply.PlainText(), Truncated: result.StopReason == llm.StopMaxTokens}, nil
}

// note notes a call and what it used; nothing where the provider did not answer.
func (j *compactionJob) note(request *llm.Request, result *llm.Result, err error) {
	if err != nil && !result.UsageReported && len(result.Blocks) == 0 {
		return
	}
	counted, answer := entryTokens(j.counter, request.Entries), 0
	for i := range result.Blocks {
		answer += countBlock(j.counter, &result.Blocks[i])
	}
	model, _ := j.deps.Model(request.Model)
	of := func(n int) int { return j.deps.Calibrations.Apply(request.Model, n) }
	spent := spentBy(result, model, counted, of(counted), of(answer))
	j.calls = append(j.calls, history.Call{
		ID: j.deps.NewID("call_"), Purpose: request.Purpose, Model: request.Model, Usage: spent.usage, Cost: spent.cost,
		Estimated: spent.estimated, At: j.deps.Now(),
	})
}

// maxSummary bounds what a model may answer in a compaction, in bytes: a model that does not end is stopped there. The
// longest summary that is taken is a small part of it.
const maxSummary = 256 << 10

// stream makes a call. What it says of a summary is told in pieces while it comes.
func (j *compactionJob) stream(ctx context.Context, request llm.Request) (llm.Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d := draft{tell: func(string) {}}
	if request.Purpose == history.PurposeSummary {
		anew := j.drafts > 0
		j.drafts++
		d.tell = func(text string) {
			j.draft(text, anew)
			anew = false
		}
	}
	size := 0
	result, err := j.deps.Streamer.Stream(ctx, request, func(e llm.Event) {
		if size += len(e.Text); size > maxSummary {
			stop(compaction.ErrTruncated)
			return
		}
		if e.Kind == llm.EventText {
			d.add(e.Text)
		}
	})
	d.flush()
	if cause := context.Cause(ctx); errors.Is(cause, compaction.ErrTruncated) {
		err = cause
	}
	return result, err
}

// draftBytes is how much of a summary is told at once.
const draftBytes = 200

// draft gathers the deltas of a summary to pieces that are worth telling.
type draft struct {
	tell func(text string)
	held strings.Builder
}

func (d *draft) add(text string) {
	d.held.WriteString(text)
	if d.held.Len() >= draftBytes {
		d.flush()
	}
}

func (d *draft) flush() {
	if d.held.Len() > 0 {
		d.tell(d.held.String())
		d.held.Reset()
	}
}
