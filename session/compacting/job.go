package compacting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/assembly"
	"strata/session/content"
	"strata/session/loop"
	"strata/session/metered"
)

// Streamer makes model calls.
type Streamer interface {
	// Stream sends req and calls on for each event, in order, on the calling goroutine.
	Stream(ctx context.Context, req llm.Request, on func(reply.Event)) (reply.Result, error)
}

// Services are what all sessions of a server share for their compactions.
type Services struct {
	Pool     *compaction.Pool
	Streamer Streamer

	Now   func() time.Time
	NewID func(prefix string) string // prefix + ULID
	// Model returns a model by its name, provider/model; ok is false if no such provider is configured.
	Model func(name string) (m llm.Model, ok bool)
	// LimitWindow makes the window of a model smaller, in tokens, for all sessions.
	LimitWindow func(model string, tokens int)

	DetectionModel, SummaryModel string // provider/model; empty: done without one
}

// job is one compaction, on a copy of the working history that does not change.
type job struct {
	*Services
	state    assembly.State
	strategy compaction.Strategy
	numbers  compaction.Numbers
	draft    func(text string, anew bool) // receives a summary while it is written; anew: what came before does not count
	drafts   int                          // begun so far
	calls    []history.Call               // made so far
	describe func(error) history.Failure  // an error as clients receive it
	tooLong  bool                         // a call was refused for its length, which taught something

	dedupePercent int    // of the history's characters: if copies of files have as many only they leave; 0: none does
	copies        copies // once it is done
}

func (j *job) run(ctx context.Context) compaction.Outcome {
	h, err := historyOf(ctx, &j.state)
	if err != nil {
		return compaction.Outcome{Result: compaction.Failed, Err: err}
	}
	if j.dedupePercent > 0 {
		return j.lighten(ctx, h, j.dedupePercent, func(h compaction.History) compaction.Outcome { return j.compact(ctx, h) })
	}
	return j.compact(ctx, h)
}

// compact makes the compaction. If the model refuses a call for its length the compaction is made once more with the
// window that the refusal told: the history is then summarized in smaller chunks.
func (j *job) compact(ctx context.Context, h compaction.History) compaction.Outcome {
	out := j.compactor().Compact(ctx, h)
	if !j.tooLong || out.Result == compaction.Cancelled {
		return out
	}
	return j.compactor().Compact(ctx, h)
}

// compactor returns a compactor for the models as they are known now.
func (j *job) compactor() *compaction.Compactor {
	var model compaction.Model
	if _, ok := j.Model(j.SummaryModel); ok {
		model = j
	}
	summarizer := compaction.NewSummarizer(model, j.state.Counter, j.limits(j.SummaryModel)).Detecting(j.limits(j.DetectionModel))
	return compaction.New(j.strategy, j.numbers, summarizer)
}

// limits returns the limits of a model in counted tokens, the defaults for one that is not known.
func (j *job) limits(name string) compaction.Limits {
	m, ok := j.Model(name)
	if !ok {
		return compaction.Limits{Window: llm.DefaultWindow}
	}
	measure := j.measure(m)
	return compaction.Limits{Window: measure.Capacity(m.Window), Reply: measure.Capacity(m.MaxOutput)}
}

func (j *job) measure(m llm.Model) assembly.Measure {
	return assembly.Measure{Model: m, Calibrations: j.state.Calibrations, Drift: 1}
}

// historyOf reads the messages of the view, and those evicted without a summary that the next one covers.
func historyOf(ctx context.Context, s *assembly.State) (compaction.History, error) {
	h := outline(s)
	var err error
	if h.Messages, err = texts(ctx, s, compactable(s.View), h.Messages); err != nil {
		return compaction.History{}, err
	}
	heads := unsummarized(s.Evicted)
	evicted, found := make([]history.Viewed, len(heads)), make([]compaction.Message, len(heads))
	for i, head := range heads {
		evicted[i] = history.Viewed{Head: head}
		found[i] = compaction.Message{ID: head.ID, Role: head.Role, Calls: head.HasCalls}
	}
	h.Evicted, err = texts(ctx, s, evicted, found)
	return h, err
}

// maxUnsummarized limits the evicted messages that one compaction summarizes, in bytes of stored content: summaries that fail
// for long let them pile up, and more of them than a model can be asked about would let every later summary fail too.
const maxUnsummarized = maxCondensed / 8

// unsummarized returns the evicted messages that the next summary covers: the oldest, at least one. The others follow.
func unsummarized(evicted []history.Head) []history.Head {
	sum := 0
	for i := range evicted {
		if sum += evicted[i].Bytes; sum > maxUnsummarized && i > 0 {
			return evicted[:i]
		}
	}
	return evicted
}

// texts reads what a plan and a summary see of messages, and adds it to found.
func texts(ctx context.Context, s *assembly.State, view []history.Viewed, found []compaction.Message) ([]compaction.Message, error) {
	messages, err := s.Messages(ctx, view)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		m := &messages[i]
		found[i].Text, found[i].Failed = textOf(m), content.Failed(m)
		if !s.Profile.Loop.Zero() {
			found[i].Text = loop.Text(m, found[i].Text, &s.Profile.Loop)
		}
	}
	return found, nil
}

// textOf returns what a plan and a summary see of a message: its text, and the arguments of tool calls.
func textOf(m *history.Message) string {
	var b strings.Builder
	b.WriteString(m.PlainText())
	for i := range m.Blocks {
		if call := &m.Blocks[i]; call.Type == history.BlockToolCall {
			fmt.Fprintf(&b, "\n%s(%s)", call.Name, call.Args)
		}
	}
	return b.String()
}

// Complete implements compaction.Model with the session's provider. It notes the call and its cost.
func (j *job) Complete(ctx context.Context, c compaction.Call) (compaction.Reply, error) {
	text := func(s string) []history.Block { return []history.Block{{Type: history.BlockText, Text: s}} }
	model := j.SummaryModel
	if c.Purpose == history.PurposeDetection {
		model = j.DetectionModel
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
	call := metered.Begin(j.Now)
	result, err := j.stream(ctx, request, call)
	j.note(ctx, &request, call, &result, err)
	j.learn(ctx, &request, err)
	if err != nil {
		return compaction.Reply{}, err
	}
	summary := history.Message{Blocks: result.Blocks}
	return compaction.Reply{Text: summary.PlainText(), Truncated: result.StopReason == reply.StopMaxTokens}, nil
}

// note notes a call and what it used.
func (j *job) note(ctx context.Context, request *llm.Request, call *metered.Call, result *reply.Result, err error) {
	reply := content.Tokens(ctx, j.state.Counter, result.Blocks) - content.Tokens(ctx, j.state.Counter, nil)
	model, _ := j.Model(request.Model)
	model.Name = request.Model
	measure := j.measure(model)
	spent := call.Spent(&measure, result, err, j.tokens(ctx, request), reply)
	row := history.Call{
		ID: j.NewID("call_"), Purpose: request.Purpose, Model: request.Model, Usage: spent.Usage, Cost: spent.Cost,
		Estimated: spent.Estimated, At: j.Now(),
	}
	status, failure := j.endOf(ctx, err)
	call.Put(&row, status, failure)
	j.calls = append(j.calls, row)
}

// endOf returns how a call ended, and why it did not end by itself.
func (j *job) endOf(ctx context.Context, err error) (history.CallStatus, *history.Failure) {
	switch {
	case err == nil:
		return history.CallComplete, nil
	case ctx.Err() != nil:
		return history.CallStopped, nil
	}
	failure := j.describe(err)
	if errors.Is(err, compaction.ErrTruncated) {
		return history.CallStopped, &failure
	}
	return history.CallFailed, &failure
}

// tokens counts a request.
func (j *job) tokens(ctx context.Context, request *llm.Request) int {
	n := 0
	for i := range request.Entries {
		n += content.Tokens(ctx, j.state.Counter, request.Entries[i].Blocks)
	}
	return n
}

// learn learns from a call that was refused for its length.
func (j *job) learn(ctx context.Context, request *llm.Request, failed error) {
	e, ok := errors.AsType[*llm.Error](failed)
	if !ok || e.Kind != llm.KindContext {
		return
	}
	model, counted := request.Model, j.tokens(ctx, request)
	m, _ := j.Model(model)
	r := assembly.ContextRefusal(e, counted, j.state.Calibrations.Apply(model, counted), request.MaxOutput, m.Window)
	if r.Counted > 0 {
		j.state.Calibrations.Learn(model, counted, r.Counted)
	}
	if r.Window > 0 {
		j.LimitWindow(model, r.Window)
	}
	j.tooLong = true
}

// maxSummary limits the reply of a model in a compaction, in bytes: a model that does not end is stopped there. The longest
// summary that is used is a small part of it.
const maxSummary = 256 << 10

// stream makes a call. The text of a summary is drafted in chunks while it arrives.
func (j *job) stream(ctx context.Context, request llm.Request, call *metered.Call) (reply.Result, error) {
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
	call.Sending()
	result, err := j.Streamer.Stream(ctx, request, func(e reply.Event) {
		call.Event(&e)
		if size += len(e.Text); size > maxSummary {
			stop(compaction.ErrTruncated)
			return
		}
		if e.Kind == reply.EventText {
			d.add(e.Text)
		}
	})
	call.Ended(&result)
	d.flush()
	if cause := context.Cause(ctx); errors.Is(cause, compaction.ErrTruncated) {
		err = cause
	}
	return result, err
}

// draftBytes is the size of a chunk of a summary.
const draftBytes = 200

// draft gathers the deltas of a summary to chunks.
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
