package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"strata/history"
	"strata/llm"
	"strata/session/events"
	"strata/stability"
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

	unread  []LeftOut // what the prompt names and could not be taken in
	leftOut []LeftOut // that, and what its newest request does not hold

	calibration *history.Calibration // learned of a request that was refused; nil for none

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

// outcome is how a stream ended.
type outcome struct {
	result llm.Result
	tokens int  // of the answer, as it was counted, with the framing of a message
	shown  bool // something of the answer was shown
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
		w.subscriber.WhenPositioned(func() { w.reply(result, seq, err) })
	}
	t.waiters = nil
}

// running returns the answer so far.
func (t *turn) running() *events.Running {
	if !t.stored {
		return nil
	}
	return &events.Running{Turn: t.record.ID, Message: t.record.ReplyID, Thought: t.thought.String(), Text: t.text.String()}
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

// stream runs in the turn's goroutine: it builds the request, streams the answer and posts what comes and how it ended.
func (s *Session) stream(t *turn, snap snapshot) {
	var out outcome
	err := s.mailbox.Guard(func() {
		out = s.converse(t, snap)
		out.tokens = countBlocks(snap.counter, out.result.Blocks)
	})
	if err != nil {
		out.err = err
	}
	s.mailbox.Feed(func() { s.streamed(t, &out) })
}

// receive sends a request, streams the answer and posts what comes.
func (s *Session) receive(t *turn, b *built) (out outcome) {
	size, cached := 0, false
	ctx, stop := context.WithCancelCause(t.ctx)
	defer stop(nil)
	out.result, out.err = s.deps.Streamer.Stream(ctx, b.request, func(e llm.Event) {
		if e.Kind == llm.EventUsage && !cached {
			cached = true
			b.mirror.Answered(b.plan, cacheUsage(*e.Usage))
		}
		if size += len(e.Text); size > MaxAnswer {
			stop(ErrTooLong)
			return
		}
		out.shown = out.shown || e.Kind == llm.EventText || e.Kind == llm.EventThinking
		s.mailbox.Feed(func() { s.onEvent(t, e) })
	})
	if cause := context.Cause(ctx); errors.Is(cause, ErrTooLong) {
		out.err = cause
	}
	return out
}

// cacheUsage is what a mirror learns from.
func cacheUsage(u history.Usage) stability.Usage {
	return stability.Usage{Read: u.CacheRead, Write: u.CacheWrite, Input: u.Context()}
}

// requestBuilt takes over what building the request found out.
func (s *Session) requestBuilt(t *turn, b built) {
	t.built = b
	s.filesRefreshed(b.refreshed)
	t.leftOut = slices.Concat(t.unread, b.leftOut)
	if len(t.leftOut) > 0 {
		s.emit(Event{Kind: EventLeftOut, Turn: t.record.ID, Data: LeftOuts{LeftOut: t.leftOut}})
	}
}

// streamed takes the outcome of the stream. If that panics the turn is given up, so that the session can go on; the next
// load ends it with the text that was saved.
func (s *Session) streamed(t *turn, out *outcome) {
	err := s.mailbox.Guard(func() {
		t.outcome = out
		s.finish(t)
	})
	if err == nil || s.turn != t {
		return
	}
	s.turn = nil
	t.answer(PromptResult{Turn: t.record}, 0, err)
	s.afterTurn()
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
	s.events.EmitDelta(kind, t.running(), text)
	sofar.WriteString(text)
	s.deps.Meter.Deltas(1)
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
