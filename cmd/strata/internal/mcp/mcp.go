// Package mcp is `strata mcp`: it lists the MCP servers of the configuration and of the running server, and checks one.
//
// It must never print a value of an environment or of a header.
package mcp

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/session/servers"
)

// Command returns `strata mcp`.
func Command(p *cli.Process) *cobra.Command {
	return cli.Group("mcp", "List and check MCP servers", newList(p), newTest(p))
}

// configured returns the servers of mcp_servers.
func configured(p *cli.Process) ([]servers.Definition, error) {
	c, err := p.Load(nil)
	if err != nil {
		return nil, err
	}
	return c.MCPDefinitions(p.Getenv), nil
}

// completeName completes the name of a configured server.
func completeName(p *cli.Process) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list, err := configured(p)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for _, d := range list {
			names = append(names, cobra.CompletionWithDesc(d.Name, cli.OneLine(address(d))))
		}
		return cli.Beginning(typed, names), cobra.ShellCompDirectiveNoFileComp
	}
}

// transport returns how a server is reached, as the protocol names it.
func transport(d servers.Definition) string {
	if d.URL != "" {
		return "http"
	}
	return "stdio"
}

// address returns the command line of a server, or its URL without the query, which can contain a key.
func address(d servers.Definition) string {
	if d.URL == "" {
		words := append([]string{d.Command}, d.Args...)
		for i, word := range words {
			if word == "" || strings.ContainsAny(word, " \t\n\"'") {
				words[i] = strconv.Quote(word)
			}
		}
		return strings.Join(words, " ")
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.String()
}

// find returns the configured server with a name.
func find(list []servers.Definition, name string) (d servers.Definition, ok bool) {
	i := slices.IndexFunc(list, func(d servers.Definition) bool { return d.Name == name })
	if i < 0 {
		return d, false
	}
	return list[i], true
}
