// Package token is `strata token`: it prints and rotates the token of the server.
//
// It must never log a token or put it into an error.
package token

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/connect"
	"strata/server/access"
)

// Command returns `strata token`.
func Command(p *cli.Process) *cobra.Command {
	return cli.Group("token", "Print or rotate the token that clients must send", newShow(p), newRotate(p))
}

func newShow(p *cli.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the token; create a token if none exists",
		Args:  cli.UsageArgs(cobra.NoArgs),
	}
	config.AddFlags(cmd.Flags(), "token_file")
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := p.Load(cmd.Flags())
		if err != nil {
			return err
		}
		token, err := p.Token(c)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.Stdout, token.Reveal())
		return err
	}
	return cmd
}

func newRotate(p *cli.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the token; end all connections and HUD pages",
		Args:  cli.UsageArgs(cobra.NoArgs),
	}
	config.AddFlags(cmd.Flags(), "token_file")
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := p.Load(cmd.Flags())
		if err != nil {
			return err
		}
		token, err := access.RotateToken(c.TokenFile)
		if err != nil {
			return err
		}
		noteServer(cmd.Context(), p, c, token)
		_, err = fmt.Fprintln(p.Stdout, token.Reveal())
		return err
	}
	return cmd
}

// tellTimeout bounds the request by which a running server takes up a new token.
const tellTimeout = 5 * time.Second

// noteServer reports which servers use the new token. A server looks at its token file when it gets a request, so the
// request that finds out also makes it end everything that the old token opened.
func noteServer(ctx context.Context, p *cli.Process, c *config.Config, token access.Token) {
	if !c.Token.IsZero() {
		fmt.Fprintln(p.Stderr, "STRATA_TOKEN is set and overrides the token file.")
	}
	running, err := connect.FindServer(p)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	switch accepted, err := connect.Accepts(ctx, p, running, token); {
	case err != nil:
		fmt.Fprintf(p.Stderr, "The running server (process %d) did not respond: %v\n", running.PID, err)
	case accepted:
		fmt.Fprintf(p.Stderr, "The running server (process %d) uses the new token and has closed its connections and pages.\n", running.PID)
	default:
		fmt.Fprintf(p.Stderr, "The running server (process %d) has another token, from STRATA_TOKEN or another file.\n", running.PID)
	}
}
