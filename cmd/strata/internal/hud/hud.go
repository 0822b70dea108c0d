// Package hud is `strata hud`: it prints or opens an address of the HUD, or shows the context of a session in the terminal.
//
// It must never compute what it shows: the server does.
package hud

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
)

// Command returns `strata hud`.
func Command(p *cli.Process) *cobra.Command {
	var open, only, line bool
	var session string
	cmd := &cobra.Command{
		Use:   "hud",
		Short: "Print a one-time HUD address, or show a session in the terminal",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if session != "" {
				return watch(cmd.Context(), p, session, line)
			}
			address, err := oneTimeAddress(cmd.Context(), p)
			switch {
			case err != nil:
				return err
			case open:
				return openBrowser(address)
			case only:
				_, err = fmt.Fprintln(p.Stdout, address)
				return err
			}
			_, err = fmt.Fprintf(p.Stdout, "Open this address within 10 minutes; it works once:\n%s\n", address)
			return err
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "open the address in the default browser")
	cmd.Flags().BoolVar(&only, "url", false, "print only the address")
	cmd.Flags().StringVar(&session, "session", "", "show the context of the session `ID` in the terminal, updated live")
	cmd.Flags().BoolVar(&line, "line", false, "with --session: show one line")
	cmd.MarkFlagsMutuallyExclusive("open", "url", "session")
	return cmd
}

// oneTimeAddress returns an address of the HUD with a code that works once.
func oneTimeAddress(ctx context.Context, p *cli.Process) (string, error) {
	client, err := connect.Open(ctx, p, nil)
	if err != nil {
		return "", err
	}
	defer client.Close()
	var result struct {
		URL string `json:"url"`
	}
	err = client.Call(ctx, "_strata/server/hud_code", struct{}{}, &result)
	return result.URL, err
}

// openBrowser opens an address in the system's default browser and does not wait for it.
func openBrowser(address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open a browser: %w; `strata hud` prints the address", err)
	}
	return cmd.Process.Release()
}
