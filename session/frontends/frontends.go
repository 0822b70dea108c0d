// Package frontends serves frontends that call a model themselves: it gives them the next request of a session, and stores the
// replies that they return.
//
// It must never call a model.
package frontends

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/accounts"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/current"
	"strata/session/events"
	"strata/session/mailbox"
	"strata/session/requests"
	"strata/session/workspace"
	"strata/tokens"
)

// Tool is a tool that the model may call.
type Tool = llm.Tool

// Host is the part of a session that its frontends use. Its methods belong to the mailbox, except Measured.
type Host interface {
	Choices() *choices.Choices
	Context() *current.Manager

	// Busy returns an error while a turn runs, nil otherwise.
	Busy() error
	// CheckDocuments returns an error if the phase in force requires a document that is not set.
	CheckDocuments() error
	// State returns the contents of the next request as things are now.
	State() assembly.State
	// NextState returns what the next request is made of with the user's present choices: that of the running turn, or that of a turn that would begin now.
	NextState() assembly.State

	// Number gives new messages their ids, sequence numbers and times.
	Number(messages []history.Message) []history.Message
	// Measured sets the tokens of messages that are to follow a state, and returns the tool results that come late. The
	// error is one for the client.
	Measured(ctx context.Context, s *assembly.State, messages []history.Message) ([]content.Late, error)
	// Answered notes that a provider has read a request, and adds to change what is to be stored of it.
	Answered(b *assembly.Built, change *history.Change)
	// Store returns the work that stores a change under the name of the operation, and then runs then on the mailbox.
	Store(what string, change history.Change, then func()) mailbox.Work

	// TellProgress sends subscribers the progress that a message reports.
	TellProgress(m *history.Message)
	// HistoryChanged notifies subscribers that something other than a turn changed the working history.
	HistoryChanged(reason string)
}

// Services are the parts of the server that frontends use.
type Services struct {
	Now   func() time.Time
	NewID func(prefix string) string // prefix + ULID
}

// Parts are the parts of the session that its frontends use.
type Parts struct {
	Mailbox    *mailbox.Mailbox
	Events     *events.Stream
	Workspace  *workspace.Workspace
	Requests   *requests.Requests
	Accounts   *accounts.Accounts
	Compacting *compacting.Driver
}

// Frontends serves the frontends of one session. It belongs to the session's mailbox; the methods with a reply can be called
// from any goroutine.
type Frontends struct {
	host     Host
	services *Services
	parts    Parts

	newest *assembled // nil after it was committed
}

// New returns the Frontends of a session.
func New(host Host, services *Services, parts Parts) *Frontends {
	return &Frontends{host: host, services: services, parts: parts}
}

// assembled is a request that can be committed.
type assembled struct {
	id    string
	built assembly.Built
}

// Preview builds the next request as it would be sent now, with the session's own tools if none are given, and changes
// nothing: it cannot be committed, and a frontend's own assembled request stays the one that can.
func (f *Frontends) Preview(tools []Tool, reply func(assembly.Assembled, error)) {
	sortTools(tools)
	mailbox.Ask(f.parts.Mailbox, reply, func() {
		state := f.host.NextState()
		if tools != nil {
			state.Tools, state.Withdrawn, state.Guide = tools, nil, ""
		}
		f.parts.Mailbox.Spawn(func() {
			b, err := state.Build(f.parts.Mailbox.Context())
			if err == nil {
				err = state.CheckFits(&b)
			}
			if err != nil {
				reply(assembly.Assembled{}, err)
				return
			}
			reply(b.Assembled(), nil)
		})
	})
}

func sortTools(tools []Tool) {
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
}

// idle runs an operation unless a turn runs.
func idle[T any](f *Frontends, reply func(T, error), begin mailbox.Step) {
	mailbox.Ask(f.parts.Mailbox, reply, func() {
		fail := func(err error) {
			var none T
			reply(none, err)
		}
		if err := f.host.Busy(); err != nil {
			fail(err)
			return
		}
		f.parts.Mailbox.Enqueue(mailbox.Op{Begin: begin, Fail: fail})
	})
}

// Assemble builds the next request without sending it, for frontends that call a model themselves and hand in the reply with
// Commit. It counts no reply. Whatever had to be evicted stays evicted.
func (f *Frontends) Assemble(tools []Tool, reply func(assembly.Assembled, error)) {
	sortTools(tools)
	idle(f, reply, func() (mailbox.Work, error) {
		if err := f.host.CheckDocuments(); err != nil {
			return nil, err
		}
		f.host.Choices().Renew()
		state := f.host.State()
		state.Tools, state.Withdrawn, state.Guide = tools, nil, ""
		return func(ctx context.Context) (mailbox.Step, error) {
			b, err := f.parts.Requests.Prepare(ctx, &state, func() {})
			if err == nil {
				err = state.CheckFits(&b)
			}
			if err == nil {
				err = f.parts.Requests.Evict(&b)
			}
			if err != nil {
				return nil, err
			}
			state.LogPlanned(&b)
			return mailbox.Done(func() {
				f.parts.Workspace.Refreshed(b.Refreshed)
				f.parts.Accounts.TellSent("", &b)
				f.newest = &assembled{id: f.services.NewID("asm_"), built: b}
				a := b.Assembled()
				a.AssemblyID = f.newest.id
				reply(a, nil)
			}), nil
		}, nil
	})
}

// CommitRequest is the reply to a frontend's own call.
type CommitRequest struct {
	AssemblyID string
	Messages   []history.Message // the reply, optionally with the results of its tool calls
	Usage      *history.Usage    // nil if the provider reported none
}

// Committed is the response to Commit.
type Committed struct {
	MessageIDs []string      `json:"messageIds"`
	MessageID  string        `json:"messageId"`
	Usage      history.Usage `json:"usage"`
	Cost       float64       `json:"cost"`
	Estimated  bool          `json:"estimated,omitempty"` // the provider reported only a part of the usage; Strata counted the rest
}

// Commit stores the reply to a frontend's own call with its usage, and counts the reply.
func (f *Frontends) Commit(req CommitRequest, author *events.Cursor, reply func(Committed, error)) {
	idle(f, reply, func() (mailbox.Work, error) {
		a := f.newest
		if a == nil || (req.AssemblyID != "" && req.AssemblyID != a.id) {
			return nil, fmt.Errorf("%w: there is no such assembled request; call context/assemble first", mailbox.ErrInvalid)
		}
		messages := f.host.Number(req.Messages)
		state := f.host.State()
		return func(ctx context.Context) (mailbox.Step, error) {
			late, err := f.host.Measured(ctx, &state, messages)
			if err != nil {
				return nil, err
			}
			return func() (mailbox.Work, error) {
				return f.storeCommit(a, messages, content.Placed(late, messages, f.services.NewID), req.Usage, author, reply), nil
			}, nil
		}, nil
	})
}

// spent returns what a frontend's own call used: what it told, otherwise what was counted.
func (f *Frontends) spent(b *assembly.Built, messages []history.Message, told *history.Usage) assembly.Spent {
	counted := 0
	for i := range messages {
		if messages[i].Role == history.RoleAssistant {
			counted += max(messages[i].Tokens-tokens.MessageOverhead, 0)
		}
	}
	var result reply.Result
	if told != nil {
		result = reply.Result{Usage: *told, UsageReported: true, Cost: f.host.Choices().Model.Cost(*told)}
	}
	measure := f.host.Context().Measure(f.host.Choices().Model)
	return measure.SpentBy(&result, b.Counted, counted)
}

// replyID returns the id of the model's message among those of a frontend, empty for none.
func replyID(messages []history.Message) string {
	i := slices.IndexFunc(messages, func(m history.Message) bool { return m.Role == history.RoleAssistant })
	if i < 0 {
		return ""
	}
	return messages[i].ID
}

// storeCommit stores the reply to a frontend's own call and adopts it.
func (f *Frontends) storeCommit(a *assembled, messages []history.Message, placed []history.Edit, told *history.Usage, author *events.Cursor, reply func(Committed, error)) mailbox.Work {
	b, model := &a.built, f.host.Choices().Model
	spent := f.spent(b, messages, told)
	call := history.Call{
		ID: f.services.NewID("call_"), Purpose: history.PurposeFrontend, Model: model.Name, Usage: spent.Usage,
		Cost: spent.Cost, Estimated: spent.Estimated, Expected: f.host.Context().Expected(b), At: f.services.Now(),
		Categories: b.Categories, Documents: b.Documents, Phase: b.Phase,
	}
	change := history.Change{Messages: messages, Edits: placed, Calls: []history.Call{call}}
	if told != nil {
		b.Mirror.Answered(b.Plan, assembly.CacheUsage(call.Usage))
		change.Calibration = f.host.Context().Learn(model.Name, b.Counted, told.Context())
	}
	change.Requests = b.KeptFor(change.Calls, replyID(messages), f.host.Context().LastSeq())
	f.host.Answered(b, &change)
	f.parts.Workspace.TakeDirty(&change)
	f.newest = nil
	return f.host.Store("commit a frontend's reply", change, func() {
		now := f.host.Context()
		now.Extend(messages, placed)
		now.Layout.Stored()
		now.Count(change.Calls)
		if spent.Reported {
			now.Report(call.Usage)
		}
		committed := Committed{Usage: call.Usage, Cost: call.Cost, Estimated: call.Estimated}
		for i := range messages {
			f.parts.Events.EmitMessage(&messages[i], author)
			f.host.TellProgress(&messages[i])
			committed.MessageIDs = append(committed.MessageIDs, messages[i].ID)
		}
		if len(messages) > 0 {
			committed.MessageID = messages[0].ID
		}
		f.host.HistoryChanged("commit")
		f.parts.Compacting.WhenDue()
		f.parts.Accounts.EmitUsage("", spent.Whole, f.host.Choices().Model.Window)
		reply(committed, nil)
	})
}
