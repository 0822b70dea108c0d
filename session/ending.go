package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/events"
	"strata/tokens"
)

// finish ends a turn whose stream has ended, once no partial save is under way.
func (s *Session) finish(t *turn) {
	if t.partial.saving {
		return // partialSaved comes back here
	}
	t.partial.stop()
	t.cancel()
	e := s.newEnding(t)
	s.spawn(func() {
		err := s.deps.Store.Commit(context.WithoutCancel(s.ctx), e.change)
		s.tell(func() { s.finished(e, err) })
	})
}

// ending is all that is to be stored of a turn's end.
type ending struct {
	turn   *turn
	spent  spent // by the turn's model call; zero where the provider did not answer
	change history.Change
	reply  *history.Message // nil where nothing was said
	err    error            // what the client is told
}

func (e *ending) running() *events.Running { return e.turn.running() }

// refusal is what is told to who wants to go on before the ending is stored.
func (e *ending) refusal() error { return e.turn.unsaved() }

// unsaved is what is told to who wants something that has to follow the turn's end, which is not stored.
func (t *turn) unsaved() error { return fmt.Errorf("turn %s: %w", t.record.ID, ErrUnsaved) }

// again tells one more client how the turn ended.
func (e *ending) again(w waiter, seq uint64) {
	e.turn.waiters = append(e.turn.waiters, w)
	result, err := e.result()
	e.turn.answer(result, seq, err)
}

// newEnding settles how t ended.
func (s *Session) newEnding(t *turn) *ending {
	e := &ending{turn: t}
	record := &t.record
	record.EndedAt = s.deps.Now()
	status := s.settleOutcome(e)
	e.spent = s.spent(t)
	record.Usage, record.Cost = e.spent.usage, e.spent.cost

	e.change = history.Change{Session: s.id, End: record, Calls: s.calls(e), Calibration: s.learn(t)}
	if t.answered() {
		s.context.requestAnswered(&t.built, &e.change)
		s.markSent(&t.built)
	}
	e.change.PutFiles, e.change.DropFiles = s.context.takeDirty()
	if blocks := t.outcome.result.Blocks; len(blocks) > 0 {
		e.reply = &history.Message{
			ID: record.ReplyID, Seq: s.context.NextSeq(), Turn: record.ID, Role: history.RoleAssistant, Blocks: blocks,
			Tokens: t.outcome.tokens, At: record.EndedAt, Model: t.model.Name, Status: status,
		}
		e.change.Messages = []history.Message{*e.reply}
	}
	return e
}

// answered reports whether the provider read the request: it reported usage, something of an answer came, or it ended an
// empty one.
func (t *turn) answered() bool {
	return t.built.plan != nil && (t.outcome.result.UsageReported || len(t.outcome.result.Blocks) > 0 || t.outcome.err == nil)
}

// spent returns what the turn's model call used; nothing where the provider did not answer.
func (s *Session) spent(t *turn) spent {
	if !t.answered() {
		return spent{}
	}
	c, model := s.context, t.model
	answer := max(t.outcome.tokens-tokens.MessageOverhead, 0)
	return spentBy(&t.outcome.result, model, t.built.counted, c.calibrated(model, t.built.counted), c.calibrated(model, answer))
}

// learn compares the provider's count of the input with ours.
func (s *Session) learn(t *turn) *history.Calibration {
	if !t.outcome.result.UsageReported || t.outcome.err != nil || t.built.plan == nil {
		return t.calibration
	}
	return s.context.learn(t.model.Name, t.built.counted, t.record.Usage.Context())
}

// markSent notes which files a request held, and lets those go that were wanted once.
func (s *Session) markSent(b *built) {
	for _, f := range b.sent {
		s.context.files.MarkSent(f.path, f.hash, f.whole)
		s.context.dirty[f.path] = true
	}
	var gone []FileChange
	for _, e := range s.context.files.AfterReply() {
		s.context.dirty[e.Path] = true
		gone = append(gone, FileChange{Path: e.Path, Change: "removed", Reason: "wanted once"})
	}
	s.tellFiles(gone...)
}

// settleOutcome sets the turn's status, stop reason and failure, and returns the status of its message.
func (s *Session) settleOutcome(e *ending) history.MessageStatus {
	record, out := &e.turn.record, e.turn.outcome
	switch {
	case e.turn.cancelled:
		record.Status, record.StopReason = history.TurnCancelled, "cancelled"
		return history.StatusCancelled
	case e.turn.stopped:
		record.Status, record.StopReason = history.TurnInterrupted, "cancelled"
		return history.StatusInterrupted
	case out.err != nil:
		failure := s.deps.Describe(fmt.Errorf("turn %s: %w", record.ID, out.err))
		record.Status, record.Failure = history.TurnFailed, &failure
		e.err = &StoredError{Failure: failure}
		return history.StatusFailed
	default:
		record.Status, record.StopReason = history.TurnCompleted, string(out.result.StopReason)
		return history.StatusComplete
	}
}

// calls returns the usage log's row for the turn's model call; none where the provider did not answer.
func (s *Session) calls(e *ending) []history.Call {
	t := e.turn
	if !t.answered() {
		return nil
	}
	return []history.Call{{
		ID: s.deps.NewID("call_"), Turn: t.record.ID, Purpose: history.PurposeTurn, Model: t.model.Name,
		Usage: e.spent.usage, Cost: e.spent.cost, Estimated: e.spent.estimated, Expected: s.context.expected(&t.built), At: t.record.EndedAt,
		Categories: t.built.categories, Documents: t.built.documents, Phase: t.built.phase,
	}}
}

// finished is called with the outcome of storing a turn's end. The client is answered either way; an
// ending that could not be stored is kept and tried again.
func (s *Session) finished(e *ending, err error) {
	t := e.turn
	s.turn = nil
	if err != nil {
		s.keepUnsaved(e, err)
	} else {
		s.saved(e)
	}
	s.emit(Event{Kind: EventUsage, Turn: t.record.ID, Data: s.usageInfo(e)})
	finished := TurnFinished{
		TurnID: t.record.ID, Status: t.record.Status, StopReason: t.record.StopReason,
		Usage: t.record.Usage, Cost: t.record.Cost, Estimated: e.spent.estimated, Error: t.record.Failure,
	}
	if e.reply != nil {
		finished.MessageID = e.reply.ID
	}
	seq := s.emit(Event{Kind: EventTurnFinished, Turn: t.record.ID, Data: finished, Settled: s.context.LastSeq()})
	s.deps.Meter.TurnFinished(t.record.Status, t.record.Usage, t.record.Cost)
	result, failure := e.result()
	t.answer(result, seq, failure)
	s.afterTurn()
}

// saved takes a stored ending into the working history.
func (s *Session) saved(e *ending) {
	s.record.UpdatedAt = e.turn.record.EndedAt
	s.context.end(e)
	s.tellProgress(e.reply)
	s.tellTiers(e.turn.record.ID)
	s.emit(Event{Kind: EventSaved, Turn: e.turn.record.ID, Data: SaveInfo{TurnID: e.turn.record.ID}, Settled: s.context.LastSeq()})
}

func (s *Session) usageInfo(e *ending) UsageInfo {
	model := e.turn.model
	used := e.spent.whole
	if used == 0 {
		used = s.context.calibrated(model, s.context.Tokens())
	}
	return UsageInfo{Used: used, Size: model.Window, Cost: s.context.Totals().Cost}
}

// result is what is told to who waits for the turn. One that was cancelled when its end was on the way to
// the store has the stop reason that the client relies on, whatever is stored.
func (e *ending) result() (PromptResult, error) {
	r := PromptResult{Turn: e.turn.record, LeftOut: e.turn.leftOut}
	if e.turn.cancelled {
		r.Turn.StopReason = "cancelled"
		return r, nil
	}
	return r, e.err
}
