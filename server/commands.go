package server

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"strata/history"
	"strata/rpc"
	"strata/server/slash"
	"strata/server/wire"
	"strata/session"
	"strata/session/commands"
	"strata/session/toolbox"
)

// workspaceCommands is the folder with commands in that of a session.
const workspaceCommands = ".strata/commands"

// commandSet returns the commands of a session, and the files that are none. It reads folders.
func (b *backend) commandSet(ctx context.Context, s *session.Session) (commands.Set, []commands.Skipped, error) {
	info, err := wait(ctx, s.Info)
	if err != nil {
		return commands.Set{}, nil, err
	}
	var user, own []commands.File
	var skipped, more []commands.Skipped
	if b.CommandsDir != "" {
		folder := commands.Folder{Root: filepath.Dir(b.CommandsDir), Below: filepath.Base(b.CommandsDir)}
		if user, skipped, err = folder.Read(ctx); err != nil {
			return commands.Set{}, nil, err
		}
	}
	if b.folders.Allowed(ctx, info.Session.CWD) == nil {
		folder := commands.Folder{Root: info.Session.CWD, Below: workspaceCommands, Guard: b.guard}
		if own, more, err = folder.Read(ctx); err != nil {
			return commands.Set{}, nil, err
		}
	}
	set, shadowed := commands.NewSet(user, own)
	return set, slices.Concat(skipped, more, shadowed), nil
}

// commandsTime is the time limit for reading the folders with commands in the background.
const commandsTime = 5 * time.Second

// commandList is what a client was told of the commands of a session. Safe for concurrent use.
type commandList struct {
	mu      sync.Mutex
	reading bool // a goroutine reads the folders
	wanted  bool // it must read them again
	always  bool // the client is told even if nothing has changed

	// These belong to the goroutine that reads.
	told    []commands.Command
	skipped []commands.Skipped
}

// tellCommands reads the commands of the session in the background and sends them to the client, after everything that was
// queued before. It sends them always, or only if they have changed since.
func (sub *subscription) tellCommands(always bool) {
	list := &sub.commands
	list.mu.Lock()
	defer list.mu.Unlock()
	list.wanted, list.always = true, list.always || always
	if !list.reading {
		list.reading = true
		sub.peer.background.Go(sub.readCommands)
	}
}

// thenCommands returns a function that responds, and then tells the client the commands of the session.
func thenCommands[T any](sub *subscription, respond func(T, error)) func(T, error) {
	return func(value T, err error) {
		respond(value, err)
		if err == nil {
			sub.tellCommands(true)
		}
	}
}

func (sub *subscription) readCommands() {
	for {
		always, wanted := sub.commands.next()
		if !wanted {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), commandsTime)
		set, skipped, err := sub.peer.commandSet(ctx, sub.session)
		cancel()
		if err == nil {
			sub.tell(set, skipped, always)
		}
	}
}

// next returns whether the folders must be read again; if not, the goroutine that reads must end.
func (l *commandList) next() (always, wanted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	always, wanted = l.always, l.wanted
	l.always, l.wanted, l.reading = false, false, wanted
	return always, wanted
}

// tell sends the commands to the client, and logs the files that are none.
func (sub *subscription) tell(set commands.Set, skipped []commands.Skipped, always bool) {
	list := &sub.commands
	if !slices.Equal(skipped, list.skipped) {
		list.skipped = skipped
		for _, s := range skipped {
			sub.peer.Log.Warn("command file skipped", slog.String("session", sub.session.ID()), slog.String("file", s.Path), slog.String("reason", s.Reason))
		}
	}
	all := set.All()
	if slices.Equal(all, list.told) && !always {
		return
	}
	list.told = all
	n, err := sub.encoder.Aside(wire.NewCommandsUpdate(all))
	if err != nil {
		sub.peer.Log.Error("commands not sent", slog.Any("error", err))
		return
	}
	sub.peer.notify(sub, n)
}

// notify sends a notification that is no event, after everything that was queued before. A subscription that has ended sends nothing more.
func (p *peer) notify(sub *subscription, n rpc.Notification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subscriptions[sub.session] == sub {
		p.conn.Notify(n, rpc.Position{Source: sub, Seq: afterReplay})
	}
}

// commandRun is a prompt with a command, from its arrival to its response.
type commandRun struct {
	peer    *peer
	request *rpc.Request
	params  wire.PromptParams
	prompt  session.Prompt // as the user has typed it
	tools   *toolbox.Declaration
	call    commands.Call
	stop    context.Context // ends when the client cancels the command
	cancel  context.CancelFunc
}

// command runs the command of a prompt: as an operation, or as the turn of the prompt that it stands for. A prompt with an unknown
// command is a turn as it is.
func (p *peer) command(r *rpc.Request, params wire.PromptParams, prompt session.Prompt, tools *toolbox.Declaration, call commands.Call) {
	run := &commandRun{peer: p, request: r, params: params, prompt: prompt, tools: tools, call: call}
	run.stop, run.cancel = context.WithCancel(context.WithoutCancel(r.Context()))
	p.runs.add(run)
	r.OnCancel(run.cancel)
	r.Go(func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(run.stop, cancel)()
		s, release, err := p.open(params.SessionID)
		if err != nil {
			return nil, err
		}
		defer release()
		sub, err := p.subscribe(s)
		if err == nil {
			err = run.run(ctx, sub)
		}
		switch {
		case run.stop.Err() != nil && err != nil:
			return wire.NewCommandResult(call.Name, true), nil
		case err != nil:
			return nil, wire.SessionError(s.ID(), err)
		}
		return rpc.Later, nil
	})
}

func (run *commandRun) run(ctx context.Context, sub *subscription) error {
	info, err := wait(ctx, func(reply func(session.Info, error)) { sub.session.Subscribe(sub.cursor.Load(), reply) })
	if err != nil {
		return err
	}
	again, err := run.sentBefore(ctx)
	switch {
	case err != nil:
		return err
	case again:
		return run.start(sub, run.prompt)
	case !commands.IsBuiltin(run.call.Name):
		return run.expanded(ctx, sub)
	case info.Running != "":
		return &session.BusyError{TurnID: info.Running}
	case run.call.Name == commands.Retry:
		return run.retry(ctx, sub)
	}
	return run.operation(ctx, sub)
}

// sentBefore reports whether the prompt was sent before and has become a turn.
func (run *commandRun) sentBefore(ctx context.Context) (bool, error) {
	if run.prompt.ID == "" {
		return false, nil
	}
	_, err := run.peer.store.TurnByPrompt(ctx, run.params.SessionID, run.prompt.ID)
	if errors.Is(err, history.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// start starts the turn of a prompt, or joins it. Its end is the response.
func (run *commandRun) start(sub *subscription, prompt session.Prompt) error {
	context.AfterFunc(run.stop, run.peer.turn(run.request, sub, prompt, run.tools))
	return nil
}

// expanded starts the turn of a command that is a file, or of a prompt that only looks like a command.
func (run *commandRun) expanded(ctx context.Context, sub *subscription) error {
	set, _, err := run.peer.commandSet(ctx, sub.session)
	if err != nil {
		return err
	}
	sub.tellCommands(false)
	prompt := run.prompt
	if file, found := set.File(run.call.Name); found {
		text, err := file.Expand(run.call.Arguments)
		if err != nil {
			return wire.InvalidParams("params.prompt: %s", err)
		}
		prompt.Blocks = run.call.Replace(prompt.Blocks, text)
	}
	return run.start(sub, prompt)
}

// retry starts a turn of the last prompt.
func (run *commandRun) retry(ctx context.Context, sub *subscription) error {
	last, err := slash.LastPrompt(ctx, sub.session)
	if err == nil {
		err = last.Prepare(ctx, sub.session)
	}
	if text, ok := slash.Shown(err); ok {
		return run.respond(sub, text)
	}
	if err != nil {
		return err
	}
	prompt := run.prompt
	prompt.Blocks, prompt.Meta = last.Blocks, last.Meta
	return run.start(sub, prompt)
}

// operation runs a command that is no turn. One that was sent before is not run again, if its output is still known.
func (run *commandRun) operation(ctx context.Context, sub *subscription) error {
	key := commandKey{run.params.SessionID, run.prompt.ID}
	if text, known := run.peer.outputs.get(key); known {
		return run.respond(sub, text)
	}
	p := run.peer
	runner := slash.Runner{
		Session: sub.session, Rewinder: slash.View{}, Stop: run.stop,
		Renamed: p.monitors.renamed,
		Commands: func(ctx context.Context) commands.Set {
			set, _, err := p.commandSet(ctx, sub.session)
			if err != nil {
				p.Log.Warn("commands of files not listed", slog.Any("error", err))
			}
			return set
		},
	}
	for _, m := range p.Models.Catalogue() {
		runner.Models = append(runner.Models, m.Name)
	}
	text, err := runner.Run(ctx, run.call)
	if err != nil {
		return err
	}
	p.outputs.put(key, text)
	sub.tellCommands(false)
	return run.respond(sub, text)
}

// respond shows the output of the command, behind the events that it has caused, and then ends the request.
func (run *commandRun) respond(sub *subscription, text string) error {
	n, err := sub.encoder.CommandOutput(run.call.Name, run.peer.newID("cmd_"), text)
	if err != nil {
		return err
	}
	run.peer.notify(sub, n)
	run.request.ReplyAfter(wire.NewCommandResult(run.call.Name, false), sub, afterReplay)
	return nil
}

// commandRuns are the commands of a connection without a response. Safe for concurrent use.
type commandRuns struct {
	mu  sync.Mutex
	all map[*commandRun]struct{}
}

// add adds a command until its request has a response, or the connection ends.
func (c *commandRuns) add(run *commandRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = make(map[*commandRun]struct{})
	}
	c.all[run] = struct{}{}
	context.AfterFunc(run.request.Context(), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.all, run)
	})
}

// cancel cancels the commands of a session.
func (c *commandRuns) cancel(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for run := range c.all {
		if run.params.SessionID == session {
			run.cancel()
		}
	}
}

// maxOutputs is the number of outputs of commands that are kept for prompts that are sent again.
const maxOutputs = 256

// commandKey is a prompt with a command.
type commandKey struct{ session, prompt string }

// commandOutputs are the outputs of the newest commands with a prompt id. Safe for concurrent use.
type commandOutputs struct {
	mu    sync.Mutex
	texts map[commandKey]string
	order []commandKey // the oldest first
}

func (c *commandOutputs) get(key commandKey) (text string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, known = c.texts[key]
	return text, known
}

func (c *commandOutputs) put(key commandKey, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key.prompt == "" {
		return
	}
	if c.texts == nil {
		c.texts = make(map[commandKey]string)
	}
	if len(c.order) == maxOutputs {
		delete(c.texts, c.order[0])
		c.order = c.order[1:]
	}
	c.texts[key] = text
	c.order = append(c.order, key)
}
