package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/config"
)

// ExitError ends the process with a code, after the command has reported the problem.
type ExitError int

// The exit codes besides 0 for success. ExitCodes describes them.
const (
	Failed      ExitError = 1
	Usage       ExitError = 2
	Locked      ExitError = 3
	Interrupted ExitError = 130 // 128 + SIGINT, as in shells
)

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// ExitCodes are all exit codes with their meaning, for the help and the documentation.
var ExitCodes = []struct {
	Code    ExitError
	Meaning string
}{
	{0, "Success."},
	{Failed, "The command failed, and a message says why; also if output could not be written."},
	{Usage, "The command line is wrong: a command or flag is unknown, or an argument is missing or invalid."},
	{Locked, "`strata serve`, `strata restore`: another process has the database."},
	{Interrupted, "Ctrl-C or SIGTERM interrupted the command."},
}

// ExitCodesTopic returns the help topic about exit codes.
func ExitCodesTopic() *cobra.Command {
	var text strings.Builder
	text.WriteString("The exit codes of all commands:\n")
	for _, e := range ExitCodes {
		text.WriteString(folded(fmt.Sprintf("\n%5d  ", int(e.Code)), e.Meaning, 100))
	}
	return &cobra.Command{Use: "exit-codes", Short: "Exit codes of all commands", Long: text.String()}
}

// folded returns text behind a label, in lines of at most width characters that are indented as far as the label.
func folded(label, text string, width int) string {
	indent := strings.Repeat(" ", len(strings.TrimPrefix(label, "\n")))
	out, line := strings.Builder{}, label
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > width {
			out.WriteString(strings.TrimRight(line, " "))
			line = "\n" + indent
		}
		line += word + " "
	}
	out.WriteString(strings.TrimRight(line, " "))
	return out.String()
}

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

// ExitCode reports the error of a command to the user and returns the exit code for it. Lost output is an error too.
func (p *Process) ExitCode(err error) int {
	code := p.report(err)
	if lost := WriteError(p.Stdout); lost != nil && !errors.Is(err, lost) {
		fmt.Fprintf(p.Stderr, "strata: %v\n", lost)
		code = max(code, int(Failed))
	}
	return code
}

func (p *Process) report(err error) int {
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
