package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// Prompt is a user's message that asks for an answer.
type Prompt struct {
	ID     string // the client's name for it, unique in the session; may be empty
	Blocks []history.Block
}

// PromptResult is how a turn ended, for those that wait for it.
type PromptResult struct {
	Turn    history.Turn
	LeftOut []LeftOut
}

// PromptReply is told how a turn ended. seq is the event that must have been delivered before; err is
// set where the prompt was refused or the turn failed, and result is then as far as it came.
type PromptReply func(result PromptResult, seq uint64, err error)

// BusyError says which turn keeps a session from taking a prompt. It is an ErrBusy.
type BusyError struct{ TurnID string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("turn %s is running; wait for it or cancel it", e.TurnID)
}

// Is reports whether target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// BudgetError says by how much a message is too large. It is an ErrBudget.
type BudgetError struct{ Tokens, Limit int }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the message and the system prompt have %d tokens, the model takes %d", e.Tokens, e.Limit)
}

// Is reports whether target is ErrBudget.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// StoredError is the failure of a turn that ended earlier, told again.
type StoredError struct{ Failure history.Failure }

func (e *StoredError) Error() string { return e.Failure.Message }

// Prompt starts a turn, or joins the one that has the same prompt id. subscriber, which may be nil, gets
// the turn's events but for the user's message; it is placed at the log's end if it has no place yet.
// cancel is Cancel for this turn only: it has no effect where the prompt was refused.
func (s *Session) Prompt(p Prompt, subscriber *Cursor, reply PromptReply) (cancel func()) {
	refuse := func(err error) { reply(PromptResult{}, 0, err) }
	var own *turn // the mailbox's
	s.post(func() { own = s.prompt(p, subscriber, reply, refuse) }, refuse)
	return func() { s.tell(func() { s.cancelTurn(own) }) }
}

// prompt returns the turn that the prompt has started or joined, nil where it was refused.
func (s *Session) prompt(p Prompt, subscriber *Cursor, reply PromptReply, refuse func(error)) *turn {
	s.active = s.deps.Now()
	if subscriber != nil {
		s.subscribe(subscriber)
	}
	switch {
	case s.unsaved != nil && p.ID != "" && s.unsaved.turn.record.PromptID == p.ID:
		s.unsaved.again(waiter{reply, subscriber}, s.events.End())
		return nil
	case s.unsaved != nil:
		s.refuseNew(p, s.unsaved.refusal(), reply)
		return nil
	case s.turn != nil && p.ID != "" && s.turn.record.PromptID == p.ID:
		s.turn.waiters = append(s.turn.waiters, waiter{reply, subscriber})
		return s.turn
	case s.turn != nil:
		s.refuseNew(p, &BusyError{TurnID: s.turn.record.ID}, reply)
		return nil
	}
	if blank(p.Blocks) {
		refuse(fmt.Errorf("%w: the prompt holds no text, picture or resource", ErrInvalid))
		return nil
	}
	s.renewModel()
	t := s.newTurn(p, waiter{reply, subscriber})
	s.turn = t
	s.deps.Changed(s.id, StateRunning)
	s.enqueue(op{
		begin: func() (work, error) { return s.beginTurn(t, p.Blocks, subscriber), s.checkDocuments() },
		fail:  func(err error) { s.refuseTurn(t, err) },
	})
	return t
}

// refuseNew refuses a prompt that nothing can be made of at present, because of an error. One that was answered before is
// told its ending all the same.
func (s *Session) refuseNew(p Prompt, because error, reply PromptReply) {
	if p.ID == "" {
		reply(PromptResult{}, 0, because)
		return
	}
	s.spawn(func() {
		var again *earlier
		switch err := s.sentBefore(context.WithoutCancel(s.ctx), p.ID); {
		case errors.As(err, &again):
			result, err := storedEnding(again.turn)
			reply(result, 0, err)
		case err != nil:
			reply(PromptResult{}, 0, err)
		default:
			reply(PromptResult{}, 0, because)
		}
	})
}

// blank reports whether blocks hold nothing that a model could answer.
func blank(blocks []history.Block) bool {
	for i := range blocks {
		if b := &blocks[i]; b.Type != history.BlockText || strings.TrimSpace(b.Text) != "" {
			return false
		}
	}
	return true
}

// refuseTurn gives up a turn of which nothing was stored.
func (s *Session) refuseTurn(t *turn, err error) {
	s.turn = nil
	t.cancel()
	var again *earlier
	if errors.As(err, &again) {
		result, err := storedEnding(again.turn)
		t.answer(result, 0, err)
	} else {
		t.answer(PromptResult{}, 0, err)
	}
	s.afterTurn()
}

// earlier is the refusal of a prompt that was answered before.
type earlier struct{ turn history.Turn }

func (e *earlier) Error() string { return "the prompt was sent before" }

// storedEnding returns a stored turn as the answer to its prompt.
func storedEnding(t history.Turn) (PromptResult, error) {
	result := PromptResult{Turn: t}
	if t.Failure != nil {
		return result, &StoredError{Failure: *t.Failure}
	}
	return result, nil
}

// admission is a prompt that was read, counted and found to fit.
type admission struct {
	message history.Message
	files   []attachment
	leftOut []LeftOut
}

// beginTurn returns the work that admits a prompt and puts the user's message on disk.
func (s *Session) beginTurn(t *turn, blocks []history.Block, subscriber *Cursor) work {
	snap := s.context.snapshot(s.model, s.thought())
	seq := s.context.NextSeq()
	update := s.record
	return func(ctx context.Context) (step, error) {
		if err := s.sentBefore(ctx, t.record.PromptID); err != nil {
			return nil, err
		}
		a, err := snap.admit(t.ctx, blocks)
		if err != nil {
			return nil, err
		}
		a.message.ID, a.message.Seq, a.message.Turn, a.message.At = t.record.UserID, seq, t.record.ID, t.record.StartedAt
		update.UpdatedAt = t.record.StartedAt
		if update.Title == "" {
			update.Title = titleOf(&a.message)
		}
		return func() (work, error) {
			stored := s.context.tryFiles(&a)
			change := history.Change{Begin: &t.record, Update: &update, Messages: []history.Message{a.message}, PutFiles: stored}
			return s.store("store the prompt", change, func() { s.turnBegun(t, a, update, subscriber) }), nil
		}, nil
	}
}

// sentBefore returns an *earlier if the prompt id was used.
func (s *Session) sentBefore(ctx context.Context, promptID string) error {
	if promptID == "" {
		return nil
	}
	switch turn, err := s.deps.Store.TurnByPrompt(ctx, s.id, promptID); {
	case err == nil:
		return &earlier{turn: turn}
	case errors.Is(err, history.ErrNotFound):
		return nil
	default:
		return fmt.Errorf("look up the prompt: %w: %w", ErrStorage, err)
	}
}

// turnBegun takes over a stored prompt, tells the subscribers and starts the answer.
func (s *Session) turnBegun(t *turn, a admission, update history.Session, subscriber *Cursor) {
	renamed := update.Title != s.record.Title
	s.record = update
	s.context.begin(&a)
	t.stored = true
	t.unread, t.leftOut = a.leftOut, a.leftOut
	s.emitMessage(&a.message, subscriber)
	s.emit(Event{Kind: EventTurnStarted, Turn: t.record.ID, Data: TurnStarted{
		TurnID: t.record.ID, PromptID: t.record.PromptID, UserID: t.record.UserID, MessageID: t.record.ReplyID, Model: s.model.Name,
	}})
	if renamed {
		s.emit(Event{Kind: EventInfo, Turn: t.record.ID, Data: TitleInfo{Title: update.Title, UpdatedAt: update.UpdatedAt}})
	}
	s.deps.Meter.TurnStarted()
	snap := s.context.snapshot(s.model, s.thought())
	s.spawn(func() { s.stream(t, snap) })
}

// emitMessage tells all but its author of a message that was stored.
func (s *Session) emitMessage(m *history.Message, author *Cursor) { s.events.EmitMessage(m, author) }

// admitMessages sets the tokens of messages and what their pictures are. It returns an error that names the message for
// one that no request to the model can hold.
func admitMessages(counter *tokens.Counter, model *llm.Model, messages []history.Message) error {
	countMessages(counter, messages)
	for i := range messages {
		if err := checkMessage(messages[i].Blocks, model); err != nil {
			return fmt.Errorf("%w: messages[%d]: %w", ErrInvalid, i, err)
		}
	}
	return nil
}

// countMessages sets the tokens of messages, and the types and sizes of their pictures, by which those go.
func countMessages(counter *tokens.Counter, messages []history.Message) {
	for i := range messages {
		measure(messages[i].Blocks)
		messages[i].Tokens = countBlocks(counter, messages[i].Blocks)
	}
}

// countBlocks returns the tokens of a message's content, framing included.
func countBlocks(c *tokens.Counter, blocks []history.Block) int {
	n := tokens.MessageOverhead
	for i := range blocks {
		n += countBlock(c, &blocks[i])
	}
	return n
}

func countBlock(c *tokens.Counter, b *history.Block) int {
	switch b.Type {
	case history.BlockImage:
		return tokens.Image(b.Width, b.Height)
	case history.BlockToolCall:
		return c.Count(b.Name) + c.Count(b.Args)
	case history.BlockToolResult:
		n := 0
		for i := range b.Content {
			n += countBlock(c, &b.Content[i])
		}
		return n
	case history.BlockLink, history.BlockResource:
		return c.Count(b.URI) + c.Count(b.Name) + c.Count(b.Text)
	default:
		return c.Count(b.Text)
	}
}
