package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/accounts"
	"strata/session/asking"
	"strata/session/assembly"
	"strata/session/calls"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/following"
	"strata/session/mailbox"
	"strata/session/metered"
	"strata/session/permissions"
	"strata/session/reads"
	"strata/session/requests"
	"strata/session/saving"
	"strata/session/servers"
	"strata/session/toolbox"
	"strata/session/tools"
)

// maxRequests limits the requests of a turn while it learns what its provider takes.
const maxRequests = 4

// turns are the turns of a session: the one that runs, the result of the last one while it is not stored, and the changes
// that wait for them. They belong to the mailbox.
type turns struct {
	*core
	subs       *subscriptions
	accounts   *accounts.Accounts
	requests   *requests.Requests
	compacting *compacting.Driver
	stopping   chan struct{} // closed when the session begins to close

	toolbox  *toolbox.Toolbox
	servers  *servers.Servers
	asking   *asking.Asking
	permits  *permissions.Permissions
	running  *turn
	unsaved  *ending
	deferred []deferral
	planned  []history.FileChange // by the last server, on files of a client: their effects are known when it is there
}

// deferral is a change, or a prompt, that waits for the end of the running turn.
type deferral struct {
	do   func() // when the result is stored
	drop func() // when it never will be, since the server stops
}

// turn is one prompt and its reply, from the moment that the mailbox took the prompt. It belongs to the mailbox; its stream
// runs in a goroutine that only posts.
type turn struct {
	record  history.Turn
	model   llm.Model
	waiters []waiter

	unread  []fit.Omitted // of the prompt itself
	omitted []fit.Omitted // that, and what the newest request omits

	calibration *history.Calibration // learned from a refused request; nil for none

	ctx  context.Context // ends when the turn is cancelled
	stop context.CancelFunc

	stored      bool            // the user's message is on disk
	gate        *mailbox.Gate   // opens then
	ahead       *history.Log    // with the user's message, if the reply begins before
	meta        json.RawMessage // of the prompt
	cancelled   bool            // by the user
	interrupted bool            // the server stops

	tools    *tools.Set      // that the model may call; nil for none
	starting <-chan struct{} // closed when the MCP servers have started for which the first request waits; nil: for none
	// Lines of files; not touched while reading calls run.
	shown   *reads.View // in the newest request
	lasting *reads.View // of tool results in it that the next one has, too: none while a compaction may remove them

	// The running step.
	step          int    // from 1
	message       string // id of its message
	text, thought strings.Builder
	calls         calls.Told
	partial       *saving.Partial
	built         assembly.Built

	last      string        // id of the newest stored message of the reply; empty for none
	spent     history.Usage // by the steps that are stored
	cost      float64       // likewise
	estimated bool          // likewise

	outcome *outcome // of the reply, once it has ended
}

// waiter waits for a turn's end. The subscriber, nil for none, receives the turn's events before that.
type waiter struct {
	reply      PromptReply
	subscriber *events.Cursor
}

func (t *turns) newTurn(p Prompt, w waiter) *turn {
	begun := &turn{
		record: history.Turn{
			ID:        t.deps.NewID("turn_"),
			PromptID:  p.ID,
			UserID:    t.deps.NewID("msg_"),
			ReplyID:   t.deps.NewID("msg_"),
			Status:    history.TurnRunning,
			StartedAt: t.deps.Now(),
		},
		model:   t.choices.Model,
		meta:    p.Meta,
		waiters: []waiter{w},
		gate:    t.mailbox.NewGate(),
	}
	begun.ctx, begun.stop = context.WithCancel(t.mailbox.Context())
	begun.step, begun.message, begun.shown, begun.lasting = 1, begun.record.ReplyID, new(reads.View), new(reads.View)
	starting := t.servers.Starting() // before the tools are opened, which then have those of all others
	if begun.tools = t.openTools(begun.shown, begun.lasting); begun.tools != nil {
		begun.starting = starting
	}
	t.startPartial(begun)
	return begun
}

// startPartial begins to save the message of the turn's running step.
func (t *turns) startPartial(of *turn) {
	of.partial = saving.NewPartial(of.record.ID, of.message, t.mailbox, func(chunk history.Partial) error {
		return t.deps.Store.Commit(of.ctx, history.Change{Session: t.id, Partial: &chunk})
	}, func(err error) {
		if of.ctx.Err() == nil {
			t.deps.Log.Warn("partial reply not saved", slog.String("session", t.id), slog.String("turn", of.record.ID), slog.Any("error", err))
		}
	})
}

// nextStep begins a step with the id of its message, after the one before was stored.
func (t *turn) nextStep(message string) {
	t.partial.Stop()
	t.step++
	t.message, t.built = message, assembly.Built{}
	t.calls.MessageStored()
	t.text.Reset()
	t.thought.Reset()
}

// reply tells all who wait for the turn how it ended.
func (t *turn) reply(result PromptResult, seq uint64, err error) {
	for _, w := range t.waiters {
		w.subscriber.WhenPositioned(func() { w.reply(result, seq, err) })
	}
	t.waiters = nil
}

// running returns the reply that is not stored, nil before the prompt is.
func (t *turn) running() *events.Running {
	if !t.stored {
		return nil
	}
	return &events.Running{
		Turn: t.record.ID, Message: t.message, Thought: t.thought.String(), Text: t.text.String(), Calls: t.calls.Announced(), Open: t.calls.Open(),
	}
}

// Cancel stops the running turn: it ends with the stop reason cancelled. If turnID is given it must be that turn. It has no
// effect while no turn runs.
func (t *turns) Cancel(turnID string) {
	t.tell(func() {
		if t.running != nil && (turnID == "" || turnID == t.running.record.ID) {
			t.cancel(t.running)
		}
	})
}

// cancel cancels a turn if it is the running one.
func (t *turns) cancel(of *turn) {
	if of != nil && of == t.running {
		of.cancelled = true
		of.stop()
	}
}

// interrupt stops the running turn, since the session closes.
func (t *turns) interrupt(serverStops bool) {
	if t.running != nil {
		t.running.interrupted, t.running.cancelled = serverStops, !serverStops
		t.running.stop()
	}
}

// converse builds the turn's request, sends it and streams the reply. A request that is refused for its size or for a
// picture teaches something; unless a part of the reply was shown the request is rebuilt with that, and sent again if it is
// smaller than the one that was refused. The reply is counted while it arrives.
func (t *turns) converse(of *turn, state *assembly.State, arriving *content.Arriving) (out outcome) {
	call := metered.Begin(t.deps.Now)
	defer func() { out.call = call }()
	before := 0 // tokens of the request that was refused
	for n := 1; ; n++ {
		b, err := t.requests.Prepare(of.ctx, state, of.gate.Pass)
		if err == nil && !b.Changes.Empty() {
			of.gate.Pass()
			err = t.requests.Evict(&b)
		}
		switch {
		case err != nil:
			return outcome{err: err}
		case n > 1 && (b.Claims() >= before || state.CheckFits(&b) != nil):
			return out // nothing is left to omit
		}
		before = b.Claims()
		state.LogPlanned(&b)
		t.mailbox.Wait(func() { t.built(of, b) })
		out = t.receive(of, &b, call, arriving)
		learned, err := t.learnRefusal(of, state, &b, out.err)
		switch {
		case err != nil:
			return outcome{err: err}
		case !learned.Teaches(), out.shown, n == maxRequests, of.ctx.Err() != nil:
			return out
		}
		t.mailbox.Wait(func() {
			t.brokeOff(of)
			t.emit(events.Event{Kind: events.Notice, Turn: of.record.ID, Text: learned.Notice})
			*state = t.context.Renewed(state, of.model, t.choices)
		})
	}
}

// receive sends a request, streams the reply, and posts what arrives once the user's message is stored.
func (t *turns) receive(of *turn, b *assembly.Built, call *metered.Call, arriving *content.Arriving) (out outcome) {
	cached := false
	call.Sending()
	out.result, out.err = t.deps.Models.Stream(of.ctx, b.Request, func(e reply.Event) {
		of.gate.Pass()
		call.Event(&e)
		if e.Kind == reply.EventUsage && !cached {
			cached = true
			b.Mirror.Answered(b.Plan, assembly.CacheUsage(*e.Usage))
		}
		out.shown = out.shown || e.Kind == reply.EventText || e.Kind == reply.EventThinking
		t.mailbox.Feed(func() { t.onEvent(of, e) })
		arriving.Take(e)
	})
	call.Ended(&out.result)
	of.gate.Pass()
	return out
}

// learnRefusal learns from the error that a request of the turn ended with, if it tells what the provider takes. An error of
// its own is that of the store.
func (t *turns) learnRefusal(of *turn, state *assembly.State, b *assembly.Built, failed error) (assembly.Refusal, error) {
	e, ok := errors.AsType[*llm.Error](failed)
	if !ok {
		return assembly.Refusal{}, nil
	}
	r := state.Refusal(b, e)
	if len(r.Patches) > 0 {
		edit := history.Edit{Kind: history.EditTruncate, Reason: r.Reason, Patches: r.Patches, SavedTokens: fit.Saved(r.Patches)}
		if err := t.requests.Amend(edit, "fitted"); err != nil {
			return assembly.Refusal{}, fmt.Errorf("omit pictures: %w", err)
		}
	}
	t.mailbox.Wait(func() {
		if r.Counted > 0 {
			of.calibration = t.context.Learn(of.model.Name, b.Counted, r.Counted)
		}
		if r.Window > 0 {
			t.deps.Models.LimitWindow(of.model.Name, r.Window)
			of.model.Window = min(of.model.Window, r.Window)
			t.choices.Renew()
		}
	})
	return r, nil
}

// built takes the turn's newest request.
func (t *turns) built(of *turn, b assembly.Built) {
	of.built = b
	if len(b.Withdrawn) > 0 {
		t.toolbox.LeftOut(b.Withdrawn)
		t.context.Tools, t.context.Withdrawn = t.toolbox.Definitions()
	}
	if of.stored {
		t.tellBuilt(of)
	}
}

// tellBuilt adopts what building the turn's request found, and tells it.
func (t *turns) tellBuilt(of *turn) {
	b := &of.built
	t.workspace.Refreshed(b.Refreshed)
	t.accounts.TellSent(of.record.ID, b)
	of.omitted = slices.Concat(of.unread, b.Omitted)
	if len(of.omitted) > 0 {
		t.emit(events.Event{Kind: events.LeftOut, Turn: of.record.ID, Data: assembly.LeftOuts{LeftOut: of.omitted}})
	}
}

// onEvent takes an event of the reply.
func (t *turns) onEvent(of *turn, e reply.Event) {
	switch e.Kind {
	case reply.EventText:
		t.emitText(of, events.Text, &of.text, e.Text)
		of.partial.Add(history.BlockText, e.Text)
	case reply.EventThinking:
		t.emitText(of, events.Thought, &of.thought, e.Text)
		of.partial.Add(history.BlockThinking, e.Text)
	case reply.EventToolCall:
		if e.Call.Name != "" && e.Call.Args == "" {
			t.announce(of, e.Call)
		}
	case reply.EventRetrying:
		t.brokeOff(of)
		t.emit(events.Event{Kind: events.Retrying, Turn: of.record.ID, Data: events.RetryInfo{
			Attempt: e.Retry.Attempt, Of: e.Retry.Of, DelayMs: e.Retry.Delay.Milliseconds(), Status: e.Retry.Status, Reason: e.Retry.Reason,
		}})
	}
}

// announce tells the subscribers of a call whose name is known.
func (t *turns) announce(of *turn, call *reply.ToolCallDelta) {
	block := &history.Block{Type: history.BlockToolCall, CallID: call.ID, Name: call.Name}
	t.events.EmitCall(of.running(), block)
	of.calls.Announce(block)
}

// brokeOff settles the calls that were announced of a reply that is asked for again, which is another message.
func (t *turns) brokeOff(of *turn) {
	ended := of.calls.BrokenOff(of.record.ID)
	if len(ended) == 0 {
		return
	}
	t.events.EmitAll(ended)
	of.partial.Stop()
	of.message = t.deps.NewID("msg_")
	t.startPartial(of)
}

// speaking are the activities in which text of a kind arrives.
var speaking = map[events.Kind]following.Kind{events.Text: following.Answering, events.Thought: following.Thinking}

// emitText adds text to the reply, whose text or thinking so far is in sofar, and tells the subscribers.
func (t *turns) emitText(of *turn, kind events.Kind, sofar *strings.Builder, text string) {
	t.events.EmitDelta(kind, of.running(), text)
	t.begins(speaking[kind], "")
	sofar.WriteString(text)
	t.deps.Meter.Deltas(1)
}

// streamed takes the outcome of the stream. If that panics the turn is given up, so that the session can go on; the next
// load ends it with the text that was saved.
func (t *turns) streamed(of *turn, out *outcome) {
	err := t.mailbox.Guard(func() {
		of.outcome = out
		t.finish(of)
	})
	if err == nil {
		return
	}
	t.running = nil
	t.subs.clients.TurnEnded()
	of.reply(PromptResult{Turn: of.record}, 0, err)
	t.over()
}

// over does what had to wait for the turn's end.
func (t *turns) over() {
	t.changed()
	t.core.used()
	if t.unsaved == nil {
		t.doDeferred()
	}
	t.mailbox.CheckIdle()
}

// doDeferred does what has to follow the turn in the transcript, up to a prompt, whose turn the rest has to follow, and
// then compacts if that is due.
func (t *turns) doDeferred() {
	for len(t.deferred) > 0 && t.running == nil {
		next := t.deferred[0]
		t.deferred = t.deferred[1:]
		next.do()
	}
	t.compacting.WhenDue()
}

// dropDeferred gives up the changes that wait for a result that this server does not store: that has its place in the
// transcript.
func (t *turns) dropDeferred() {
	waiting := t.deferred
	t.deferred = nil
	for _, d := range waiting {
		d.drop()
	}
	t.compacting.Abandon()
}

// afterTurn lets a change wait for the turn's end. It returns an error if too many wait.
func (t *turns) afterTurn(d deferral) error {
	if len(t.deferred) >= maxPending {
		return fmt.Errorf("session %s: %w", t.id, ErrOverload)
	}
	t.deferred = append(t.deferred, d)
	return nil
}

// unfinished returns the turn that runs or whose result is not stored, nil if there is none.
func (t *turns) unfinished() *turn {
	if t.unsaved != nil {
		return t.unsaved.turn
	}
	return t.running
}

// refusal returns the error for changes that must not come between a turn and its result, nil if there is no such turn.
func (t *turns) refusal() error {
	switch {
	case t.running != nil:
		return &BusyError{TurnID: t.running.record.ID}
	case t.unsaved != nil:
		return t.unsaved.refusal()
	}
	return nil
}
