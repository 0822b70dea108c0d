package server

import (
	"context"
	"errors"
	"log/slog"

	"strata/history"
	"strata/rpc"
	"strata/server/slash"
	"strata/server/wire"
	"strata/session"
	"strata/session/commands"
	"strata/session/toolbox"
)

// commandRun is a prompt with a command, from its arrival to its response.
type commandRun struct {
	peer    *peer
	request *rpc.Request
	session string         // id
	prompt  session.Prompt // as the user has typed it
	tools   *toolbox.Declaration
	call    commands.Call
	stop    context.Context // ends when the client cancels the command
}

// command runs the command of a prompt: as an operation, or as the turn of the prompt that it stands for. A prompt with an unknown
// command is a turn as it is.
func (p *peer) command(r *rpc.Request, id string, prompt session.Prompt, tools *toolbox.Declaration, call commands.Call) {
	stop, cancel := p.runs.Add(r.Context(), id)
	run := &commandRun{peer: p, request: r, session: id, prompt: prompt, tools: tools, call: call, stop: stop}
	r.OnCancel(cancel)
	r.Go(func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(run.stop, cancel)()
		s, release, err := p.open(id)
		if err != nil {
			return nil, err
		}
		defer release()
		sub, err := p.subscribe(s)
		if err == nil {
			err = run.run(ctx, sub)
		}
		switch {
		case err != nil && ctx.Err() != nil: // cancelled, or nobody is there to receive the result
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
	case run.call.Name != commands.Retry:
		return run.operation(ctx, sub, info.Running)
	case info.Running != "":
		return &session.BusyError{TurnID: info.Running}
	}
	return run.retry(ctx, sub)
}

// sentBefore reports whether the prompt was sent before and has become a turn.
func (run *commandRun) sentBefore(ctx context.Context) (bool, error) {
	if run.prompt.ID == "" {
		return false, nil
	}
	_, err := run.peer.store.TurnByPrompt(ctx, run.session, run.prompt.ID)
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
	set, _, err := sub.Commands(ctx)
	if err != nil {
		return err
	}
	sub.commands.Update(false)
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

// retry starts a turn of the last prompt. Once the view is changed for it, the turn is started in any case, so that the prompt
// is not lost: a cancel ends the turn.
func (run *commandRun) retry(ctx context.Context, sub *subscription) error {
	last, err := slash.LastPrompt(ctx, sub.session)
	if err == nil {
		err = last.Prepare(context.WithoutCancel(ctx), sub.session)
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

// operation runs a command that is no turn, unless a turn runs, and keeps its output: if it is sent again, it is not run again.
func (run *commandRun) operation(ctx context.Context, sub *subscription, running string) error {
	key := slash.Key{Session: run.session, PromptID: run.prompt.ID}
	text, known, end, err := run.peer.outputs.Begin(ctx, key)
	if err != nil {
		return err
	}
	if !known {
		if running != "" {
			err = &session.BusyError{TurnID: running}
		} else {
			text, err = run.output(ctx, sub)
		}
		end(text, err)
	}
	if err != nil {
		return err
	}
	sub.commands.Update(false)
	return run.respond(sub, text)
}

// output runs the command. Except for a compaction, which can take long, it runs to its end without its connection, so that
// the output is known if the prompt is sent again.
func (run *commandRun) output(ctx context.Context, sub *subscription) (string, error) {
	p := run.peer
	runner := slash.Runner{
		Session: sub.session, Stop: run.stop,
		Renamed: p.monitors.Renamed,
		Commands: func(ctx context.Context) commands.Set {
			set, _, err := sub.Commands(ctx)
			if err != nil {
				p.Log.Warn("commands of files not listed", slog.Any("error", err))
			}
			return set
		},
	}
	for _, m := range p.Models.Catalogue() {
		runner.Models = append(runner.Models, m.Name)
	}
	if run.call.Name != commands.Compact {
		ctx = run.stop
	}
	return runner.Run(ctx, run.call)
}

// respond shows the output of the command, behind the events that it has caused, and then ends the request.
func (run *commandRun) respond(sub *subscription, text string) error {
	n, err := sub.encoder.CommandOutput(run.call.Name, run.prompt.ID, run.peer.newID("cmd_"), text)
	if err != nil {
		return err
	}
	run.peer.aside(sub, n)
	run.request.ReplyAfter(wire.NewCommandResult(run.call.Name, false), sub, afterReplay)
	return nil
}
