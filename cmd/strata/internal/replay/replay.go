// Package replay is `strata replay`: it prints the requests of recorded sessions, or their cost.
//
// It must never need a server, a database or a network.
package replay

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	recorded "strata/internal/replay"
)

// Command returns `strata replay`.
func Command(p *cli.Process) *cobra.Command {
	var layout string
	var bill bool
	cmd := &cobra.Command{
		Use:   "replay TRACE...",
		Short: "Print the requests of a recorded session, or their cost",
		Long: "Read recorded sessions and print the items and cache breakpoints of each request, one JSON line per request.\n" +
			"With --bill, the argument is a folder of traces, and the output is a table of costs with and without caching.\n" +
			"Traces have no references between files: the outlines of a folder form a cluster, with ripple-unclustered each\n" +
			"outline its own.\n" +
			"TRACE - is standard input.",
		Args: cli.UsageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			layouts := []string{layout}
			if bill {
				if !cmd.Flags().Changed("layout") {
					layouts = recorded.Layouts
				}
				return recorded.Report(p.Stdout, args[0], layouts)
			}
			for _, path := range args {
				if err := printTrace(p, path, layout); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&layout, "layout", "log", "`LAYOUT` of the requests: log, ripple or ripple-unclustered")
	cmd.Flags().BoolVar(&bill, "bill", false, "print the cost of all traces in a folder")
	cli.CompleteFlag(cmd, "layout", cli.Words(recorded.Layouts...))
	cmd.ValidArgsFunction = cli.AnyFile
	return cmd
}

// printTrace prints the requests of one trace.
func printTrace(p *cli.Process, path, layout string) error {
	in := p.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if err := recorded.Replay(io.Reader(in), p.Stdout, recorded.Defaults(layout)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
