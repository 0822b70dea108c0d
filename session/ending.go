package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/assembly"
	"strata/session/content"
	"strata/session/events"
	"strata/session/loop"
	"strata/session/saving"
	"strata/tokens"
)

// ending is the result of a turn with everything that is stored of it.
type ending struct {
	turn   *turn
	spent  assembly.Spent // by the turn's model call; zero if the provider did not answer
	change history.Change
	reply  *history.Message // nil if the turn ended before the model said anything; a complete reply can be empty
	err    error            // for the client
	kept   bool             // in a recovery file
}

// finish ends a turn whose stream has ended. It waits for no partial save: one that begins later is refused by the store.
func (t *turns) finish(of *turn) {
	of.partial.Stop()
	of.stop()
	e := t.newEnding(of)
	t.mailbox.Spawn(func() {
		err := saving.Commit(context.WithoutCancel(t.mailbox.Context()), t.deps.Store, e.change)
		t.tell(func() { t.finished(e, err) })
	})
}

// newEnding returns the result of a turn.
func (t *turns) newEnding(of *turn) *ending {
	e := &ending{turn: of}
	record := &of.record
	record.EndedAt = t.deps.Now()
	status := t.setStatus(e)
	measure := t.context.Measure(of.model)
	if of.answered() {
		e.spent = measure.SpentBy(&of.outcome.result, of.built.Counted, max(of.outcome.tokens-tokens.MessageOverhead, 0))
	}
	record.Usage, record.Cost = e.spent.Usage, e.spent.Cost

	e.change = history.Change{Session: t.id, End: record, Calls: t.calls(e), Calibration: t.learn(of)}
	if of.answered() {
		t.core.answered(&of.built, &e.change)
	}
	t.workspace.TakeDirty(&e.change)
	if blocks := of.outcome.result.Blocks; len(blocks) > 0 || status == history.StatusComplete {
		if blocks == nil {
			blocks = []history.Block{}
		}
		e.reply = &history.Message{
			ID: record.ReplyID, Seq: t.context.NextSeq(), Turn: record.ID, Role: history.RoleAssistant, Blocks: blocks,
			Tokens: of.outcome.tokens, At: record.EndedAt, Model: of.model.Name, Status: status, Meta: loop.Timed(&t.choices.Profile.Loop, of.meta, record.EndedAt.Sub(record.StartedAt)),
		}
		e.change.Messages = []history.Message{*e.reply}
	}
	e.change.Edits = t.unanswered(record, e.reply != nil)
	return e
}

// answered reports whether the provider read the request: it reported usage, a part of a reply came, or it ended an empty
// reply.
func (t *turn) answered() bool {
	return t.built.Plan != nil && (t.outcome.result.UsageReported || len(t.outcome.result.Blocks) > 0 || t.outcome.err == nil)
}

// learn compares the provider's count of the input with ours.
func (t *turns) learn(of *turn) *history.Calibration {
	if !of.outcome.result.UsageReported || of.outcome.err != nil || of.built.Plan == nil {
		return of.calibration
	}
	return t.context.Learn(of.model.Name, of.built.Counted, of.record.Usage.Context())
}

// setStatus sets the turn's status, stop reason and failure, and returns the status of its message.
func (t *turns) setStatus(e *ending) history.MessageStatus {
	record, out := &e.turn.record, e.turn.outcome
	switch {
	case e.turn.cancelled:
		record.Status, record.StopReason = history.TurnCancelled, "cancelled"
		return history.StatusCancelled
	case e.turn.interrupted:
		record.Status, record.StopReason = history.TurnInterrupted, "cancelled"
		return history.StatusInterrupted
	case out.err != nil:
		failure := t.deps.Host.Describe(fmt.Errorf("turn %s: %w", record.ID, out.err))
		record.Status, record.Failure = history.TurnFailed, &failure
		e.err = &StoredError{Failure: failure}
		return history.StatusFailed
	default:
		record.Status, record.StopReason = history.TurnCompleted, string(out.result.StopReason)
		return history.StatusComplete
	}
}

// calls returns the usage log's row for the turn's model call; none if the provider did not answer.
func (t *turns) calls(e *ending) []history.Call {
	of := e.turn
	if !of.answered() {
		return nil
	}
	return []history.Call{{
		ID: t.deps.NewID("call_"), Turn: of.record.ID, Purpose: history.PurposeTurn, Model: of.model.Name,
		Usage: e.spent.Usage, Cost: e.spent.Cost, Estimated: e.spent.Estimated, Expected: t.context.Expected(&of.built), At: of.record.EndedAt,
		Categories: of.built.Categories, Documents: of.built.Documents, Phase: of.built.Phase,
	}}
}

// finished takes the outcome of storing a turn's result. The client gets its reply either way; a result that could not be
// stored is kept and stored later.
func (t *turns) finished(e *ending, err error) {
	of := e.turn
	t.running = nil
	if err != nil {
		t.keepUnsaved(e, err)
	} else {
		t.saved(e)
	}
	t.accounts.emitUsage(of.record.ID, t.used(e), of.model.Window)
	if r := e.reply; r != nil && r.Status == history.StatusComplete && content.Empty(r.Blocks) {
		t.emit(events.Event{Kind: events.Notice, Turn: of.record.ID, Text: content.EmptyNotice(of.record.StopReason)})
	}
	finished := events.TurnFinishedInfo{
		TurnID: of.record.ID, Status: of.record.Status, StopReason: of.record.StopReason,
		Usage: of.record.Usage, Cost: of.record.Cost, Estimated: e.spent.Estimated, Error: of.record.Failure,
	}
	finished.MessageID = e.messageID()
	seq := t.emit(events.Event{Kind: events.TurnFinished, Turn: of.record.ID, Data: finished, Settled: t.context.LastSeq()})
	t.deps.Meter.TurnFinished(of.record.Status, of.record.Usage, of.record.Cost)
	result, failure := e.result()
	of.reply(result, seq, failure)
	t.over()
}

// saved adopts a stored result.
func (t *turns) saved(e *ending) {
	t.choices.Record.UpdatedAt = e.turn.record.EndedAt
	t.context.Layout.Stored()
	t.extend(e.change.Messages, e.change.Edits)
	t.context.Count(e.change.Calls)
	if e.spent.Reported {
		t.context.Report(e.spent.Usage)
	}
	t.tellProgress(e.reply)
	t.accounts.tellTiers(e.turn.record.ID)
	t.emit(events.Event{Kind: events.Saved, Turn: e.turn.record.ID, Data: events.SaveInfo{TurnID: e.turn.record.ID}, Settled: t.context.LastSeq()})
}

// used returns the tokens of the window that a turn has used: what its request and its reply take, or the history if
// neither was counted.
func (t *turns) used(e *ending) int {
	if used := e.spent.Whole; used > 0 {
		return used
	}
	measure := t.context.Measure(e.turn.model)
	return measure.Calibrated(t.context.Tokens())
}

// result returns what clients that wait for the turn receive. A turn that was cancelled while its result was being stored
// has the stop reason that the client relies on, whatever is stored.
func (e *ending) result() (PromptResult, error) {
	r := PromptResult{Turn: e.turn.record, MessageID: e.messageID(), LeftOut: e.turn.omitted}
	if e.turn.cancelled {
		r.Turn.StopReason = "cancelled"
		return r, nil
	}
	return r, e.err
}

// messageID returns the id of the reply, empty for none.
func (e *ending) messageID() string {
	if e.reply == nil {
		return ""
	}
	return e.reply.ID
}

// refusal returns the error for requests received before the turn's result is stored.
func (e *ending) refusal() error { return e.turn.notStored() }

// notStored returns the error for changes that have to follow the turn's result, which is not stored.
func (t *turn) notStored() error { return fmt.Errorf("turn %s: %w", t.record.ID, ErrUnsaved) }

// again tells one more client how the turn ended.
func (e *ending) again(w waiter, seq uint64) {
	e.turn.waiters = append(e.turn.waiters, w)
	result, err := e.result()
	e.turn.reply(result, seq, err)
}
