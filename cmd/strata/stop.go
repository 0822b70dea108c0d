package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"strata/server/access"
)

// stopPatience is how long a server may take to end: it stores the endings of running turns and closes its connections.
const stopPatience = 30 * time.Second

func newStop(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "End the running server; running turns are kept as far as they have come",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := p.findServer()
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, access.ErrStale):
				return errors.New("no server is running")
			case err != nil:
				return err
			}
			return p.stop(cmd.Context(), running)
		},
	}
}

// stop asks a server to end and waits until it has.
func (p *process) stop(ctx context.Context, running access.ServerFile) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopPatience, fmt.Errorf("process %d did not end within %v", running.PID, stopPatience))
	defer cancel()
	stream, err := dialServer(ctx, running)
	if err != nil {
		return err
	}
	client, err := initialized(ctx, stream, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Call(ctx, "_strata/server/stop", struct{}{}, nil); err != nil {
		return err
	}
	for {
		if now, err := p.findServer(); err != nil || now.PID != running.PID {
			_, err = fmt.Fprintf(p.stdout, "stopped process %d\n", running.PID)
			return err
		}
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
