package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"strata/compaction"
	"strata/history"
)

// CompactRequest asks for a compaction.
type CompactRequest struct {
	Strategy string // empty: the session's
	Keep     string // of middle: what stays behind the first pair, one of compaction.MiddleModes; empty: by need
}

// check returns an error for a request that no strategy takes.
func (r *CompactRequest) check(strategy string) error {
	switch {
	case r.Keep == "":
		return nil
	case strategy != compaction.Middle:
		return fmt.Errorf("%w: keep: the strategy %s takes none, only %s does", ErrInvalid, strategy, compaction.Middle)
	case !slices.Contains(compaction.MiddleModes, r.Keep):
		return fmt.Errorf("%w: keep: %q is not one of %s", ErrInvalid, r.Keep, strings.Join(compaction.MiddleModes, ", "))
	}
	return nil
}

// Compacted is how a compaction ended; while it runs its outcome is "running".
type Compacted struct {
	ID       string `json:"compactionId"`
	Outcome  string `json:"outcome"` // compacted, nothing_to_do, no_gain, failed, cancelled, superseded, interrupted
	Strategy string `json:"strategy"`
	By       string `json:"by,omitempty"` // model or words
	Before   int    `json:"before"`       // tokens of the history
	After    int    `json:"after"`
	Summary  string `json:"summary,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// The outcomes of compactions beside the results of package compaction.
const (
	OutcomeRunning     = history.CompactionRunning
	OutcomeSuperseded  = "superseded"  // the view was edited meanwhile
	OutcomeInterrupted = "interrupted" // the server stopped or died
)

// compactionRun is a compaction that is under way. It belongs to the mailbox.
type compactionRun struct {
	id        string
	strategy  string
	gen       int // edits of the view when it began: with another count its result is dropped
	cancel    func()
	stopped   bool // the server stops it
	abandoned bool // it must not be applied: the place behind the newest message is taken by an ending that is not stored
	waiters   []func(Compacted, error)
	copies    copies // of files, once it is done
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
			s.pause = compaction.Backoff{}
			req.Strategy = cmp.Or(req.Strategy, s.strategy())
			if run, err = s.startCompaction(req, true); err != nil {
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
	if _, err := s.startCompaction(CompactRequest{Strategy: s.strategy()}, false); err != nil {
		s.deps.Log.Warn("compaction not started", slog.String("session", s.id), slog.Any("error", err))
	}
}

// compactionDue asks the strategy, which needs no texts for that.
func (s *Session) compactionDue() bool {
	strategy, err := compaction.Named(s.strategy())
	if err != nil {
		return false
	}
	return compaction.New(strategy, s.numbers(s.strategy(), false), nil).Due(outline(s.context.View(), s.context.log.Summary()))
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
func (s *Session) startCompaction(req CompactRequest, asked bool) (*compactionRun, error) {
	name := req.Strategy
	strategy, err := compaction.Named(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := req.check(name); err != nil {
		return nil, err
	}
	if s.context.pendingCalls() {
		return nil, fmt.Errorf("%w: the results of tool calls are missing; compact when they are there", ErrInvalid)
	}
	job := &compactionJob{
		deps: s.deps, session: s.id, view: s.context.View(), summary: s.context.log.Summary(), strategy: strategy,
		numbers: s.numbers(name, asked), counter: s.context.counter,
		snap: s.context.snapshot(s.model, s.thought()), dedupePercent: s.profile.Budget.DedupeSufficesPercent,
	}
	if req.Keep != "" {
		job.numbers.MiddleMode, job.dedupePercent = req.Keep, 0 // what was asked for, whatever copies would save
	}
	run := &compactionRun{id: s.deps.NewID("cmp_"), strategy: name, gen: s.context.editGen}
	job.draft = func(text string, anew bool) { s.tell(func() { s.tellDraft(run, text, anew) }) }
	ended := make(chan struct{})
	run.cancel, err = s.deps.Pool.Submit(s.id, func(ctx context.Context) compaction.Result {
		defer close(ended)
		outcome := s.runCompaction(ctx, job)
		s.tell(func() {
			run.copies = job.copies
			s.compactionDone(run, outcome, job.calls)
		})
		return outcome.Result
	})
	if err != nil {
		return nil, err
	}
	s.spawn(func() { <-ended })
	s.compacting = run
	s.noteCompaction(run, OutcomeRunning, nil)
	s.deps.Changed(s.id, StateCompacting)
	s.tellCompaction(Compacted{ID: run.id, Outcome: OutcomeRunning, Strategy: name, Before: s.context.Tokens(), After: s.context.Tokens()})
	return run, nil
}

// runCompaction runs a job in the pool; a panic in it ends neither the session nor the server.
func (s *Session) runCompaction(ctx context.Context, job *compactionJob) (outcome compaction.Outcome) {
	if err := s.mailbox.Guard(func() { outcome = job.run(ctx) }); err != nil {
		return compaction.Outcome{Result: compaction.Failed, Err: err}
	}
	return outcome
}

// compactionDone takes the outcome of a compaction.
func (s *Session) compactionDone(run *compactionRun, outcome compaction.Outcome, calls []history.Call) {
	s.pause.Note(outcome)
	answer := Compacted{
		ID: run.id, Outcome: string(outcome.Result), Strategy: run.strategy, By: outcome.By,
		Before: s.context.Tokens(), After: s.context.Tokens(),
	}
	if outcome.Err != nil && outcome.Result != compaction.Cancelled {
		answer.Reason = s.deps.Describe(outcome.Err).Message
	}
	switch {
	case outcome.Result == compaction.Compacted:
		s.applyCompaction(run, outcome, calls, answer)
		return
	case outcome.Result == compaction.Cancelled && run.stopped:
		answer.Outcome = OutcomeInterrupted
	}
	s.compactionFailed(run, answer, calls)
}

// compactionFailed stores and tells how a compaction ended that changed nothing.
func (s *Session) compactionFailed(run *compactionRun, answer Compacted, calls []history.Call) {
	s.noteCompaction(run, answer.Outcome, calls)
	s.compactionEnded(run, answer)
}

// applyCompaction stores a compaction as an edit, and then makes it take effect, if the view has not been
// edited since it was begun. While a turn runs it waits for the turn's end: the turn takes the next
// sequence numbers.
func (s *Session) applyCompaction(run *compactionRun, outcome compaction.Outcome, calls []history.Call, answer Compacted) {
	if s.unfinished() != nil {
		s.deferred = append(s.deferred, deferral{
			do: func() { s.applyCompaction(run, outcome, calls, answer) },
			drop: func() {
				answer.Outcome = OutcomeInterrupted
				s.compactionFailed(run, answer, calls)
			},
		})
		return
	}
	edit := history.Edit{
		ID: s.deps.NewID("edit_"), Kind: history.EditCompact, At: s.deps.Now(), Reason: outcome.Plan.Reason, Messages: outcome.Plan.Drop,
		Patches: run.copies.patches, SavedChars: run.copies.chars,
		Summary: outcome.Summary, SummaryTokens: outcome.SummaryTokens, Strategy: run.strategy, SavedTokens: outcome.Before - outcome.After,
	}
	fail := func(err error) {
		switch {
		case errors.Is(err, errEdited):
			answer.Outcome, answer.Reason = OutcomeSuperseded, err.Error()
		case errors.Is(err, errStopped):
			answer.Outcome, answer.Reason = OutcomeInterrupted, err.Error()
		default:
			answer.Outcome, answer.Reason = string(compaction.Failed), s.deps.Describe(err).Message
		}
		s.compactionFailed(run, answer, calls)
	}
	s.enqueue(op{fail: fail, begin: func() (work, error) {
		switch {
		case run.abandoned:
			return nil, errStopped
		case run.gen != s.context.editGen:
			return nil, errEdited
		}
		edit.Seq, edit.Before = s.context.NextSeq(), s.context.Tokens()
		edit.After = edit.Before - edit.SavedTokens
		noted := s.compactionRecord(run, answer.Outcome)
		noted.Seq = edit.Seq
		return s.store("store compaction", history.Change{Edits: []history.Edit{edit}, Calls: calls, Compaction: noted}, func() {
			s.context.apply(edit)
			s.context.count(calls)
			answer.Before, answer.After, answer.Summary = edit.Before, s.context.Tokens(), edit.Summary
			s.contextChanged("compaction")
			s.tellUsage()
			s.compactionEnded(run, answer)
		}), nil
	}})
}

// Why a compaction that was made is not applied.
var (
	errEdited  = errors.New("the history was edited meanwhile")
	errStopped = errors.New("the server stops")
)

// tellUsage tells how full the window is now, which takes a plan of the next request to know.
func (s *Session) tellUsage() {
	cost := s.context.Totals().Cost
	s.account(func(snap snapshot, b built) {
		s.tell(func() {
			s.emit(Event{Kind: EventUsage, Data: UsageInfo{Used: snap.calibrated(b.counted), Size: snap.model.Window, Cost: cost}})
		})
	}, func(error) {})
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

// tellDraft tells the subscribers more of a summary that is being written.
func (s *Session) tellDraft(run *compactionRun, text string, anew bool) {
	if s.compacting != run {
		return
	}
	if anew {
		s.emit(Event{Kind: EventCompactionUpdate, Data: Compacted{ID: run.id, Outcome: OutcomeRunning, Strategy: run.strategy}})
	}
	s.events.EmitChunks(Event{Kind: EventSummaryChunk, Message: run.id, Text: text})
}

// tellCompaction tells the subscribers where a compaction stands.
func (s *Session) tellCompaction(c Compacted) {
	s.emit(Event{Kind: EventCompactionUpdate, Data: c})
	s.emit(Event{Kind: EventCompaction, Data: c})
}
