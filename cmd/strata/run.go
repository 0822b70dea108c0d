package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"strata/cmd/strata/internal/config"
	"strata/server/access"
)

// The exit codes, besides 0 for success.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitLocked      = 3   // serve: another server has the database
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

// process is what the commands know of the process that they run in.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string

	configFile string // --config
}

// run executes one command line and returns the exit code. When ctx ends, the command winds up what it does.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	p := &process{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv}
	root := newRoot(p)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitInterrupted // whoever pressed Ctrl-C knows
	}
	return p.exitCode(err)
}

func newRoot(p *process) *cobra.Command {
	root := &cobra.Command{
		Use:           "strata",
		Short:         "Chat sessions for editors, with their context managed",
		Args:          usageArgs(cobra.NoArgs),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{cmd, err} })
	root.Version = currentVersion()
	root.SetVersionTemplate(versionLine())
	root.PersistentFlags().StringVar(&p.configFile, "config", "", "configuration `FILE` (default: strata.yaml in the configuration folder)")
	root.AddCommand(newServe(p), newStdio(p), newAsk(p), newSessions(p), newToken(p), newHUD(p), newStop(p), newReplay(p), newDoctor(p), newVersion(p))
	return root
}

// exitCode tells the user of an error and picks the code for it.
func (p *process) exitCode(err error) int {
	var (
		code  exitError
		usage usageError
		where *config.Error
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "strata: %v\nRun '%s --help' for usage.\n", usage.err, usage.cmd.CommandPath())
		return exitUsage
	case errors.As(err, &where):
		fmt.Fprintln(p.stderr, err) // each line begins with its place, as editors want it
		return exitFailed
	}
	fmt.Fprintf(p.stderr, "strata: %s\n", printable(err.Error())) // a provider's words can be part of it
	return exitFailed
}

// exitError ends the process with a code; the user has been told why.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a command line that makes no sense.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usageArgs makes a usage error of wrong arguments.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{cmd, err}
		}
		return nil
	}
}

// group makes a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError{cmd, errors.New("a subcommand is missing")}
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// load reads the configuration with the flags that the command has.
func (p *process) load(flags *pflag.FlagSet) (*config.Config, error) {
	return config.Load(config.Sources{File: p.configFile, Getenv: p.getenv, Flags: flags})
}

// token gives the token that the server takes. It is made where there is none yet.
func (p *process) token(c *config.Config) (access.Token, error) {
	if !c.Token.IsZero() {
		return c.Token, nil
	}
	return access.LoadOrCreateToken(c.TokenFile)
}
