package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"strata/history"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/current"
	"strata/session/documents"
	"strata/session/events"
	"strata/session/following"
	"strata/session/loop"
	"strata/session/mailbox"
	"strata/session/saving"
	"strata/session/workspace"
	"strata/tokens"
)

// maxPending limits what waits for a session, of each kind.
const maxPending = mailbox.MaxWaiting

type (
	work = mailbox.Work
	step = mailbox.Step

	// ContextManager is what a session's requests are made of.
	ContextManager = current.Manager
)

// core is what the parts of a session share. It belongs to the mailbox, but for what is set when the session is made: the
// first group.
type core struct {
	id        string
	deps      *Deps
	mailbox   *mailbox.Mailbox
	events    *events.Stream
	workspace *workspace.Workspace
	changed   func()       // tells the server what the session is doing
	active    atomic.Int64 // when the session was used last, see LastUsed

	choices *choices.Choices
	context *ContextManager
	doings  *following.Doings
}

// begins tells the server that the session begins another activity.
func (c *core) begins(kind following.Kind, title string) {
	if c.doings.Begin(kind, title) {
		c.changed()
	}
}

// tell queues a job that must not be lost while the session lives.
func (c *core) tell(run func()) { c.mailbox.Tell(run, nil) }

func (c *core) emit(e events.Event) uint64 { return c.events.Emit(e) }

// store returns the work that stores a change under the name of the operation, and then runs then on the mailbox.
func (c *core) store(what string, change history.Change, then func()) work {
	change.Session = c.id
	return func(ctx context.Context) (step, error) {
		if err := saving.Commit(ctx, c.deps.Store, change); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", what, ErrStorage, err)
		}
		return mailbox.Done(then), nil
	}
}

func (c *core) compactionRules() compacting.Rules {
	return compacting.Rules{Strategy: c.choices.Strategy(), Profiles: c.choices.Rules.Profiles}
}

// state returns what the next request is made of.
func (c *core) state() assembly.State { return c.context.State(c.choices) }

// counter counts tokens for the model in force.
func (c *core) counter() *tokens.Counter { return tokens.For(c.choices.Model.Encoding) }

// used notes that the session is in use.
func (c *core) used() { c.active.Store(c.deps.Now().UnixNano()) }

// LastUsed returns when the session was used last.
func (c *core) LastUsed() time.Time { return time.Unix(0, c.active.Load()) }

// number gives new messages their ids, sequence numbers and times.
func (c *core) number(messages []history.Message) []history.Message {
	seq := c.context.NextSeq()
	for i := range messages {
		m := &messages[i]
		m.ID, m.Seq, m.At, m.Status = c.deps.NewID("msg_"), seq+int64(i), c.deps.Now(), history.StatusComplete
	}
	return messages
}

// measured is State.Measured with an error for the client.
func measured(ctx context.Context, s *assembly.State, messages []history.Message) ([]content.Late, error) {
	late, err := s.Measured(ctx, messages)
	if _, wrong := errors.AsType[*content.MessageError](err); wrong {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return late, err
}

// unanswered returns the note that a turn failed before the model said anything; none for other turns.
func (c *core) unanswered(of *history.Turn, replied bool) []history.Edit {
	note, ok := c.context.Log.Unreplied(of)
	if replied || !ok {
		return nil
	}
	note.ID = c.deps.NewID("edit_")
	return []history.Edit{note}
}

// extend adds stored messages, and edits that follow them, to the working history.
func (c *core) extend(messages []history.Message, edits []history.Edit) {
	c.context.Extend(messages, edits)
}

// edited adopts a stored change with edits of the view and the model calls for them.
func (c *core) edited(change *history.Change) {
	c.extend(nil, change.Edits)
	c.context.Count(change.Calls)
}

// historyChanged tells the subscribers that the working history changed other than by a turn.
func (c *core) historyChanged(reason string) {
	c.used()
	c.emit(events.Event{Kind: events.ContextChanged, Settled: c.context.LastSeq(), Data: events.ContextInfo{
		Reason: reason, Tokens: c.historyTokens(), Seq: c.context.LastSeq(),
	}})
}

// historyTokens returns the tokens of the working history as the model's provider counts them.
func (c *core) historyTokens() int {
	measure := c.context.Measure(c.choices.Model)
	return measure.Calibrated(c.context.Tokens())
}

// answered notes that the provider has read a request, and adds to change what is to be stored of it.
func (c *core) answered(b *assembly.Built, change *history.Change) {
	if err := c.context.Answered(b, change); err != nil {
		c.deps.Log.Error("layout not kept, the next request is rebuilt", slog.String("session", c.id), slog.Any("error", err))
	}
}

// checkDocuments returns an ErrInvalid if the phase in force requires a document that is not set.
func (c *core) checkDocuments() error {
	return c.choices.CheckDocuments(func(name string) bool { return documents.Find(c.context.Documents, name) >= 0 })
}

// tellProgress tells the progress that a reply of a loop reports.
func (c *core) tellProgress(m *history.Message) {
	if c.choices.Profile.Loop.Zero() || m == nil || m.Role != history.RoleAssistant || m.Status != history.StatusComplete {
		return
	}
	markers, complete := loop.Markers(m)
	if len(markers) > 0 {
		c.emit(events.Event{Kind: events.Progress, Turn: m.Turn, Data: events.ProgressInfo{MessageID: m.ID, Markers: markers}})
	}
	if complete {
		c.emit(events.Event{Kind: events.Completed, Turn: m.Turn, Data: events.CompletedInfo{MessageID: m.ID, Iterations: c.context.Log.Exchanges()}})
	}
}
