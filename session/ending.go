package session

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"strata/history"
	"strata/session/assembly"
	"strata/session/content"
	"strata/session/events"
	"strata/session/loop"
	"strata/session/saving"
	"strata/session/tools"
	"strata/tokens"
)

// ending is the end of a turn with everything that is stored of it.
type ending struct {
	turn *turn
	taken
	err  error // for the client
	kept bool  // in a recovery file
}

// taken is what a call of the model leaves to store: its usage, what its request taught, and its message.
type taken struct {
	spent  assembly.Spent   // zero if the provider did not answer
	reply  *history.Message // nil if the model said nothing; a complete reply can be empty
	change history.Change
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

// newEnding returns the ending of a turn.
func (t *turns) newEnding(of *turn) *ending {
	e := &ending{turn: of}
	record := &of.record
	record.EndedAt = t.deps.Now()
	status := t.setStatus(e)
	if before := of.outcome.taken; before != nil {
		e.taken = *before
	} else {
		e.taken = t.take(of, of.outcome, status, record.EndedAt)
	}
	if e.reply != nil {
		of.last = e.reply.ID
	}
	if of.last != "" {
		record.ReplyID = of.last
	}
	record.Usage, record.Cost = of.spent.Add(e.spent.Usage), of.cost+e.spent.Cost
	e.change.End, e.change.DropPartials = record, ""
	t.workspace.TakeDirty(&e.change)
	t.settleCalls(e)
	e.change.Edits = t.unanswered(record, of.last != "")
	return e
}

// take returns what is to be stored of the turn's newest call of the model.
func (t *turns) take(of *turn, out *outcome, status history.MessageStatus, at time.Time) taken {
	var got taken
	measure := t.context.Measure(of.model)
	if of.built.Plan != nil {
		got.spent = out.call.Spent(&measure, &out.result, out.err, of.built.Counted, max(out.tokens-tokens.MessageOverhead, 0))
	}
	got.change = history.Change{Session: t.id, Calls: t.calls(of, out, &got.spent, at), Calibration: t.learn(of, out, got.spent.Usage)}
	if of.answered(out) {
		t.core.answered(&of.built, &got.change)
	}
	if blocks := out.result.Blocks; len(blocks) > 0 || status == history.StatusComplete && of.built.Plan != nil {
		if blocks == nil {
			blocks = []history.Block{}
		}
		got.reply = &history.Message{
			ID: of.message, Seq: t.context.NextSeq(), Turn: of.record.ID, Role: history.RoleAssistant, Blocks: blocks,
			Tokens: out.tokens, At: at, Model: of.model.Name, Status: status, Meta: loop.Timed(&t.choices.Profile.Loop, of.meta, at.Sub(of.record.StartedAt)),
		}
		got.change.Messages = []history.Message{*got.reply}
	}
	got.change.Requests = of.built.KeptFor(got.change.Calls, got.replyID(), t.context.LastSeq())
	return got
}

// replyID returns the id of the message, empty for none.
func (t *taken) replyID() string {
	if t.reply == nil {
		return ""
	}
	return t.reply.ID
}

// settleCalls adds the results of calls whose results are not stored, so that no request ever has a call without one.
func (t *turns) settleCalls(e *ending) {
	step := e.turn.outcome.step
	if step == nil || step.Calls() == 0 {
		return
	}
	why := tools.CutOff
	switch {
	case t.mailbox.IsShut():
		why = tools.Interrupted
	case e.turn.cancelled:
		why = tools.Cancelled
	case e.turn.tools == nil && e.turn.record.StopReason == "end_turn":
		why = tools.NoTools
	}
	e.turn.outcome.settleFile(&e.change)
	for _, p := range step.Settle(why) {
		t.events.EmitAll(e.turn.calls.Changed(e.turn.record.ID, p))
	}
	m := t.resultsOf(e.turn, step)
	if len(m.Blocks) == 0 {
		return
	}
	m.Seq = t.context.NextSeq() + int64(len(e.change.Messages))
	m.Tokens = content.Tokens(context.Background(), t.counter(), m.Blocks)
	e.change.Messages = append(e.change.Messages, m)
}

// answered reports whether the provider read the request: it reported usage, a part of a reply came, or it ended an empty
// reply.
func (t *turn) answered(out *outcome) bool {
	return t.built.Plan != nil && (out.result.UsageReported || len(out.result.Blocks) > 0 || out.err == nil)
}

// learn compares the provider's count of the input with ours.
func (t *turns) learn(of *turn, out *outcome, used history.Usage) *history.Calibration {
	if !out.result.UsageReported || out.err != nil || of.built.Plan == nil {
		return of.calibration
	}
	return t.context.Learn(of.model.Name, of.built.Counted, used.Context())
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
		record.Status, record.StopReason = history.TurnCompleted, cmp.Or(out.limit, string(out.result.StopReason))
		return history.StatusComplete
	}
}

// calls returns the usage log's row for a call of the model; none if none was made.
func (t *turns) calls(of *turn, out *outcome, spent *assembly.Spent, at time.Time) []history.Call {
	if of.built.Plan == nil {
		return nil
	}
	row := history.Call{
		ID: t.deps.NewID("call_"), Turn: of.record.ID, Step: of.step, Purpose: history.PurposeTurn, Model: of.model.Name,
		Usage: spent.Usage, Cost: spent.Cost, Estimated: spent.Estimated, Expected: t.context.Expected(&of.built), At: at,
		Categories: of.built.Categories, Documents: of.built.Documents, Phase: of.built.Phase,
	}
	out.call.Put(&row, of.callStatus(out), of.record.Failure)
	return []history.Call{row}
}

// callStatus returns how the turn's newest call of the model ended.
func (t *turn) callStatus(out *outcome) history.CallStatus {
	switch {
	case out.err == nil:
		return history.CallComplete
	case t.cancelled || t.interrupted:
		return history.CallStopped
	}
	return history.CallFailed
}

// finished takes the outcome of storing a turn's result. The client gets its reply either way; a result that could not be
// stored is kept and stored later.
func (t *turns) finished(e *ending, err error) {
	of := e.turn
	t.running = nil
	t.subs.clients.TurnEnded()
	if err != nil {
		t.keepUnsaved(e, err)
	} else {
		t.saved(e)
	}
	t.accounts.EmitUsage(of.record.ID, t.used(e), of.model.Window)
	if r := e.reply; r != nil && r.Status == history.StatusComplete && content.Empty(r.Blocks) {
		t.emit(events.Event{Kind: events.Notice, Turn: of.record.ID, Text: content.EmptyNotice(of.record.StopReason)})
	}
	finished := events.TurnFinishedInfo{
		TurnID: of.record.ID, Status: of.record.Status, StopReason: of.record.StopReason,
		Usage: of.record.Usage, Cost: of.record.Cost, Estimated: of.estimated || e.spent.Estimated, Error: of.record.Failure,
	}
	finished.MessageID = e.messageID()
	seq := t.emit(events.Event{Kind: events.TurnFinished, Turn: of.record.ID, Data: finished, Settled: t.context.LastSeq()})
	t.doings.End(of.record.ID, string(of.record.Status))
	t.deps.Meter.TurnFinished(of.record.Status, of.record.Usage, of.record.Cost)
	result, failure := e.result()
	of.reply(result, seq, failure)
	t.over()
}

// saved adopts a stored ending.
func (t *turns) saved(e *ending) {
	t.choices.Record.UpdatedAt = e.turn.record.EndedAt
	t.adopt(e.turn, &e.taken)
}

// adopt adopts what was stored of a call of the model, and tells the subscribers.
func (t *turns) adopt(of *turn, got *taken) {
	of.spent, of.cost = of.spent.Add(got.spent.Usage), of.cost+got.spent.Cost
	of.estimated = of.estimated || got.spent.Estimated
	if got.reply != nil {
		of.last = got.reply.ID
	}
	t.context.Layout.Stored()
	t.extend(got.change.Messages, got.change.Edits)
	t.context.Count(got.change.Calls)
	if got.spent.Reported {
		t.context.Report(got.spent.Usage)
	}
	t.tellProgress(got.reply)
	t.accounts.TellTiers(of.record.ID)
	t.tellSaved(of)
}

// tellSaved tells that everything so far of a turn is stored.
func (t *turns) tellSaved(of *turn) {
	t.emit(events.Event{Kind: events.Saved, Turn: of.record.ID, Data: events.SaveInfo{TurnID: of.record.ID}, Settled: t.context.LastSeq()})
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

// messageID returns the id of the newest message of the reply, empty for none.
func (e *ending) messageID() string { return e.turn.last }

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
