package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"strata/history"
	"strata/session/clients"
	"strata/session/content"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/session/prompts"
	"strata/session/toolbox"
	"strata/session/workspace"
)

// Prompt is a user's message that asks for a reply.
type Prompt struct {
	ID     string // the client's name for it, unique in the session; may be empty
	Blocks []history.Block
	Meta   json.RawMessage // attached by the client; see history.Meta
	Client clients.Client  // from which it comes; nil for none
	Offer  *toolbox.Offer  // of tools; nil: those declared last stay
}

// PromptResult is how a turn ended, for those that wait for it.
type PromptResult struct {
	Turn      history.Turn
	MessageID string // of the reply; empty for none
	LeftOut   []fit.Omitted
}

// PromptReply receives how a turn ended. seq is the event that must have been delivered before; err is set if the prompt was
// refused or the turn failed, and result is then as far as it came.
type PromptReply func(result PromptResult, seq uint64, err error)

// Prompt starts a turn, or joins the one that has the same prompt id. subscriber, which may be nil, receives the turn's
// events but for the user's message; without a position it is placed at the log's end. cancel is Cancel for this turn only:
// it has no effect if the prompt was refused.
func (t *turns) Prompt(p Prompt, subscriber *events.Cursor, reply PromptReply) (cancel func()) {
	a := &asked{Prompt: p, subscriber: subscriber, reply: reply}
	t.mailbox.Post(func() { t.prompt(a) }, a.refuse)
	return func() {
		t.tell(func() {
			a.cancelled = true
			t.cancel(a.turn)
		})
	}
}

// asked is a prompt that the mailbox took, with the client that waits for its result.
type asked struct {
	Prompt
	subscriber *events.Cursor
	reply      PromptReply
	turn       *turn // that it has started or joined; nil before, and if it was refused
	cancelled  bool
}

func (a *asked) refuse(err error) { a.reply(PromptResult{}, 0, err) }

// environment returns that of the client for programs that run on its behalf, nil for none.
func (a *asked) environment() []string {
	if a.Client == nil {
		return nil
	}
	return a.Client.Environment()
}

func (a *asked) waiter() waiter { return waiter{a.reply, a.subscriber} }

// prompt starts the turn of a prompt, joins the one that it has started before, or refuses it.
func (t *turns) prompt(a *asked) {
	t.core.used()
	if a.subscriber != nil {
		t.subs.Enter(a.subscriber)
	}
	switch {
	case t.unsaved != nil && a.ID != "" && t.unsaved.turn.record.PromptID == a.ID:
		t.toolbox.Declare(a.Offer)
		t.unsaved.again(a.waiter(), t.events.End())
	case t.unsaved != nil:
		t.refuseNew(a.Prompt, t.unsaved.refusal(), a.reply)
	case t.running != nil && a.ID != "" && t.running.record.PromptID == a.ID:
		t.running.waiters = append(t.running.waiters, a.waiter())
		t.subs.clients.Prompted(a.Client)
		t.toolbox.Declare(a.Offer)
		a.turn = t.running
	case t.running != nil && t.running.cancelled:
		t.promptAfter(a)
	case t.running != nil:
		t.refuseNew(a.Prompt, &BusyError{TurnID: t.running.record.ID}, a.reply)
	case content.Empty(a.Blocks):
		a.refuse(fmt.Errorf("%w: the prompt contains no text, picture or resource", ErrInvalid))
	default:
		t.startTurn(a)
	}
}

// promptAfter lets a prompt wait for the end of a turn that was cancelled: for the client that cancelled it, it has ended.
func (t *turns) promptAfter(a *asked) {
	busy := &BusyError{TurnID: t.running.record.ID}
	err := t.afterTurn(deferral{drop: func() { a.refuse(busy) }, do: func() {
		switch {
		case t.mailbox.IsShut():
			a.refuse(fmt.Errorf("session %s: %w", t.id, ErrClosed))
		case a.cancelled:
			a.refuse(busy)
		default:
			t.prompt(a)
		}
	}})
	if err != nil {
		a.refuse(err)
	}
}

func (t *turns) startTurn(a *asked) {
	t.choices.Renew()
	t.subs.clients.Prompted(a.Client)
	t.toolbox.Declare(a.Offer)
	t.servers.Prompted(a.environment)
	begun := t.newTurn(a.Prompt, a.waiter())
	t.running, a.turn = begun, begun
	t.changed()
	t.mailbox.Enqueue(mailbox.Op{
		Begin: func() (work, error) { return t.admit(begun, &a.Prompt, a.subscriber), t.checkDocuments() },
		Fail:  func(err error) { t.refuse(begun, err) },
	})
}

// refuseNew refuses a prompt because of an error. A prompt that was answered before gets its stored result all the same.
func (t *turns) refuseNew(p Prompt, because error, reply PromptReply) {
	if p.ID == "" {
		reply(PromptResult{}, 0, because)
		return
	}
	transcript := t.context.Transcript()
	t.mailbox.Spawn(func() {
		var again *earlier
		switch err := t.sentBefore(context.WithoutCancel(t.mailbox.Context()), p.ID); {
		case errors.As(err, &again):
			result, err := storedResult(again.turn, transcript)
			reply(result, 0, err)
		case err != nil:
			reply(PromptResult{}, 0, err)
		default:
			reply(PromptResult{}, 0, because)
		}
	})
}

// refuse gives up a turn of which nothing was stored.
func (t *turns) refuse(begun *turn, err error) {
	t.running = nil
	t.subs.clients.TurnEnded()
	begun.stop()
	begun.gate.Refuse()
	t.context.Pictures.Forget(begun.record.UserID)
	var again *earlier
	if errors.As(err, &again) {
		result, err := storedResult(again.turn, t.context.Transcript())
		begun.reply(result, 0, err)
	} else {
		begun.reply(PromptResult{}, 0, err)
	}
	t.over()
}

// earlier is the refusal of a prompt that was answered before.
type earlier struct{ turn history.Turn }

func (e *earlier) Error() string { return "the prompt was sent before" }

// storedResult returns a stored turn of a transcript as the result of its prompt.
func storedResult(t history.Turn, transcript []history.Head) (PromptResult, error) {
	result := PromptResult{Turn: t}
	if slices.ContainsFunc(transcript, func(h history.Head) bool { return h.ID == t.ReplyID }) {
		result.MessageID = t.ReplyID
	}
	if t.Failure != nil {
		return result, &StoredError{Failure: *t.Failure}
	}
	return result, nil
}

// sentBefore returns an *earlier if the prompt id was used.
func (t *turns) sentBefore(ctx context.Context, promptID string) error {
	if promptID == "" {
		return nil
	}
	switch turn, err := t.deps.Store.TurnByPrompt(ctx, t.id, promptID); {
	case err == nil:
		return &earlier{turn: turn}
	case errors.Is(err, history.ErrNotFound):
		return nil
	default:
		return fmt.Errorf("look up the prompt: %w: %w", ErrStorage, err)
	}
}

// admit returns the work that admits a prompt and puts the user's message on disk.
func (t *turns) admit(begun *turn, p *Prompt, subscriber *events.Cursor) work {
	state, reader := t.state(), t.workspace.Reader()
	seq := t.context.NextSeq()
	update := t.choices.Record
	return func(ctx context.Context) (step, error) {
		if err := t.sentBefore(ctx, begun.record.PromptID); err != nil {
			return nil, err
		}
		a, err := prompts.Admit(begun.ctx, &state, &reader, p.Blocks, p.Meta)
		if err != nil {
			return nil, err
		}
		if a.Resent {
			begun.record.UserID = a.Message.ID
		} else {
			a.Message.ID, a.Message.Seq, a.Message.Turn, a.Message.At = begun.record.UserID, seq, begun.record.ID, begun.record.StartedAt
		}
		update.UpdatedAt = begun.record.StartedAt
		if update.Title == "" {
			update.Title = content.Title(&a.Message)
		}
		return func() (work, error) {
			stored, fitting, omitted, err := t.workspace.Try(a.Files)
			if err != nil {
				return nil, err
			}
			a.Files, a.Omitted = fitting, append(a.Omitted, omitted...)
			change := history.Change{Begin: &begun.record, Update: &update, PutFiles: stored}
			switch {
			case !a.Resent:
				change.Messages = []history.Message{a.Message}
			case a.Resume != nil:
				a.Resume.ID, a.Resume.Seq, a.Resume.At = t.deps.NewID("edit_"), seq, begun.record.StartedAt
				a.Resume.Before, a.Resume.After = t.context.Tokens(), t.context.Log.TokensWith(*a.Resume)
				change.Edits = []history.Edit{*a.Resume}
			}
			if !a.Resent && len(a.Files) == 0 {
				t.answerAhead(begun, &a.Message)
			}
			return t.store("store the prompt", change, func() { t.begin(begun, a, update, subscriber) }), nil
		}, nil
	}
}

// answerAhead starts the reply to a message that is being stored, so that the provider works meanwhile. Until the message is
// stored, the turn's goroutine stores nothing and shows nothing. A prompt with files starts its reply when it is stored, since
// these files join the session only then.
func (t *turns) answerAhead(begun *turn, message *history.Message) {
	state, log := t.context.Expect(t.choices, message)
	begun.ahead = log
	t.mailbox.Spawn(func() { t.answer(begun, state) })
}

// begin adopts a stored prompt, tells the subscribers and starts the reply.
func (t *turns) begin(begun *turn, a prompts.Admission, update history.Session, subscriber *events.Cursor) {
	renamed := update.Title != t.choices.Record.Title
	t.choices.Record = update
	a.Omitted = append(a.Omitted, t.workspace.Attach(a.Files)...)
	before := len(t.context.View())
	switch {
	case begun.ahead != nil:
		t.context.Log = begun.ahead
	case !a.Resent:
		t.context.Append([]history.Message{a.Message})
	case a.Resume != nil:
		t.context.Apply(*a.Resume)
	}
	begun.stored = true
	begun.unread, begun.omitted = a.Omitted, a.Omitted
	if !a.Resent {
		t.events.EmitMessage(&a.Message, subscriber)
	}
	t.emit(events.Event{Kind: events.TurnStarted, Turn: begun.record.ID, Data: events.TurnStartedInfo{
		TurnID: begun.record.ID, PromptID: begun.record.PromptID, UserID: begun.record.UserID, MessageID: begun.record.ReplyID, Model: t.choices.Model.Name,
	}})
	if text := workspace.NotAdded(a.Omitted); text != "" {
		t.emit(events.Event{Kind: events.Notice, Turn: begun.record.ID, Text: text})
	}
	if renamed {
		t.emit(events.Event{Kind: events.Info, Turn: begun.record.ID, Data: events.TitleInfo{Title: update.Title, UpdatedAt: update.UpdatedAt}})
	}
	if !a.Resent && len(t.context.View()) == before {
		t.historyChanged("unanswered")
	}
	if a.Resume != nil {
		t.historyChanged("resume")
	}
	t.deps.Meter.TurnStarted()
	if begun.ahead == nil {
		state := t.state()
		t.mailbox.Spawn(func() { t.answer(begun, state) })
	} else if begun.built.Plan != nil {
		t.tellBuilt(begun)
	}
	begun.gate.Open()
}
