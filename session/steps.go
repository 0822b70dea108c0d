package session

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"strata/history"
	"strata/llm/reply"
	"strata/session/approval"
	"strata/session/asking"
	"strata/session/assembly"
	"strata/session/clients"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/events"
	"strata/session/filechanges"
	"strata/session/following"
	"strata/session/metered"
	"strata/session/permissions"
	"strata/session/reads"
	"strata/session/saving"
	"strata/session/servers"
	"strata/session/shell"
	"strata/session/tools"
	"strata/session/workspace"
)

// replying is the goroutine of a turn's reply: calls of the model, one for each step, and the calls of tools between them.
type replying struct {
	*turns
	of      *turn
	state   assembly.State
	out     outcome
	repeats tools.Repeats
	asks    tools.Progress // of the call on which nothing was decided
	seq     int64          // of the message of the newest step
}

// outcome is how the reply of a turn ended: that of its newest step, of which nothing is stored unless it says so.
type outcome struct {
	result reply.Result
	tokens int  // of the reply, counted, with the framing of a message
	shown  bool // a part of the reply was shown
	err    error
	call   *metered.Call // nil: none was made

	step  *tools.Step         // the calls whose results are not stored; nil for none
	file  *history.FileChange // that the newest call makes, planned; nil for none
	limit string              // stop reason of a turn that has reached a limit of ours
	taken *taken              // what could not be stored of the step; nil: nothing was tried
}

// answer runs in the turn's goroutine: it gets the reply and posts how that ended.
func (t *turns) answer(of *turn, state assembly.State) {
	r := &replying{turns: t, of: of, state: state}
	err := t.mailbox.Guard(r.run)
	of.gate.Pass()
	if err != nil {
		r.out.err = err
	}
	t.mailbox.Feed(func() { t.streamed(of, &r.out) })
}

// run is the turn's way through its states.
func (r *replying) run() {
	if r.of.starting != nil {
		r.awaitServers()
	}
	for at := tools.Streaming; at != tools.Ended; {
		event := r.do(at)
		if r.of.ctx.Err() != nil {
			event = tools.Stopped
		}
		at = tools.Next(at, event)
	}
}

// awaitServers waits for the MCP servers that are starting, and then makes the set of tools again.
func (r *replying) awaitServers() {
	servers.Await(r.of.ctx, r.of.starting)
	r.of.gate.Pass()
	r.mailbox.Wait(func() {
		r.of.tools = r.openTools(r.of.shown, r.of.lasting)
		r.state = r.context.Renewed(&r.state, r.of.model, r.choices)
		r.state.Tools, r.state.Withdrawn, r.state.Guide = r.context.Tools, r.context.Withdrawn, r.context.Guide
	})
}

func (r *replying) do(at tools.State) tools.Event {
	switch at {
	case tools.Streaming:
		return r.stream()
	case tools.Reviewing:
		return r.decided(r.out.step.Review())
	case tools.Preparing:
		return r.decided(r.out.step.Prepare(r.of.ctx, r.mailbox.Spawn))
	case tools.Asking:
		return r.ask()
	case tools.Running:
		return r.runCalls()
	default:
		return r.fit()
	}
}

// decided takes what was found out of the next call.
func (r *replying) decided(event tools.Event, next tools.Progress) tools.Event {
	switch event {
	case tools.Refused:
		r.tellCall(next)
	case tools.Asks:
		r.asks = next
		if next.Diffs != nil {
			r.tellCall(next)
		}
	}
	return event
}

// stream gets one message of the model. If it has calls that may run, it is stored.
func (r *replying) stream() tools.Event {
	r.mailbox.Feed(func() { r.begins(following.Waiting, "") })
	arriving := content.NewArriving(r.of.ctx, r.state.Counter)
	defer arriving.Close() // also after a panic
	r.out = r.converse(r.of, &r.state, arriving)
	r.out.tokens = arriving.Tokens(r.out.result.Blocks)
	r.out.step = cmp.Or(r.of.tools, new(tools.Set)).NewStep(r.out.result.Blocks, r.state.ResultTokens(), r.state.Counter.Count, r.state.PathOf)
	switch reason := r.out.result.StopReason; {
	case r.out.err != nil:
		return tools.GaveUp
	case r.of.tools == nil, r.out.step.Calls() == 0:
		return tools.Replied
	case reason == reply.StopMaxTokens || reason == reply.StopRefusal:
		return tools.Replied
	}
	r.of.gate.Pass()
	if r.out.err = r.storeMessage(); r.out.err != nil {
		return tools.GaveUp
	}
	return tools.Called
}

// storeMessage stores the message of a step, with the usage of its call, before any of its calls runs.
func (r *replying) storeMessage() error {
	of, t := r.of, taken{}
	var files []history.FileLines
	var compacts bool
	r.mailbox.Wait(func() {
		of.built.Step = true
		files, compacts = of.built.ShownLines(), r.compacting.Running()
		t = r.take(of, &r.out, history.StatusComplete, r.deps.Now())
		t.change.DropPartials = of.record.ID
	})
	if err := saving.Commit(context.WithoutCancel(r.mailbox.Context()), r.deps.Store, t.change); err != nil {
		r.out.taken = &t
		return fmt.Errorf("store the step: %w: %w", ErrStorage, err)
	}
	r.seq = t.reply.Seq
	r.mailbox.Wait(func() {
		r.adopt(of, &t)
		r.accounts.EmitUsage(of.record.ID, t.spent.Whole, of.model.Window)
		of.nextStep(r.deps.NewID("msg_"))
		r.startPartial(of)
	})
	r.out = outcome{step: r.out.step}
	shown, err := r.state.ShownLines(of.ctx)
	*of.shown, *of.lasting = *shown, reads.View{}
	if !compacts {
		*of.lasting = *shown.Clone()
	}
	for i := range files {
		of.shown.Add(&files[i])
	}
	return err
}

// ask decides whether the next call may run: by the rules, or else the user does.
func (r *replying) ask() tools.Event {
	call, change := r.out.step.Asked()
	decided := permissions.Call(call, change)
	outcome, err := r.asking.Ask(r.of.ctx, asking.Question{Tool: call.Tool.Name, Call: r.asks, Decide: func() approval.Decision {
		decision := r.permits.Decide(decided)
		if decision.Verdict == approval.Asks {
			r.begins(following.Asking, r.asks.Title)
		}
		return decision
	}})
	switch {
	case err != nil:
		return tools.Stopped
	case !outcome.Allowed:
		r.tellCall(r.out.step.Refuse(outcome.Refusal))
		return tools.Refused
	}
	r.permits.Grant(r.of.ctx, outcome.Rule)
	r.out.step.Allow()
	return tools.Allowed
}

// runCalls runs the calls that may run. What undoes a change of files is stored before it; the result of a call that can have
// changed something is stored before anything else.
func (r *replying) runCalls() tools.Event {
	if r.out.err = r.storePlanned(); r.out.err != nil {
		return tools.GaveUp
	}
	r.out.step.Run(r.of.ctx, r.mailbox.Spawn, r.tellCall)
	for _, lines := range r.out.step.Shows() {
		r.of.shown.Add(&lines)
		r.of.lasting.Add(&lines)
	}
	if r.of.ctx.Err() == nil && r.out.step.Changed() {
		if r.out.err = r.storeResults(); r.out.err != nil {
			return tools.GaveUp
		}
	}
	return tools.Returned
}

// storePlanned stores the change of files that the next call makes, if it makes one.
func (r *replying) storePlanned() error {
	call, planned := r.out.step.Allowed()
	if planned == nil {
		return nil
	}
	change := history.Change{Session: r.id}
	record := filechanges.Put(&change, filechanges.Place{
		ID: r.deps.NewID("fc_"), Turn: r.of.record.ID, Step: r.of.step - 1, Call: call.ID, Seq: r.seq, At: r.deps.Now(),
	}, planned)
	if err := saving.Commit(context.WithoutCancel(r.mailbox.Context()), r.deps.Store, change); err != nil {
		return fmt.Errorf("store the change of a file: %w: %w", ErrStorage, err)
	}
	r.out.file = &record
	return nil
}

// fit stores the results of a step and makes the state the one after it, unless the turn has reached a limit.
func (r *replying) fit() tools.Event {
	repeated := r.repeats.Note(r.out.step)
	if r.out.err = r.storeResults(); r.out.err != nil {
		return tools.GaveUp
	}
	r.out.step = nil
	r.compact()
	switch {
	case repeated:
		r.sayRepeated()
		return tools.Exhausted
	case r.of.step > r.deps.Tools.MaxSteps:
		r.out.limit = stopMaxSteps
		return tools.Exhausted
	}
	return tools.Built
}

// stopMaxSteps is the stop reason of a turn with too many steps, as ACP names it.
const stopMaxSteps = "max_turn_requests"

// storeResults stores those results of a step that are not stored, in one message.
func (r *replying) storeResults() error {
	of := r.of
	m := r.resultsOf(of, r.out.step)
	if len(m.Blocks) == 0 {
		return nil
	}
	m.Tokens = content.Tokens(context.WithoutCancel(of.ctx), r.state.Counter, m.Blocks)
	change := history.Change{Session: r.id}
	r.out.settleFile(&change)
	r.mailbox.Wait(func() {
		m.Seq = r.context.NextSeq()
		change.Messages = []history.Message{m}
		r.workspace.TakeDirty(&change)
	})
	if err := saving.Commit(context.WithoutCancel(r.mailbox.Context()), r.deps.Store, change); err != nil {
		r.mailbox.Wait(func() { r.workspace.UntakeDirty(&change) })
		return fmt.Errorf("store the results of the step: %w: %w", ErrStorage, err)
	}
	r.mailbox.Wait(func() {
		of.calls.ResultsStored(m.Blocks)
		r.extend(change.Messages, nil)
		r.tellSaved(of)
	})
	r.out.step.Stored(len(m.Blocks))
	r.out.file = nil
	return nil
}

// settleFile adds to what is stored what became of the change that the newest call has made.
func (out *outcome) settleFile(to *history.Change) {
	if out.file != nil {
		filechanges.Settle(to, *out.file, out.step.Made())
	}
}

// compact stores a compaction that was made during the step, and starts one that is due. The next request is made of the
// state after that.
func (r *replying) compact() {
	var made *compacting.Finished
	var change history.Change
	r.mailbox.Wait(func() { made, change = r.compacting.Take() })
	var err error
	if made != nil {
		change.Session = r.id
		err = saving.Commit(context.WithoutCancel(r.mailbox.Context()), r.deps.Store, change)
	}
	r.mailbox.Wait(func() {
		if made != nil {
			if err == nil {
				r.edited(&change)
			}
			made.Stored(err)
		}
		r.compacting.BetweenSteps()
		r.state = r.context.Renewed(&r.state, r.of.model, r.choices)
		r.state.Tools, r.state.Withdrawn = r.context.Tools, r.context.Withdrawn // a request can have left some out
	})
}

// resultsOf returns the message with the results of a step, without a sequence number and without its tokens.
func (t *turns) resultsOf(of *turn, step *tools.Step) history.Message {
	return history.Message{
		ID: t.deps.NewID("msg_"), Turn: of.record.ID, Role: history.RoleTool, Blocks: step.Results(), At: t.deps.Now(), Status: history.StatusComplete,
	}
}

// sayRepeated ends the turn with a message of ours.
func (r *replying) sayRepeated() {
	const text = "The model repeated the same tool call with the same result too often, so Strata has ended the turn."
	r.out.result = reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: text}}, StopReason: reply.StopEndTurn}
	r.out.tokens = content.Tokens(context.WithoutCancel(r.of.ctx), r.state.Counter, r.out.result.Blocks)
	r.mailbox.Wait(func() {
		r.emitText(r.of, events.Text, &r.of.text, text)
		r.emit(events.Event{Kind: events.Notice, Turn: r.of.record.ID, Text: text})
	})
}

// tellCall tells the subscribers of a change of a call.
func (r *replying) tellCall(p tools.Progress) {
	r.mailbox.Feed(func() {
		r.events.EmitAll(r.of.calls.Changed(r.of.record.ID, p))
		if p.Status == tools.InProgress {
			r.begins(following.Calling, p.Title)
		}
	})
}

// ToolSettings are the settings of the tools that the model can call.
type ToolSettings struct {
	Enabled  bool
	MaxSteps int // of a turn

	Commands shell.Runner // where commands run
	Secrets  []string     // names of variables of the environment that no command gets: those with the providers' keys

	Rules           *permissions.Configured // of the user's configuration; nil: none
	ApprovalTimeout time.Duration           // longest wait for an approval while nobody can be asked
}

// openTools returns the tools for a turn, nil for none, and makes the next requests tell of them. shown is what the newest
// request shows, and lasting what the next one will show, too.
func (t *turns) openTools(shown, lasting tools.Shown) (set *tools.Set) {
	t.context.Tools, t.context.Withdrawn, t.context.Guide = nil, nil, ""
	if t.deps.Tools.Enabled && !t.choices.Model.NoTools {
		set = t.toolbox.Open(t.workspace.Tools(shown, lasting, t.editor, workspace.Commands{
			Runner: t.deps.Tools.Commands, Environment: t.environment, Secrets: t.deps.Tools.Secrets,
		}))
	}
	if set != nil {
		t.context.Tools, t.context.Withdrawn = t.toolbox.Definitions()
		t.context.Guide = t.workspace.Guide(t.deps.Now(), !t.deps.Tools.Commands.IsOff())
	}
	return set
}

// nextState returns what the next request is made of: that of the running turn, or that of a turn that would begin now.
func (t *turns) nextState() assembly.State {
	t.choices.Renew()
	if t.running == nil {
		t.openTools(new(reads.View), new(reads.View))
	}
	return t.state()
}

// editor returns the client that reads or writes files, or runs commands, for the running turn, nil for none, and the newest event, which tells
// that the call runs. It is called from goroutines of calls, with the client whose connection was found to have ended, nil for
// none.
func (t *turns) editor(to clients.Capability, gone clients.Client) (editor clients.Client, after uint64) {
	t.mailbox.Wait(func() {
		if gone != nil {
			t.subs.clients.Remove(gone)
			t.asking.Left(gone)
		}
		editor, after = t.subs.clients.For(to), t.events.End()
	})
	return editor, after
}

// environment returns the environment of the client that serves the running turn, nil for the server's own. It is called from
// goroutines of calls.
func (t *turns) environment() []string {
	var serving clients.Client
	t.mailbox.Wait(func() { serving = t.subs.clients.Serving() })
	if serving == nil {
		return nil
	}
	return serving.Environment()
}
