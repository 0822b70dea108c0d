package shell

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"strata/session/clients"
	"strata/session/tools"
)

const (
	terminalBytes = 1 << 20 // of output that an editor keeps

	firstLook   = 500 * time.Millisecond // at the output of a command that runs
	longestLook = 3 * time.Second        // between two of them

	busyTime   = 300 * time.Millisecond // until a request is repeated for which there was no room
	outputTime = 10 * time.Second       // for the output of a command that has ended
)

// terminal is a command that runs in a terminal of an editor.
type terminal struct {
	*command
	editor clients.Client
	after  uint64 // event that requests follow
	id     string

	mu   sync.Mutex // guards seen
	seen clients.TerminalOutput
}

// inTerminal runs a command in a terminal of an editor. When it returns, the terminal is released, or will be as soon as the editor
// has created it. The error is that of ctx.
func (s Services) inTerminal(ctx context.Context, editor clients.Client, after uint64, c *command) (tools.Result, error) {
	program, args := shellFor(runtime.GOOS, c.line)
	id, err := editor.CreateTerminal(ctx, clients.TerminalCommand{
		Program: program, Args: args, Env: unattended, Dir: c.dir, Limit: terminalBytes,
	}, after)
	if err != nil {
		return notCreated(err), ctx.Err()
	}
	t := &terminal{command: c, editor: editor, after: after, id: id}
	defer t.release()
	t.show(tools.Output{Terminal: t.shown()})
	_, t.after = s.Editor() // the terminal is shown before it is released
	return t.run(ctx)
}

// notCreated returns the result of a command for which an editor has returned no terminal.
func notCreated(err error) tools.Result {
	refused, isRefused := errors.AsType[*clients.Refused](err)
	switch {
	case isRefused:
		return tools.Failed("The editor did not run the command: %s", refused.Message)
	case errors.Is(err, clients.ErrBusy):
		return notRun("%v. Try it again later.", err)
	case errors.Is(err, clients.ErrGone):
		return tools.Failed("%s", editorGone)
	}
	return tools.Failed("Whether the command runs is unknown: %v.", err)
}

const editorGone = "The editor disconnected; the outcome of the command is unknown."

func (t *terminal) kill()    { t.editor.KillTerminal(t.id, t.after) }
func (t *terminal) release() { t.editor.ReleaseTerminal(t.id, t.after) }

func (t *terminal) shown() *tools.Terminal {
	return &tools.Terminal{Owner: t.editor.Identity(), ID: t.id}
}

// run waits for the end of the command, and returns its result. The error is that of ctx.
func (t *terminal) run(ctx context.Context) (tools.Result, error) {
	var looks sync.WaitGroup
	looking, stop := context.WithCancel(ctx)
	defer looks.Wait()
	defer stop()
	looks.Go(func() { t.look(looking) })

	exit, err := t.wait(ctx)
	stop()
	switch {
	case ctx.Err() != nil:
		t.kill()
		return tools.Result{}, ctx.Err()
	case err == nil:
		return t.result(ctx, exitedThere(exit), false)
	case errors.Is(err, clients.ErrGone):
		return t.endedWith(editorGone+" Its output so far:", t.last(), true), nil
	case errors.Is(err, errLimit):
		t.kill()
		return t.result(ctx, endedAfter(t.limit), true)
	}
	return t.unreported(ctx, err)
}

// wait returns how the command has ended. The error is errLimit, that of the editor, or that of ctx.
func (t *terminal) wait(ctx context.Context) (clients.Exit, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.limit, errLimit)
	defer cancel()
	exit, err := unlessBusy(ctx, func() (clients.Exit, error) { return t.editor.WaitForExit(ctx, t.id, t.after) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return exit, err
}

// unreported returns the result of a command whose end the editor has not reported when it was asked to.
func (t *terminal) unreported(ctx context.Context, failed error) (tools.Result, error) {
	out, err := t.output(ctx)
	if err == nil && out.Exit != nil {
		return t.endedWith(exitedThere(*out.Exit), out, false), nil
	}
	t.kill()
	return t.endedWith(fmt.Sprintf("The outcome of the command is unknown: %v. Its output so far:", failed), t.last(), true), ctx.Err()
}

// result returns the result of a command that has ended, with its output.
func (t *terminal) result(ctx context.Context, first string, failed bool) (tools.Result, error) {
	out, err := t.output(ctx)
	if err != nil {
		first += fmt.Sprintf("\n[The output may be incomplete: %v]", err)
		out = t.last()
	}
	return t.endedWith(first, out, failed), ctx.Err()
}

// endedWith returns the result of the command with an output.
func (t *terminal) endedWith(first string, out clients.TerminalOutput, failed bool) tools.Result {
	if out.Truncated {
		first += "\n[The editor kept only the end of the output]"
	}
	var all output
	_, _ = all.Write([]byte(out.Text)) // it has no error
	return t.ended(first, &all, failed)
}

// output returns the output of a command that has ended.
func (t *terminal) output(ctx context.Context) (clients.TerminalOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, outputTime)
	defer cancel()
	return t.ask(ctx)
}

// ask returns the output of the command so far.
func (t *terminal) ask(ctx context.Context) (clients.TerminalOutput, error) {
	out, err := unlessBusy(ctx, func() (clients.TerminalOutput, error) { return t.editor.TerminalOutput(ctx, t.id, t.after) })
	if err != nil {
		return out, err
	}
	if over := len(out.Text) - terminalBytes; over > 0 {
		out.Text, out.Truncated = strings.ToValidUTF8(out.Text[over:], ""), true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = out
	return out, nil
}

// last returns the output that the editor returned last.
func (t *terminal) last() clients.TerminalOutput {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// unlessBusy repeats a request while too many others are in flight.
func unlessBusy[T any](ctx context.Context, request func() (T, error)) (T, error) {
	for {
		result, err := request()
		if !errors.Is(err, clients.ErrBusy) {
			return result, err
		}
		select {
		case <-time.After(busyTime):
		case <-ctx.Done():
			return result, context.Cause(ctx)
		}
	}
}
