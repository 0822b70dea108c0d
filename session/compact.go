package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// CompactRequest asks for a compaction.
type CompactRequest struct {
	Strategy string // empty: the session's
}

// Compacted is how a compaction ended; while it runs its outcome is "running".
type Compacted struct {
	ID       string `json:"compactionId"`
	Outcome  string `json:"outcome"` // compacted, nothing_to_do, no_gain, failed, cancelled, superseded
	Strategy string `json:"strategy"`
	By       string `json:"by,omitempty"` // model or words
	Before   int    `json:"before"`       // tokens of the history
	After    int    `json:"after"`
	Summary  string `json:"summary,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// outcomeRunning is a compaction's outcome while there is none.
const outcomeRunning = "running"

// compactionRun is a compaction that is under way. It belongs to the mailbox.
type compactionRun struct {
	id       string
	strategy string
	gen      int // edits of the view when it began: with another count its result is dropped
	cancel   func()
	waiters  []func(Compacted, error)
	copies   copies // of files, once it is done
}

// Compact compacts the history now, and answers when that is done. Where one is under way already the
// answer is that one's. cancel stops it; a compaction that is stopped changes nothing.
func (s *Session) Compact(req CompactRequest, reply func(Compacted, error)) (cancel func()) {
	fail := func(err error) { reply(Compacted{}, err) }
	var own *compactionRun // the mailbox's
	s.post(func() {
		run := s.compacting
		if run == nil {
			var err error
			s.pause = compaction.Pause{}
			if run, err = s.startCompaction(cmp.Or(req.Strategy, s.strategy()), true); err != nil {
				fail(err)
				return
			}
		}
		run.waiters = append(run.waiters, reply)
		own = run
	}, fail)
	return func() {
		s.tell(func() {
			if own != nil && own == s.compacting {
				own.cancel()
			}
		})
	}
}

// strategy is the name of the strategy in force.
func (s *Session) strategy() string {
	if name := s.record.Config.Compaction; name != "" {
		return name
	}
	return s.profile.Compaction.Strategy
}

// compactWhenDue starts a compaction if the strategy wants one. It is called after answers and whenever
// the history has grown, and never holds up anybody.
func (s *Session) compactWhenDue() {
	if !s.profile.Compaction.Enabled || s.compacting != nil || s.unfinished() != nil || s.phase != live || !s.pause.Allows(s.context.Tokens()) {
		return
	}
	if s.context.pendingCalls() || !s.compactionDue() {
		return
	}
	if _, err := s.startCompaction(s.strategy(), false); err != nil {
		s.deps.Log.Warn("compaction not started", slog.String("session", s.id), slog.Any("error", err))
	}
}

// compactionDue asks the strategy, which needs no texts for that.
func (s *Session) compactionDue() bool {
	strategy, err := compaction.Named(s.strategy())
	if err != nil {
		return false
	}
	return compaction.New(strategy, s.numbers(false), nil).Due(outline(s.context.View(), s.context.log.Summary()))
}

// outline is a history without its texts.
func outline(view []history.Viewed, summary history.Summary) compaction.History {
	h := compaction.History{
		Summary: summary.Text, SummaryTokens: summary.Tokens, Summarised: summary.Exchanges, Messages: make([]compaction.Message, len(view)),
	}
	for i, v := range view {
		h.Messages[i] = compaction.Message{ID: v.ID, Role: v.Role, Tokens: v.Tokens, Calls: v.HasCalls}
	}
	return h
}

// pendingCalls reports whether the newest message is tool calls whose results are not there.
func (m *ContextManager) pendingCalls() bool {
	view := m.View()
	return len(view) > 0 && view[len(view)-1].HasCalls
}

// startCompaction hands an unchanging copy of the working history to the pool.
func (s *Session) startCompaction(name string, asked bool) (*compactionRun, error) {
	strategy, err := compaction.Named(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if s.context.pendingCalls() {
		return nil, fmt.Errorf("%w: the results of tool calls are missing; compact when they are there", ErrInvalid)
	}
	job := &compactionJob{
		deps: s.deps, session: s.id, view: s.context.View(), summary: s.context.log.Summary(), strategy: strategy,
		numbers: s.numbers(asked), counter: s.context.counter,
		snap: s.context.snapshot(s.model, s.thought()), dedupePercent: s.profile.Budget.DedupeSufficesPercent,
	}
	run := &compactionRun{id: s.deps.NewID("cmp_"), strategy: name, gen: s.context.editGen}
	s.wg.Add(1)
	run.cancel, err = s.deps.Pool.Submit(s.id, func(ctx context.Context) compaction.Result {
		defer s.wg.Done()
		outcome := s.runCompaction(ctx, job)
		s.tell(func() {
			run.copies = job.copies
			s.compactionDone(run, outcome, job.calls)
		})
		return outcome.Result
	})
	if err != nil {
		s.wg.Done()
		return nil, err
	}
	s.compacting = run
	s.deps.Changed(s.id, StateCompacting)
	s.tellCompaction(Compacted{ID: run.id, Outcome: outcomeRunning, Strategy: name, Before: s.context.Tokens(), After: s.context.Tokens()})
	return run, nil
}

// runCompaction runs a job in the pool; a panic in it ends neither the session nor the server.
func (s *Session) runCompaction(ctx context.Context, job *compactionJob) (outcome compaction.Outcome) {
	defer func() {
		if r := recover(); r != nil {
			outcome = compaction.Outcome{Result: compaction.Failed, Err: s.panicked(r)}
		}
	}()
	return job.run(ctx)
}

// compactionDone takes the outcome of a compaction.
func (s *Session) compactionDone(run *compactionRun, outcome compaction.Outcome, calls []history.Call) {
	s.pause.Note(outcome)
	answer := Compacted{
		ID: run.id, Outcome: string(outcome.Result), Strategy: run.strategy, By: outcome.By,
		Before: s.context.Tokens(), After: s.context.Tokens(),
	}
	if outcome.Err != nil {
		answer.Reason = s.deps.Describe(outcome.Err).Message
	}
	if outcome.Result == compaction.Compacted {
		s.applyCompaction(run, outcome, calls, answer)
		return
	}
	s.noteCalls(calls)
	s.compactionEnded(run, answer)
}

// applyCompaction stores a compaction as an edit, and then makes it take effect, if the view has not been
// edited since it was begun. While a turn runs it waits for the turn's end: the turn takes the next
// sequence numbers.
func (s *Session) applyCompaction(run *compactionRun, outcome compaction.Outcome, calls []history.Call, answer Compacted) {
	if s.unfinished() != nil {
		s.deferred = append(s.deferred, func() { s.applyCompaction(run, outcome, calls, answer) })
		return
	}
	edit := history.Edit{
		ID: s.deps.NewID("edit_"), Kind: history.EditCompact, At: s.deps.Now(), Reason: outcome.Plan.Reason, Messages: outcome.Plan.Drop,
		Patches: run.copies.patches, SavedChars: run.copies.chars,
		Summary: outcome.Summary, SummaryTokens: outcome.SummaryTokens, Strategy: run.strategy, SavedTokens: outcome.Before - outcome.After,
	}
	fail := func(err error) {
		s.noteCalls(calls)
		answer.Outcome, answer.Reason = string(compaction.Failed), err.Error()
		if !errors.Is(err, errEdited) {
			answer.Reason = s.deps.Describe(err).Message
		}
		s.compactionEnded(run, answer)
	}
	s.enqueue(op{fail: fail, begin: func() (work, error) {
		if run.gen != s.context.editGen {
			return nil, errEdited
		}
		edit.Seq, edit.Before = s.context.NextSeq(), s.context.Tokens()
		edit.After = edit.Before - edit.SavedTokens
		return s.store("store compaction", history.Change{Edits: []history.Edit{edit}, Calls: calls}, func() {
			s.context.apply(edit)
			s.context.count(calls)
			answer.Before, answer.After, answer.Summary = edit.Before, s.context.Tokens(), edit.Summary
			s.contextChanged("compaction")
			s.tellUsage()
			s.compactionEnded(run, answer)
		}), nil
	}})
}

var errEdited = errors.New("the history was edited meanwhile")

// tellUsage tells how full the window is now, which takes a plan of the next request to know.
func (s *Session) tellUsage() {
	cost := s.context.Totals().Cost
	s.account(func(snap snapshot, b built) {
		s.tell(func() {
			s.emit(Event{Kind: EventUsage, Data: UsageInfo{Used: snap.calibrated(b.counted), Size: snap.model.Window, Cost: cost}})
		})
	}, func(error) {})
}

// noteCalls stores the model calls of a compaction that changed nothing: they cost all the same.
func (s *Session) noteCalls(calls []history.Call) {
	if len(calls) == 0 {
		return
	}
	s.enqueue(op{
		fail: func(err error) {
			s.deps.Log.Error("model calls of a compaction not recorded", slog.String("session", s.id), slog.Any("error", err))
		},
		begin: func() (work, error) {
			return s.store("record model calls", history.Change{Calls: calls}, func() { s.context.count(calls) }), nil
		},
	})
}

// compactionEnded tells everybody how a compaction ended.
func (s *Session) compactionEnded(run *compactionRun, answer Compacted) {
	s.compacting = nil
	s.lastOutcome = answer.Outcome
	s.deps.Changed(s.id, s.state())
	s.tellCompaction(answer)
	for _, reply := range run.waiters {
		reply(answer, nil)
	}
	s.endIfIdle()
}

// tellCompaction tells the subscribers where a compaction stands.
func (s *Session) tellCompaction(c Compacted) {
	s.emit(Event{Kind: EventCompactionUpdate, Data: c})
	s.emit(Event{Kind: EventCompaction, Data: c})
}

// compactionJob is one compaction, on a copy of the working history that does not change.
type compactionJob struct {
	deps     *Deps
	session  string
	view     []history.Viewed
	summary  history.Summary
	strategy compaction.Strategy
	numbers  compaction.Numbers
	counter  *tokens.Counter
	calls    []history.Call // made so far

	snap          snapshot
	dedupePercent int    // of the history's characters: where copies of files have as many only they leave; 0: none does
	copies        copies // once it is done
}

func (j *compactionJob) run(ctx context.Context) compaction.Outcome {
	h, err := j.history(ctx)
	if err != nil {
		return compaction.Outcome{Result: compaction.Failed, Err: err}
	}
	var model compaction.Model
	window := llm.DefaultWindow
	if m, ok := j.deps.Model(j.deps.SummaryModel); ok {
		model, window = j, m.Window
	}
	compactor := compaction.New(j.strategy, j.numbers, compaction.NewSummarizer(model, j.counter, window))
	if j.dedupePercent > 0 {
		return j.lighten(ctx, h, j.dedupePercent, func(h compaction.History) compaction.Outcome { return compactor.Compact(ctx, h) })
	}
	return compactor.Compact(ctx, h)
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
	result, err := j.deps.Streamer.Stream(ctx, request, func(llm.Event) {})
	if result.Usage != (history.Usage{}) {
		j.calls = append(j.calls, history.Call{
			ID: j.deps.NewID("call_"), Purpose: c.Purpose, Model: model, Usage: result.Usage, Cost: result.Cost, At: j.deps.Now(),
		})
	}
	if err != nil {
		return compaction.Reply{}, err
	}
	reply := history.Message{Blocks: result.Blocks}
	return compaction.Reply{Text: reply.PlainText(), CutOff: result.StopReason == llm.StopMaxTokens}, nil
}
