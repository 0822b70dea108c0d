package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/historystore"
	"strata/historystore/backup"
	"strata/internal/plural"
	"strata/server/access"
)

// stopTimeout bounds the end of a server, which stores the results of running turns and closes its connections.
const stopTimeout = 30 * time.Second

const stopPoll = 20 * time.Millisecond

// turnPoll is the time between two looks at the running turns.
const turnPoll = 250 * time.Millisecond

// StopCommand returns `strata stop`.
func StopCommand(p *cli.Process) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the server; partial replies are saved",
		Long: "Stop the server, however it was started. Running turns end, and their partial replies are saved. With --wait, the\n" +
			"server is stopped when no turn is running.",
		Args: cli.UsageArgs(cobra.NoArgs),
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until no turn is running; Ctrl-C leaves the server running")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if wait {
			if err := awaitTurns(cmd.Context(), p); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), stopTimeout)
		defer cancel()
		pid, err := stop(ctx, p)
		if err == nil {
			_, err = fmt.Fprintf(p.Stdout, "stopped process %d\n", pid)
		}
		return err
	}
	return cmd
}

// awaitTurns waits until the running server runs no turn. It reads the database, so that it knows the turns of a server of
// any version.
func awaitTurns(ctx context.Context, p *cli.Process) error {
	running, err := connect.FindServer(p)
	if err != nil {
		return nil // stop says more
	}
	return awaitIdle(ctx, p.Stderr, func() (int, error) { return backup.RunningTurns(ctx, running.Database) })
}

// awaitIdle waits until two looks in a row find no running turn: between the end of a turn and the start of a prompt that
// waited for it, no turn is running.
func awaitIdle(ctx context.Context, out io.Writer, look func() (turns int, err error)) error {
	tick := time.NewTicker(turnPoll)
	defer tick.Stop()
	for shown, idle := 0, false; ; {
		turns, err := look()
		if err != nil || turns == 0 && idle {
			return err
		}
		if idle = turns == 0; !idle && turns != shown {
			fmt.Fprintf(out, "strata: waiting for the end of %s\n", plural.Of(turns, "turn"))
			shown = turns
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop ends the running server and waits until its database is free, so that the next command can start a server. It
// also waits for a server that is starting, which it then ends, or shutting down. It returns the process that had the
// database.
func stop(ctx context.Context, p *cli.Process) (pid int, err error) {
	holder, err := find(p)
	if err != nil {
		return 0, err
	}
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for asked := false; ; {
		if running, err := connect.FindServer(p); err == nil && running.PID == holder.PID && !asked {
			if err := ask(ctx, p, running); err != nil {
				return 0, err
			}
			asked = true
		}
		if pid, held := historystore.Holder(holder.Database); !held || pid != 0 && pid != holder.PID {
			return holder.PID, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if asked || ctx.Err() != context.DeadlineExceeded {
				return 0, fmt.Errorf("process %d did not exit within %v: %w", holder.PID, stopTimeout, ctx.Err())
			}
			return 0, fmt.Errorf("process %d has the database %s, but its address is unknown: end that process", holder.PID, holder.Database)
		}
	}
}

// find returns the running server, or just the process that has the configured database if it cannot be reached yet or
// any longer.
func find(p *cli.Process) (access.ServerFile, error) {
	running, err := connect.FindServer(p)
	if err == nil || !connect.NoServer(err) {
		return running, err
	}
	if c, err := p.Load(nil); err == nil {
		if pid, held := historystore.Holder(c.DB); held && pid != 0 {
			return access.ServerFile{PID: pid, Database: c.DB}, nil
		}
	}
	return access.ServerFile{}, errors.New("no server is running")
}

// ask tells a server to stop. A server that does not listen any longer is already shutting down.
func ask(ctx context.Context, p *cli.Process, running access.ServerFile) error {
	client, err := connect.OpenServer(ctx, p, running)
	if connect.IsUnreachable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Call(ctx, "_strata/server/stop", struct{}{}, nil)
}
