package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"strata/internal/replay"
)

func newReplay(p *process) *cobra.Command {
	var layout string
	var bill bool
	cmd := &cobra.Command{
		Use:   "replay TRACE...",
		Short: "Print the requests that a recorded session would make, or what they would cost",
		Long: "Reads recorded sessions and prints, one JSON line for each request, its pieces and cache marks.\n" +
			"With --bill the argument is a folder of traces, and a table of costs beside no caching is printed.\n" +
			"A trace may be - for standard input.",
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			layouts := []string{layout}
			if bill {
				if !cmd.Flags().Changed("layout") {
					layouts = []string{"log", "ripple"}
				}
				return replay.Report(p.stdout, args[0], layouts)
			}
			for _, path := range args {
				if err := p.replayTrace(path, layout); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&layout, "layout", "log", "`LAYOUT` of the requests: log or ripple")
	cmd.Flags().BoolVar(&bill, "bill", false, "print what all traces of a folder cost")
	return cmd
}

// replayTrace prints the requests of one trace.
func (p *process) replayTrace(path, layout string) error {
	in := p.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if err := replay.Replay(io.Reader(in), p.stdout, replay.Defaults(layout)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
