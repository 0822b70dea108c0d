// Package hud is `strata hud`: it prints or opens an address of the HUD, or shows the context of a session in the terminal.
//
// It must never compute what it shows: the server does.
package hud

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/pick"
)

// options are the flags of strata hud.
type options struct {
	open    bool
	url     bool // print only the address
	session string
	line    bool
	follow  bool
}

// Command returns `strata hud`.
func Command(p *cli.Process) *cobra.Command {
	var opt options
	cmd := &cobra.Command{
		Use:   "hud",
		Short: "Print a one-time HUD address, or show a session in the terminal",
		Long: "Print an address that opens the HUD in a browser, once and within 10 minutes; or show the context of a session in\n" +
			"the terminal, updated live. If standard output is not a terminal, the context is printed once, unless --follow.",
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case opt.session != "":
				return watch(cmd.Context(), p, opt)
			case opt.line || opt.follow:
				return cli.UsageError{Command: cmd, Err: errors.New("--line and --follow need --session")}
			}
			address, err := oneTimeAddress(cmd.Context(), p)
			switch {
			case err != nil:
				return err
			case opt.open:
				return open(cmd.Context(), p, address)
			case opt.url:
				_, err = fmt.Fprintln(p.Stdout, address)
				return err
			}
			return printAddress(p, address)
		},
	}
	cmd.Flags().BoolVar(&opt.open, "open", false, "open the address in the default browser, or print it if there is no display or browser")
	cmd.Flags().BoolVar(&opt.url, "url", false, "print only the address")
	cmd.Flags().StringVar(&opt.session, "session", "", "show the context of the session `ID`, or of the session whose ID begins with it")
	cmd.Flags().BoolVar(&opt.line, "line", false, "with --session: show one line")
	cmd.Flags().BoolVarP(&opt.follow, "follow", "f", false, "with --session: print the context again after each change, also into a pipe")
	cmd.MarkFlagsMutuallyExclusive("open", "url", "session")
	cli.CompleteFlag(cmd, "session", pick.Complete(p, math.MaxInt))
	return cmd
}

func printAddress(p *cli.Process, address string) error {
	_, err := fmt.Fprintf(p.Stdout, "Open this address within 10 minutes; it works once:\n%s\n", address)
	return err
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

// open opens an address in the user's browser. If that is impossible, it says why and prints the address.
func open(ctx context.Context, p *cli.Process, address string) error {
	cmd, err := browser(p.Getenv, runtime.GOOS, exec.LookPath)
	if err == nil {
		cmd = append(cmd, address)
		err = start(ctx, exec.Command(cmd[0], cmd[1:]...))
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		fmt.Fprintf(p.Stderr, "No browser was opened: %v.\n", err)
		return printAddress(p, address)
	}
	fmt.Fprintln(p.Stderr, "Opened in the browser; `strata hud` prints another address.")
	return nil
}

// openers open an address in the default browser of Linux and the like.
var openers = []string{"xdg-open", "x-www-browser", "www-browser", "wslview"}

// browser returns the command, without the address, that opens an address in the user's browser: the variable BROWSER,
// or the system's own. The error says why there is none.
func browser(getenv func(string) string, goos string, find func(string) (string, error)) ([]string, error) {
	if own := strings.Fields(getenv("BROWSER")); len(own) > 0 {
		_, err := find(own[0])
		return own, err
	}
	switch goos {
	case "darwin":
		return []string{"open"}, nil
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}, nil
	}
	if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
		return nil, errors.New("there is no display, and BROWSER is not set")
	}
	for _, name := range openers {
		if _, err := find(name); err == nil {
			return []string{name}, nil
		}
	}
	return nil, fmt.Errorf("none of %s is installed", strings.Join(openers, ", "))
}

// openPatience is how long a command that opens a browser may take to fail. Some run as long as the browser.
const openPatience = 3 * time.Second

// start starts a command and returns its error if it fails at once. A command that goes on is left alone.
func start(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the command or with this process
	limit := time.NewTimer(openPatience)
	defer limit.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
		}
	case <-limit.C:
	case <-ctx.Done():
	}
	return nil
}
