// Package token is `strata token`: it prints and rotates the token of the server.
//
// It must never log a token or put it into an error.
package token

import (
	"fmt"

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
		Short: "Write a new token to the token file and print it",
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
		noteOldToken(p, c)
		_, err = fmt.Fprintln(p.Stdout, token.Reveal())
		return err
	}
	return cmd
}

// noteOldToken reports where the old token is still valid.
func noteOldToken(p *cli.Process, c *config.Config) {
	if !c.Token.IsZero() {
		fmt.Fprintln(p.Stderr, "STRATA_TOKEN is set and overrides the token file.")
	}
	if running, err := connect.FindServer(p); err == nil {
		fmt.Fprintf(p.Stderr, "The running server (process %d) accepts the old token until it is restarted.\n", running.PID)
	}
}
