package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// Assembled is a request that was built for a frontend that calls a model itself.
type Assembled struct {
	Tools       []AssembledTool    `json:"tools"` // in the order and with the bytes in which they must be sent to be cached
	Messages    []AssembledMessage `json:"messages"`
	Breakpoints []Breakpoint       `json:"breakpoints"`
	Tokens      int                `json:"tokens"`
	Left        []LeftOut          `json:"left"`
	MaxOutput   int                `json:"maxOutput"`
	Model       string             `json:"model"`
	AssemblyID  string             `json:"assemblyId,omitempty"` // for commit; empty for a preview
}

// AssembledTool is a tool of an assembled request.
type AssembledTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// AssembledMessage is one message of an assembled request.
type AssembledMessage struct {
	Role    string          `json:"role"` // system, user, assistant, tool
	Content []history.Block `json:"content"`
	Tokens  int             `json:"tokens"` // counted, with the framing
}

// Breakpoint is where a cache mark belongs: behind the last block of a message.
type Breakpoint struct {
	Message int    `json:"message"` // index in messages
	TTL     string `json:"ttl"`     // 5m or 1h
}

// assembled returns the request's entries as messages.
func assembled(b *built) Assembled {
	a := Assembled{Tools: []AssembledTool{}, Messages: []AssembledMessage{}, Breakpoints: []Breakpoint{}, Tokens: b.counted, Left: b.leftOut, MaxOutput: b.request.MaxOutput, Model: b.request.Model}
	if a.Left == nil {
		a.Left = []LeftOut{}
	}
	for _, t := range b.request.Tools {
		a.Tools = append(a.Tools, AssembledTool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	for i := range b.request.Entries {
		e := &b.request.Entries[i]
		a.Messages = append(a.Messages, AssembledMessage{Role: roleOf(e), Content: e.Blocks, Tokens: b.sizes[i]})
		switch e.Mark {
		case llm.Mark5m:
			a.Breakpoints = append(a.Breakpoints, Breakpoint{Message: len(a.Messages) - 1, TTL: "5m"})
		case llm.Mark1h:
			a.Breakpoints = append(a.Breakpoints, Breakpoint{Message: len(a.Messages) - 1, TTL: "1h"})
		}
	}
	return a
}

func roleOf(e *llm.Entry) string {
	switch e.Kind {
	case llm.EntrySystem:
		return "system"
	case llm.EntryContext:
		return string(history.RoleUser)
	default:
		return string(e.Role)
	}
}

// Preview builds the next request as it would be sent now, and changes nothing: it cannot be committed, and a frontend's
// own assembled request stays the one that can.
func (s *Session) Preview(tools []Tool, reply func(Assembled, error)) {
	fail := func(err error) { reply(Assembled{}, err) }
	sortTools(tools)
	s.post(func() {
		s.renewModel()
		snap := s.context.snapshot(s.model, s.thought())
		s.spawn(func() {
			b, err := snap.build(s.ctx, tools)
			if err == nil {
				err = snap.fitError(&b)
			}
			if err != nil {
				fail(err)
				return
			}
			reply(assembled(&b), nil)
		})
	}, fail)
}

func sortTools(tools []Tool) {
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
}

// Assemble builds the next request without sending it: for frontends that call a model themselves and
// tell what it answered with Commit. It counts no reply. What had to be left out stays left out.
func (s *Session) Assemble(tools []Tool, reply func(Assembled, error)) {
	fail := func(err error) { reply(Assembled{}, err) }
	sortTools(tools)
	s.post(func() {
		if s.turn != nil {
			fail(&BusyError{TurnID: s.turn.record.ID})
			return
		}
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			if err := s.checkDocuments(); err != nil {
				return nil, err
			}
			s.renewModel()
			snap := s.context.snapshot(s.model, s.thought())
			return func(ctx context.Context) (step, error) {
				b, err := s.prepare(ctx, &snap, tools)
				if err == nil {
					err = snap.fitError(&b)
				}
				if err == nil {
					err = s.shed(&b)
				}
				if err != nil {
					return nil, err
				}
				snap.logPlanned(&b)
				return done(func() {
					s.filesRefreshed(b.refreshed)
					s.assembly = &assembly{id: s.deps.NewID("asm_"), built: b}
					a := assembled(&b)
					a.AssemblyID = s.assembly.id
					reply(a, nil)
				}), nil
			}, nil
		}})
	}, fail)
}

// assembly is the newest assembled request that was not committed.
type assembly struct {
	id    string
	built built
}

// CommitRequest tells what a frontend's own call answered.
type CommitRequest struct {
	AssemblyID string
	Messages   []history.Message // the answer, with the results of its tool calls where they are there already
	Usage      *history.Usage    // nil where the provider reported none
}

// Committed is the answer to Commit.
type Committed struct {
	MessageIDs []string      `json:"messageIds"`
	MessageID  string        `json:"messageId"`
	Usage      history.Usage `json:"usage"`
	Cost       float64       `json:"cost"`
	Estimated  bool          `json:"estimated,omitempty"` // usage was not told, or not all of it: it was counted
}

// Commit stores what a frontend's own call answered, with its usage, and counts the reply.
func (s *Session) Commit(req CommitRequest, author *Cursor, reply func(Committed, error)) {
	fail := func(err error) { reply(Committed{}, err) }
	s.post(func() {
		if s.turn != nil {
			fail(&BusyError{TurnID: s.turn.record.ID})
			return
		}
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			a := s.assembly
			if a == nil || (req.AssemblyID != "" && req.AssemblyID != a.id) {
				return nil, fmt.Errorf("%w: there is no such assembled request; call context/assemble first", ErrInvalid)
			}
			return s.commitWork(a, req, author, reply), nil
		}})
	}, fail)
}

func (s *Session) commitWork(a *assembly, req CommitRequest, author *Cursor, reply func(Committed, error)) work {
	messages := s.number(req.Messages)
	counter, model := s.context.counter, s.model
	return func(ctx context.Context) (step, error) {
		if err := admitMessages(counter, &model, messages); err != nil {
			return nil, err
		}
		return func() (work, error) { return s.storeCommit(a, messages, req.Usage, author, reply), nil }, nil
	}
}

// frontendSpent returns what a frontend's own call used: what it told, otherwise what was counted.
func (s *Session) frontendSpent(b *built, messages []history.Message, told *history.Usage) spent {
	answer := 0
	for i := range messages {
		if messages[i].Role == history.RoleAssistant {
			answer += max(messages[i].Tokens-tokens.MessageOverhead, 0)
		}
	}
	var result llm.Result
	if told != nil {
		result = llm.Result{Usage: *told, UsageReported: true, Cost: s.model.Cost(*told)}
	}
	c, model := s.context, s.model
	return spentBy(&result, model, b.counted, c.calibrated(model, b.counted), c.calibrated(model, answer))
}

// storeCommit stores a frontend's answer and takes it in.
func (s *Session) storeCommit(a *assembly, messages []history.Message, told *history.Usage, author *Cursor, reply func(Committed, error)) work {
	spent := s.frontendSpent(&a.built, messages, told)
	call := history.Call{
		ID: s.deps.NewID("call_"), Purpose: history.PurposeFrontend, Model: s.model.Name, Usage: spent.usage,
		Cost: spent.cost, Estimated: spent.estimated, Expected: s.context.expected(&a.built), At: s.deps.Now(),
		Categories: a.built.categories, Documents: a.built.documents, Phase: a.built.phase,
	}
	change := history.Change{Messages: messages, Calls: []history.Call{call}}
	if told != nil {
		a.built.mirror.Answered(a.built.plan, cacheUsage(call.Usage))
		change.Calibration = s.context.learn(s.model.Name, a.built.counted, told.Context())
	}
	s.context.requestAnswered(&a.built, &change)
	s.markSent(&a.built)
	change.PutFiles, change.DropFiles = s.context.takeDirty()
	s.assembly = nil
	return s.store("commit a frontend's answer", change, func() {
		s.context.append(messages)
		s.context.count(change.Calls)
		if spent.reported {
			s.context.report(call.Usage)
		}
		answer := Committed{Usage: call.Usage, Cost: call.Cost, Estimated: call.Estimated}
		for i := range messages {
			s.emitMessage(&messages[i], author)
			s.tellProgress(&messages[i])
			answer.MessageIDs = append(answer.MessageIDs, messages[i].ID)
		}
		if len(messages) > 0 {
			answer.MessageID = messages[0].ID
		}
		s.contextChanged("commit")
		s.compactWhenDue()
		s.emit(Event{Kind: EventUsage, Data: UsageInfo{Used: spent.whole, Size: s.model.Window, Cost: s.context.Totals().Cost}})
		reply(answer, nil)
	})
}
