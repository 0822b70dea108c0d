package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/accounts"
	"strata/session/assembly"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/events"
	"strata/session/mailbox"
	"strata/session/requests"
	"strata/tokens"
)

// Tool is a tool that the model may call.
type Tool = llm.Tool

// frontends serve frontends that call a model themselves: they get the request, and hand in the reply. They belong to the
// mailbox.
type frontends struct {
	*core
	turns      *turns
	requests   *requests.Requests
	accounts   *accounts.Accounts
	compacting *compacting.Driver

	newest *assembled // nil after it was committed
}

// assembled is a request that can be committed.
type assembled struct {
	id    string
	built assembly.Built
}

// Preview builds the next request as it would be sent now, with the session's own tools if none are given, and changes
// nothing: it cannot be committed, and a frontend's own assembled request stays the one that can.
func (f *frontends) Preview(tools []Tool, reply func(assembly.Assembled, error)) {
	sortTools(tools)
	mailbox.Ask(f.mailbox, reply, func() {
		state := f.turns.nextState()
		if tools != nil {
			state.Tools, state.Withdrawn, state.Guide = tools, nil, ""
		}
		f.mailbox.Spawn(func() {
			b, err := state.Build(f.mailbox.Context())
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
func idle[T any](f *frontends, reply func(T, error), begin step) {
	mailbox.Ask(f.mailbox, reply, func() {
		fail := func(err error) {
			var none T
			reply(none, err)
		}
		if f.turns.running != nil {
			fail(&BusyError{TurnID: f.turns.running.record.ID})
			return
		}
		f.mailbox.Enqueue(mailbox.Op{Begin: begin, Fail: fail})
	})
}

// Assemble builds the next request without sending it, for frontends that call a model themselves and hand in the reply with
// Commit. It counts no reply. Whatever had to be evicted stays evicted.
func (f *frontends) Assemble(tools []Tool, reply func(assembly.Assembled, error)) {
	sortTools(tools)
	idle(f, reply, func() (work, error) {
		if err := f.checkDocuments(); err != nil {
			return nil, err
		}
		f.choices.Renew()
		state := f.state()
		state.Tools, state.Withdrawn, state.Guide = tools, nil, ""
		return func(ctx context.Context) (step, error) {
			b, err := f.requests.Prepare(ctx, &state, func() {})
			if err == nil {
				err = state.CheckFits(&b)
			}
			if err == nil {
				err = f.requests.Evict(&b)
			}
			if err != nil {
				return nil, err
			}
			state.LogPlanned(&b)
			return mailbox.Done(func() {
				f.workspace.Refreshed(b.Refreshed)
				f.accounts.TellSent("", &b)
				f.newest = &assembled{id: f.deps.NewID("asm_"), built: b}
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
	Messages   []history.Message // the reply, with the results of its tool calls if they are there already
	Usage      *history.Usage    // nil if the provider reported none
}

// Committed is the response to Commit.
type Committed struct {
	MessageIDs []string      `json:"messageIds"`
	MessageID  string        `json:"messageId"`
	Usage      history.Usage `json:"usage"`
	Cost       float64       `json:"cost"`
	Estimated  bool          `json:"estimated,omitempty"` // not all of the usage was told: the rest is counted
}

// Commit stores the reply to a frontend's own call with its usage, and counts the reply.
func (f *frontends) Commit(req CommitRequest, author *events.Cursor, reply func(Committed, error)) {
	idle(f, reply, func() (work, error) {
		a := f.newest
		if a == nil || (req.AssemblyID != "" && req.AssemblyID != a.id) {
			return nil, fmt.Errorf("%w: there is no such assembled request; call context/assemble first", ErrInvalid)
		}
		messages := f.number(req.Messages)
		state := f.state()
		return func(ctx context.Context) (step, error) {
			late, err := measured(ctx, &state, messages)
			if err != nil {
				return nil, err
			}
			return func() (work, error) {
				return f.storeCommit(a, messages, content.Placed(late, messages, f.deps.NewID), req.Usage, author, reply), nil
			}, nil
		}, nil
	})
}

// spent returns what a frontend's own call used: what it told, otherwise what was counted.
func (f *frontends) spent(b *assembly.Built, messages []history.Message, told *history.Usage) assembly.Spent {
	counted := 0
	for i := range messages {
		if messages[i].Role == history.RoleAssistant {
			counted += max(messages[i].Tokens-tokens.MessageOverhead, 0)
		}
	}
	var result reply.Result
	if told != nil {
		result = reply.Result{Usage: *told, UsageReported: true, Cost: f.choices.Model.Cost(*told)}
	}
	measure := f.context.Measure(f.choices.Model)
	return measure.SpentBy(&result, b.Counted, counted)
}

// storeCommit stores the reply to a frontend's own call and adopts it.
func (f *frontends) storeCommit(a *assembled, messages []history.Message, placed []history.Edit, told *history.Usage, author *events.Cursor, reply func(Committed, error)) work {
	b, model := &a.built, f.choices.Model
	spent := f.spent(b, messages, told)
	call := history.Call{
		ID: f.deps.NewID("call_"), Purpose: history.PurposeFrontend, Model: model.Name, Usage: spent.Usage,
		Cost: spent.Cost, Estimated: spent.Estimated, Expected: f.context.Expected(b), At: f.deps.Now(),
		Categories: b.Categories, Documents: b.Documents, Phase: b.Phase,
	}
	change := history.Change{Messages: messages, Edits: placed, Calls: []history.Call{call}}
	if told != nil {
		b.Mirror.Answered(b.Plan, assembly.CacheUsage(call.Usage))
		change.Calibration = f.context.Learn(model.Name, b.Counted, told.Context())
	}
	f.answered(b, &change)
	f.workspace.TakeDirty(&change)
	f.newest = nil
	return f.store("commit a frontend's reply", change, func() {
		f.extend(messages, placed)
		f.context.Layout.Stored()
		f.context.Count(change.Calls)
		if spent.Reported {
			f.context.Report(call.Usage)
		}
		committed := Committed{Usage: call.Usage, Cost: call.Cost, Estimated: call.Estimated}
		for i := range messages {
			f.events.EmitMessage(&messages[i], author)
			f.tellProgress(&messages[i])
			committed.MessageIDs = append(committed.MessageIDs, messages[i].ID)
		}
		if len(messages) > 0 {
			committed.MessageID = messages[0].ID
		}
		f.historyChanged("commit")
		f.compacting.WhenDue()
		f.accounts.EmitUsage("", spent.Whole, f.choices.Model.Window)
		reply(committed, nil)
	})
}
