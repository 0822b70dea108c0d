package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/config"
)

// ExitError ends the process with a code, after the command has reported the problem.
type ExitError int

// The exit codes besides 0 for success.
const (
	Failed      ExitError = 1
	Usage       ExitError = 2
	Locked      ExitError = 3   // serve: another server has the database
	Interrupted ExitError = 130 // 128 + SIGINT, as in shells
)

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// UsageError is a wrong command line.
type UsageError struct {
	Command *cobra.Command
	Err     error
}

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the problem.
func (e UsageError) Unwrap() error { return e.Err }

// UsageArgs returns check with its errors as usage errors.
func UsageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return UsageError{cmd, err}
		}
		return nil
	}
}

// Group returns a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return UsageError{cmd, errors.New("a subcommand is missing")}
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// ExitCode reports an error to the user and returns the exit code for it.
func (p *Process) ExitCode(err error) int {
	var (
		exit  ExitError
		usage UsageError
		place *config.Error
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		fmt.Fprintf(p.Stderr, "strata: %v\nRun '%s --help' for usage.\n", usage.Err, usage.Command.CommandPath())
		return int(Usage)
	case errors.As(err, &place):
		fmt.Fprintln(p.Stderr, err) // each line begins with its place, as editors expect
		return int(Failed)
	}
	fmt.Fprintf(p.Stderr, "strata: %s\n", Printable(err.Error())) // may contain a provider's words
	return int(Failed)
}
