package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"strata/internal/process"
	"strata/session/tools"
)

const (
	showTime  = 250 * time.Millisecond // between two looks at the output for clients
	drainTime = time.Second            // for the rest of the output after the end of all processes
)

// running is a command that runs on this machine.
type running struct {
	*command
	process *process.Process
	pipe    *os.File // of the output
	output  output
	read    chan struct{} // closed when the output has been read
}

// onThisMachine runs a command as processes of this machine, all of which have ended when it returns. The error is that of ctx.
func (s Services) onThisMachine(ctx context.Context, c *command) (tools.Result, error) {
	env := s.environment(c.dir)
	if ctx.Err() != nil { // the environment may be that of the next turn
		return tools.Result{}, ctx.Err()
	}
	r, err := c.start(env)
	if err != nil {
		return notRun("%v", err), nil
	}
	defer r.pipe.Close()
	late := r.wait(ctx)
	r.drain()
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case late:
		return c.ended(endedAfter(c.limit), &r.output, true), nil
	}
	return c.ended(exited(r.process.Exit()), &r.output, false), nil
}

// start starts the command and the goroutine that reads its output.
func (c *command) start(env []string) (*running, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("its output: %w", err)
	}
	defer in.Close()
	program, args := shellFor(runtime.GOOS, c.line)
	p, err := process.Start(process.Command{
		Path: program, Args: args, Verbatim: verbatimFor(runtime.GOOS, c.line), Dir: c.dir, Env: env, Stdout: in, Stderr: in,
	})
	if err != nil {
		out.Close()
		return nil, err
	}
	r := &running{command: c, process: p, pipe: out, read: make(chan struct{})}
	go func() {
		defer close(r.read)
		_, _ = io.Copy(&r.output, out) // what was read before an error counts
	}()
	return r, nil
}

// wait returns when all processes of the command have ended, and shows the output meanwhile. It ends them when ctx ends or the
// time limit has passed, and reports whether that was the limit.
func (r *running) wait(ctx context.Context) (late bool) {
	limit, look := time.NewTimer(r.limit), time.NewTicker(showTime)
	defer limit.Stop()
	defer look.Stop()
	for cancelled := ctx.Done(); ; {
		select {
		case <-r.process.Done():
			return late
		case <-cancelled:
			cancelled = nil
			r.process.Stop()
		case <-limit.C:
			late = true
			r.process.Stop()
		case <-look.C:
			if newest, changed := r.output.newest(); changed {
				r.show(newest)
			}
		}
	}
}

// drain reads the rest of the output. The pipe has no writer any more, unless a process has left the reach of its supervisor.
func (r *running) drain() {
	_ = r.pipe.SetReadDeadline(time.Now().Add(drainTime)) // where there are none, the pipe ends with its writers
	<-r.read
}
