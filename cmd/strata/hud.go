package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
)

func newHUD(p *process) *cobra.Command {
	var open, only, line bool
	var session string
	cmd := &cobra.Command{
		Use:   "hud",
		Short: "Give an address that opens the HUD in a browser, once, or show a session in the terminal",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if session != "" {
				return p.watch(cmd.Context(), session, line)
			}
			address, err := p.hudAddress(cmd.Context())
			switch {
			case err != nil:
				return err
			case open:
				return openBrowser(address)
			case only:
				_, err = fmt.Fprintln(p.stdout, address)
				return err
			}
			_, err = fmt.Fprintf(p.stdout, "Open this address within 10 minutes; it works once:\n%s\n", address)
			return err
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "open it in the default browser")
	cmd.Flags().BoolVar(&only, "url", false, "print the address only")
	cmd.Flags().StringVar(&session, "session", "", "show what the session with this `ID` sends to its model, live, here")
	cmd.Flags().BoolVar(&line, "line", false, "with --session: in one line")
	cmd.MarkFlagsMutuallyExclusive("open", "url", "session")
	return cmd
}

// hudAddress gets an address with a one-use code from the server.
func (p *process) hudAddress(ctx context.Context) (string, error) {
	client, err := p.connect(ctx, nil)
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

// openBrowser hands an address to the system's default browser and does not wait for it.
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
