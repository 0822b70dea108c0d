package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/rpc"
	"strata/session/servers"
)

func newList(p *cli.Process) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List MCP servers with their states",
		Long: "List the MCP servers of the configuration, and those that clients have named, with their states, tools and\n" +
			"sessions in the running Strata server. No MCP server is started.",
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd.Context(), p, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per server")
	return cmd
}

// listed is an MCP server as --json prints it: what the running server says of it, and whether it is configured.
type listed struct {
	Name       string `json:"name"`
	Transport  string `json:"transport"`
	Source     string `json:"source"`          // config, client
	State      string `json:"state,omitempty"` // starting, ready, failed, unused; empty: unknown
	Error      string `json:"error,omitempty"`
	Sessions   int    `json:"sessions"`
	Tools      []tool `json:"tools"`
	Configured bool   `json:"configured"` // now; the running server has the configuration of its start

	address string
}

type tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

func list(ctx context.Context, p *cli.Process, asJSON bool) error {
	definitions, err := configured(p)
	if err != nil {
		return err
	}
	running, err := used(ctx, p)
	switch {
	case connect.NoServer(err):
		fmt.Fprintln(p.Stderr, "strata: no Strata server is running: the states are unknown")
	case errors.Is(err, errOld):
		fmt.Fprintf(p.Stderr, "strata: the states are unknown: %v\n", err)
	case err != nil:
		return err
	}
	all := merge(definitions, running)
	if asJSON {
		return writeJSON(p.Stdout, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.Stderr, "strata: no MCP servers: add them to mcp_servers in the configuration, or to the settings of the editor")
	}
	return writeTable(p.Stdout, all, err == nil)
}

// errOld means that the running server is of a version without MCP servers.
var errOld = errors.New("the running server has an older version: run `strata stop`")

// used returns the MCP servers of the running server. The error wraps fs.ErrNotExist or access.ErrStale if none is running.
func used(ctx context.Context, p *cli.Process) (all []listed, err error) {
	err = connect.WithRunning(ctx, p, func(ctx context.Context, client *rpc.Client) error {
		var info struct {
			Servers *[]listed `json:"mcpServers"`
		}
		if err := client.Call(ctx, "_strata/server/info", struct{}{}, &info); err != nil {
			return err
		}
		if info.Servers == nil {
			return errOld
		}
		all = *info.Servers
		return nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("the running server does not respond")
	}
	return all, err
}

// merge returns the configured servers in their order, then the others of the running server in theirs.
func merge(definitions []servers.Definition, running []listed) (all []listed) {
	states := make(map[string]listed)
	for _, s := range running {
		if s.Source == "config" {
			states[s.Name] = s
		}
	}
	for _, d := range definitions {
		s, known := states[d.Name]
		if !known {
			s = listed{Name: d.Name, Transport: transport(d), Source: "config"}
		}
		s.Configured, s.address = true, address(d)
		all = append(all, s)
	}
	for _, s := range running {
		if _, ok := find(definitions, s.Name); !ok || s.Source != "config" {
			all = append(all, s)
		}
	}
	return all
}

func writeJSON(w io.Writer, all []listed) error {
	for _, s := range all {
		if s.Tools == nil {
			s.Tools = []tool{}
		}
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// writeTable writes a line for each server. states says whether a running server was asked.
func writeTable(w io.Writer, all []listed, states bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", cli.OneLine(s.Name), s.summary(states), cli.OneLine(s.detail(states)))
	}
	return table.Flush()
}

// summary returns the state of a server and its use.
func (s listed) summary(states bool) string {
	switch {
	case !states:
		return s.Transport
	case s.State == "":
		return "not loaded"
	case s.State == "unused":
		return s.State
	}
	return fmt.Sprintf("%s, %s, %s", cli.OneLine(s.State), count(len(s.Tools), "tool"), count(s.Sessions, "session"))
}

// detail returns what a user needs to know of a server, on one line.
func (s listed) detail(states bool) string {
	switch {
	case s.Error != "":
		return s.Error
	case states && s.State == "":
		return "configured after the start of the running server: run `strata stop`"
	case s.address != "":
		return s.address
	case s.Source == "config":
		return "no longer configured; in use until the running server stops"
	}
	return "named by a client"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
