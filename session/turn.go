package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"strata/history"
	"strata/llm"
	"strata/stability"
	"strata/tokens"
)

// ProviderError is the failure of a model call.
type ProviderError = llm.Error

// MaxAnswer bounds an answer's text and thinking in bytes. A turn that goes on is ended there. In JSON, where a byte
// takes up to six, such an answer still fits into a frame of 16 MiB; the longest that a model gives is below 1 MiB.
const MaxAnswer = 2 << 20

// ErrTooLong ends an answer above MaxAnswer. What had arrived is kept.
var ErrTooLong = errors.New("the provider did not end its answer: it was cut at 2 MiB")

// turn is one prompt and its answer, from the moment that the mailbox took the prompt.
// It belongs to the mailbox; its stream runs in a child goroutine that only posts.
type turn struct {
	record  history.Turn
	model   llm.Model
	waiters []waiter
	leftOut []LeftOut

	ctx    context.Context // ends on cancel
	cancel context.CancelFunc

	stored    bool // the user's message is on disk
	cancelled bool // the user stopped it
	stopped   bool // the server stops it

	text, thought strings.Builder // the answer so far
	partial       partial
	outcome       *outcome // of the stream, once it has ended
	built         built
}

// delta is what the stream's goroutine posts: what the request holds as the first, then events, and the
// outcome as the last.
type delta struct {
	turn    *turn
	built   *built
	event   llm.Event
	outcome *outcome
}

// outcome is how a stream ended.
type outcome struct {
	result llm.Result
	err    error
}

// waiter is who waits for a turn's end, and the subscriber that is told the turn's events before; nil for none.
type waiter struct {
	reply      PromptReply
	subscriber *Cursor
}

func (s *Session) newTurn(p Prompt, w waiter) *turn {
	t := &turn{
		record: history.Turn{
			ID:        s.deps.NewID("turn_"),
			PromptID:  p.ID,
			UserID:    s.deps.NewID("msg_"),
			ReplyID:   s.deps.NewID("msg_"),
			Status:    history.TurnRunning,
			StartedAt: s.deps.Now(),
		},
		model:   s.model,
		waiters: []waiter{w},
	}
	t.ctx, t.cancel = context.WithCancel(s.ctx)
	return t
}

// answer tells all who wait for the turn how it ended.
func (t *turn) answer(result PromptResult, seq uint64, err error) {
	for _, w := range t.waiters {
		w.subscriber.whenPlaced(func() { w.reply(result, seq, err) })
	}
	t.waiters = nil
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

// running returns the answer so far.
func (t *turn) running() *runningText {
	if !t.stored {
		return nil
	}
	return &runningText{Turn: t.record.ID, Message: t.record.ReplyID, Thought: t.thought.String(), Text: t.text.String()}
}

// Cancel stops the running turn: it ends with the stop reason cancelled. Where turnID is given it must
// be that turn. It has no effect while no turn runs.
func (s *Session) Cancel(turnID string) {
	s.tell(func() {
		if t := s.turn; t != nil && (turnID == "" || turnID == t.record.ID) {
			s.cancelTurn(t)
		}
	})
}

// cancelTurn cancels t if it is the running turn.
func (s *Session) cancelTurn(t *turn) {
	if t != nil && t == s.turn {
		t.cancelled = true
		t.cancel()
	}
}

// stream runs in the turn's goroutine: it builds the request, streams the answer and posts what comes.
func (s *Session) stream(t *turn, snap snapshot) {
	var out outcome
	defer func() {
		if r := recover(); r != nil {
			out.err = s.panicked(r)
		}
		s.deltas <- delta{turn: t, outcome: &out}
	}()
	built, err := snap.build(t.ctx, nil)
	if err == nil {
		err = s.shed(&built)
	}
	if err != nil {
		out.err = err
		return
	}
	snap.logPlanned(&built)
	s.deltas <- delta{turn: t, built: &built}
	out.result, out.err = s.receive(t, &built)
}

// receive streams the answer and posts what comes.
func (s *Session) receive(t *turn, b *built) (llm.Result, error) {
	size, cached := 0, false
	ctx, stop := context.WithCancelCause(t.ctx)
	defer stop(nil)
	result, err := s.deps.Streamer.Stream(ctx, b.request, func(e llm.Event) {
		if e.Kind == llm.EventUsage && !cached {
			cached = true
			b.mirror.Answered(b.plan, cacheUsage(*e.Usage))
		}
		if size += len(e.Text); size > MaxAnswer {
			stop(ErrTooLong)
			return
		}
		s.deltas <- delta{turn: t, event: e}
	})
	if cause := context.Cause(ctx); errors.Is(cause, ErrTooLong) {
		err = cause
	}
	return result, err
}

// cacheUsage is what a mirror learns from.
func cacheUsage(u history.Usage) stability.Usage {
	return stability.Usage{Read: u.CacheRead, Write: u.CacheWrite, Input: u.Context()}
}

// requestBuilt takes over what building the request found out.
func (s *Session) requestBuilt(t *turn, b built) {
	t.built = b
	s.filesRefreshed(b.refreshed)
	t.leftOut = append(t.leftOut, b.leftOut...)
	if len(t.leftOut) > 0 {
		s.emit(Event{Kind: EventLeftOut, Turn: t.record.ID, Data: LeftOuts{LeftOut: t.leftOut}})
	}
}

// take takes what the stream posted. Where that panics with the outcome the turn is given up, so that the session can
// go on; the next load settles it with the text that was saved.
func (s *Session) take(d delta) {
	var err error
	func() {
		defer s.rescue(&err)
		s.onDelta(d)
	}()
	if err == nil || d.outcome == nil || s.turn != d.turn {
		return
	}
	s.turn = nil
	d.turn.answer(PromptResult{Turn: d.turn.record}, 0, err)
	s.afterTurn()
}

// onDelta takes what the stream posted.
func (s *Session) onDelta(d delta) {
	t := d.turn
	switch {
	case d.built != nil:
		s.requestBuilt(t, *d.built)
	case d.outcome != nil:
		t.outcome = d.outcome
		s.finish(t)
	default:
		s.onEvent(t, d.event)
	}
}

// onEvent takes an event of the answer.
func (s *Session) onEvent(t *turn, e llm.Event) {
	switch e.Kind {
	case llm.EventText:
		s.emitText(t, EventText, &t.text, e.Text)
		s.keepPartial(t, history.BlockText, e.Text)
	case llm.EventThinking:
		s.emitText(t, EventThought, &t.thought, e.Text)
		s.keepPartial(t, history.BlockThinking, e.Text)
	case llm.EventRetrying:
		s.emit(Event{Kind: EventRetrying, Turn: t.record.ID, Data: Retrying{
			Attempt: e.Retry.Attempt, Of: e.Retry.Of, DelayMs: e.Retry.Delay.Milliseconds(), Status: e.Retry.Status, Reason: e.Retry.Reason,
		}})
	}
}

// emitText adds text to the answer, whose text or thinking so far is in sofar, and tells the subscribers.
func (s *Session) emitText(t *turn, kind EventKind, sofar *strings.Builder, text string) {
	for _, piece := range cut(text) {
		s.log.append(Event{
			Kind: kind, Turn: t.record.ID, Message: t.record.ReplyID, Role: history.RoleAssistant, Text: piece,
			at: sent{text: t.text.Len(), thought: t.thought.Len()},
		})
		sofar.WriteString(piece)
	}
	s.wake()
	s.deps.Meter.Deltas(1)
}

// finish ends a turn whose stream has ended, once no partial save is under way.
func (s *Session) finish(t *turn) {
	if t.partial.saving {
		return // partialSaved comes back here
	}
	t.partial.stop()
	t.cancel()
	e := s.newEnding(t)
	counter := s.context.counter
	s.spawn(func() {
		e.count(counter)
		err := s.deps.Store.Commit(context.WithoutCancel(s.ctx), e.change)
		s.tell(func() { s.finished(e, err) })
	})
}

// ending is all that is to be stored of a turn's end.
type ending struct {
	turn   *turn
	change history.Change
	reply  *history.Message // nil where nothing was said
	err    error            // what the client is told
}

func (e *ending) running() *runningText { return e.turn.running() }

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
	record.Usage = t.outcome.result.Usage
	record.Cost = t.outcome.result.Cost
	status := s.settleOutcome(e)

	e.change = history.Change{Session: s.id, End: record, Calls: s.calls(t), Calibration: s.learn(t)}
	if t.answered() {
		s.context.requestAnswered(&t.built, &e.change)
		s.markSent(&t.built)
	}
	e.change.PutFiles, e.change.DropFiles = s.context.takeDirty()
	if blocks := t.outcome.result.Blocks; len(blocks) > 0 {
		e.reply = &history.Message{
			ID: record.ReplyID, Seq: s.context.NextSeq(), Turn: record.ID, Role: history.RoleAssistant, Blocks: blocks,
			At: record.EndedAt, Model: t.model.Name, Status: status,
		}
	}
	return e
}

// count counts the answer's tokens. It can take long, so it runs outside the mailbox, before e is stored.
func (e *ending) count(counter *tokens.Counter) {
	if e.reply != nil {
		e.reply.Tokens = countBlocks(counter, e.reply.Blocks)
		e.change.Messages = []history.Message{*e.reply}
	}
}

// answered reports whether the provider read the request: it reported usage, or something of an answer came.
func (t *turn) answered() bool {
	return t.built.plan != nil && (t.outcome.result.UsageReported || len(t.outcome.result.Blocks) > 0)
}

// learn compares the provider's count of the input with ours.
func (s *Session) learn(t *turn) *history.Calibration {
	if !t.outcome.result.UsageReported || t.outcome.err != nil || t.built.plan == nil {
		return nil
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

// calls returns the usage log's row for the turn's model call; none where the provider was not reached.
func (s *Session) calls(t *turn) []history.Call {
	if t.outcome.result.Usage == (history.Usage{}) {
		return nil
	}
	return []history.Call{{
		ID: s.deps.NewID("call_"), Turn: t.record.ID, Purpose: history.PurposeTurn, Model: t.model.Name,
		Usage: t.record.Usage, Cost: t.record.Cost, Expected: s.context.expected(&t.built), At: t.record.EndedAt,
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
	s.emit(Event{Kind: EventUsage, Turn: t.record.ID, Data: s.usageInfo(t)})
	finished := TurnFinished{
		TurnID: t.record.ID, Status: t.record.Status, StopReason: t.record.StopReason,
		Usage: t.record.Usage, Cost: t.record.Cost, Error: t.record.Failure,
	}
	if e.reply != nil {
		finished.MessageID = e.reply.ID
	}
	seq := s.emit(Event{Kind: EventTurnFinished, Turn: t.record.ID, Data: finished, settled: s.context.LastSeq()})
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
	s.emit(Event{Kind: EventSaved, Turn: e.turn.record.ID, Data: SaveInfo{TurnID: e.turn.record.ID}, settled: s.context.LastSeq()})
}

func (s *Session) usageInfo(t *turn) UsageInfo {
	used := t.record.Usage.Context() + t.record.Usage.Output
	if used == 0 {
		used = s.context.Tokens()
	}
	return UsageInfo{Used: used, Size: t.model.Window, Cost: s.context.Totals().Cost}
}

// afterTurn does what had to wait for the turn's end.
func (s *Session) afterTurn() {
	s.deps.Changed(s.id, s.state())
	s.active = s.deps.Now()
	if s.unsaved == nil {
		s.doDeferred()
		s.compactWhenDue()
	}
	s.endIfIdle()
}

// doDeferred does what has to follow the turn in the transcript. It waits for the turn's end to be stored,
// since that has its place there already.
func (s *Session) doDeferred() {
	waiting := s.deferred
	s.deferred = nil
	for _, d := range waiting {
		d.do()
	}
	s.compactWhenDue()
}

// unfinished returns the turn that runs or whose end is not stored, nil where there is none.
func (s *Session) unfinished() *turn {
	if s.unsaved != nil {
		return s.unsaved.turn
	}
	return s.turn
}

// panicked logs a panic with its stack and returns the error that the client is told.
func (s *Session) panicked(r any) error {
	s.deps.Log.Error("panic in a session", slog.String("session", s.id), slog.Any("panic", r), stack())
	return fmt.Errorf("session %s: internal error", s.id)
}

func stack() slog.Attr { return slog.String("stack", string(debug.Stack())) }

// The pace at which the text of a running answer is put on disk.
const (
	partialEvery = 250 * time.Millisecond
	partialBytes = 4 << 10
)

// partial is the part of a running answer that is not on disk yet. At most one save is under way.
type partial struct {
	pieces []history.Partial // waiting; adjacent text of one kind is one piece
	bytes  int
	n      int // next piece's number
	saving bool
	failed bool // the last save did: the next one waits for its time
	timer  *time.Timer
}

func (p *partial) stop() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// keepPartial notes text that is to be saved, and saves when there is enough of it or time is up.
func (s *Session) keepPartial(t *turn, kind history.BlockType, text string) {
	p := &t.partial
	if last := len(p.pieces) - 1; last >= 0 && p.pieces[last].Kind == kind && len(p.pieces[last].Text) < partialBytes && !(p.saving && last == 0) {
		p.pieces[last].Text += text
	} else {
		p.pieces = append(p.pieces, history.Partial{Turn: t.record.ID, N: p.n, Kind: kind, Text: text})
		p.n++
	}
	p.bytes += len(text)
	s.pacePartial(t)
}

// pacePartial saves now if enough waits, and sees to it that it is saved in time otherwise.
func (s *Session) pacePartial(t *turn) {
	p := &t.partial
	switch {
	case p.saving || len(p.pieces) == 0 || t.outcome != nil:
	case p.bytes >= partialBytes && !p.failed:
		s.savePartial(t)
	case p.timer == nil:
		p.timer = time.AfterFunc(partialEvery, func() { s.tell(func() { s.partialDue(t) }) })
	}
}

func (s *Session) partialDue(t *turn) {
	t.partial.stop()
	if !t.partial.saving && len(t.partial.pieces) > 0 && t.outcome == nil {
		s.savePartial(t)
	}
}

// savePartial stores the oldest waiting piece.
func (s *Session) savePartial(t *turn) {
	p := &t.partial
	p.stop()
	p.saving = true
	piece := p.pieces[0]
	s.spawn(func() {
		err := s.deps.Store.Commit(s.ctx, history.Change{Session: s.id, Partial: &piece})
		s.tell(func() { s.partialSaved(t, len(piece.Text), err) })
	})
}

// partialSaved goes on after a save. Text whose save failed stays and is tried again when it is time for the next.
func (s *Session) partialSaved(t *turn, size int, err error) {
	p := &t.partial
	p.saving = false
	if err == nil {
		p.pieces = p.pieces[1:]
		p.bytes -= size
	} else if t.outcome == nil && s.ctx.Err() == nil && !p.failed {
		s.deps.Log.Warn("partial answer not saved", slog.String("session", s.id), slog.String("turn", t.record.ID), slog.Any("error", err))
	}
	p.failed = err != nil
	if t.outcome != nil {
		s.finish(t)
		return
	}
	s.pacePartial(t)
}
