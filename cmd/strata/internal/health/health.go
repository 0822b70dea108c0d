// Package health is `strata health`: it reports whether the running server responds.
//
// It must never start a server, or read a session.
package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
)

// timeout is the time that the server has to respond.
const timeout = 5 * time.Second

// Command returns `strata health`.
func Command(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Check whether the running server responds",
		Long: "Send a request to the running server of this user. The exit code is 0 if the server responds within 5 seconds.\n" +
			"No server is started. The container image uses this command as its health check.",
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return check(cmd.Context(), p, timeout) },
	}
}

// check asks the running server for a page that needs the token.
func check(ctx context.Context, p *cli.Process, timeout time.Duration) error {
	running, err := connect.FindServer(p)
	switch {
	case connect.NoServer(err):
		return errors.New("no server is running")
	case err != nil:
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no response within %v", timeout))
	defer cancel()
	accepted, err := connect.Accepts(ctx, p, running, running.Token)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("process %d at %s: %w", running.PID, running.URL, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("process %d at %s: %w", running.PID, running.URL, err)
	case !accepted:
		return fmt.Errorf("process %d at %s refuses the token in server.json", running.PID, running.URL)
	}
	_, err = fmt.Fprintf(p.Stdout, "process %d at %s responds\n", running.PID, running.URL)
	return err
}
