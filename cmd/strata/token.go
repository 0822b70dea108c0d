package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/config"
	"strata/server/access"
)

func newToken(p *process) *cobra.Command {
	return group("token", "Show or renew the token that lets clients in", newTokenShow(p), newTokenRotate(p))
}

func newTokenShow(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the token; make one where there is none",
		Args:  usageArgs(cobra.NoArgs),
	}
	config.AddFlags(cmd.Flags(), "token_file")
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := p.load(cmd.Flags())
		if err != nil {
			return err
		}
		token, err := p.token(c)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.stdout, token.Reveal())
		return err
	}
	return cmd
}

func newTokenRotate(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Put a new token into the token file and print it",
		Args:  usageArgs(cobra.NoArgs),
	}
	config.AddFlags(cmd.Flags(), "token_file")
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := p.load(cmd.Flags())
		if err != nil {
			return err
		}
		token, err := access.RotateToken(c.TokenFile)
		if err != nil {
			return err
		}
		p.noteOldToken(c)
		_, err = fmt.Fprintln(p.stdout, token.Reveal())
		return err
	}
	return cmd
}

// noteOldToken says where the old token still counts.
func (p *process) noteOldToken(c *config.Config) {
	if !c.Token.IsZero() {
		fmt.Fprintln(p.stderr, "STRATA_TOKEN is set and counts more than the token file.")
	}
	if running, err := p.findServer(); err == nil {
		fmt.Fprintf(p.stderr, "The running server (process %d) takes the old token until it is started again.\n", running.PID)
	}
}
