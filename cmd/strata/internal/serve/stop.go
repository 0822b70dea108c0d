package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/server/access"
)

// stopTimeout bounds the end of a server, which stores the results of running turns and closes its connections.
const stopTimeout = 30 * time.Second

const stopPoll = 50 * time.Millisecond

// StopCommand returns `strata stop`.
func StopCommand(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the server; partial replies are saved",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := connect.FindServer(p)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, access.ErrStale):
				return errors.New("no server is running")
			case err != nil:
				return err
			}
			return stop(cmd.Context(), p, running)
		},
	}
}

// stop ends a server and waits until it has exited.
func stop(ctx context.Context, p *cli.Process, running access.ServerFile) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopTimeout, fmt.Errorf("process %d did not exit within %v", running.PID, stopTimeout))
	defer cancel()
	client, err := connect.OpenServer(ctx, p, running)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Call(ctx, "_strata/server/stop", struct{}{}, nil); err != nil {
		return err
	}
	for {
		if now, err := connect.FindServer(p); err != nil || now.PID != running.PID {
			_, err = fmt.Fprintf(p.Stdout, "stopped process %d\n", running.PID)
			return err
		}
		select {
		case <-time.After(stopPoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
