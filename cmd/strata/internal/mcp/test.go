package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/server/mcp"
	"strata/session/servers"
)

// testTime is how long an MCP server may take to become ready, unless --timeout says otherwise.
const testTime = 30 * time.Second

func newTest(p *cli.Process) *cobra.Command {
	timeout := testTime
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Start a configured MCP server and list its tools",
		Long: "Start a configured MCP server in the current folder with the environment of this terminal, print its tools and the\n" +
			"time that it needed, and stop it. No Strata server is needed. The exit code is 1 if the MCP server fails.",
		Args:              cli.UsageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: completeName(p),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", testTime, "give up after `DURATION`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if timeout <= 0 {
			return cli.UsageError{Command: cmd, Err: fmt.Errorf("--timeout: %v must be more than 0", timeout)}
		}
		d, err := named(p, args[0])
		if err != nil {
			return err
		}
		host := mcp.New(mcp.Options{Version: p.Version})
		defer host.Close()
		return test(cmd.Context(), p.Stdout, host, d, timeout)
	}
	return cmd
}

// named returns the configured server with a name.
func named(p *cli.Process, name string) (servers.Definition, error) {
	list, err := configured(p)
	if err != nil {
		return servers.Definition{}, err
	}
	d, ok := find(list, name)
	if ok {
		return d, nil
	}
	if len(list) == 0 {
		return d, fmt.Errorf("%s: mcp_servers is empty", name)
	}
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Name
	}
	return d, fmt.Errorf("%s: not in mcp_servers, which contains %s", name, strings.Join(names, ", "))
}

// test starts a server, and writes its tools when it is ready.
func test(ctx context.Context, w io.Writer, source servers.Source, d servers.Definition, timeout time.Duration) error {
	folder, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working folder: %w", err)
	}
	late := fmt.Errorf("%s: not ready after %v", d.Name, timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()
	start := time.Now()
	changed := make(chan struct{}, 1)
	server := source.Use(d, servers.Place{Folder: folder}, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer server.Release()
	state, err := settled(ctx, server, changed)
	took := time.Since(start).Round(time.Millisecond)
	switch {
	case err != nil && state.Error != "":
		return fmt.Errorf("%w: %s", err, state.Error)
	case err != nil:
		return err
	case state.Status == servers.Failed:
		return fmt.Errorf("%s: failed after %v: %s", d.Name, took, state.Error)
	}
	fmt.Fprintf(w, "%s: ready after %v, %s\n", d.Name, took, count(len(state.Tools), "tool"))
	return writeTools(w, state.Tools)
}

// settled waits until a server is ready or has failed.
func settled(ctx context.Context, server servers.Server, changed <-chan struct{}) (servers.State, error) {
	for {
		state := server.State()
		if state.Status == servers.Ready || state.Status == servers.Failed {
			return state, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return server.State(), context.Cause(ctx)
		}
	}
}

// writeTools writes a line for each tool: its name, and the first line of its description or else its title.
func writeTools(w io.Writer, tools []servers.Tool) error {
	var lost error
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, t := range tools {
		about, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
		if about == "" {
			about = t.Title
		}
		_, err := fmt.Fprintf(table, "  %s\t%s\n", cli.OneLine(t.Name), cli.OneLine(about))
		lost = errors.Join(lost, err)
	}
	return errors.Join(lost, table.Flush())
}
