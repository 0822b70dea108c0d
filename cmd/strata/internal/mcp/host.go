package mcp

import (
	"strata/cmd/strata/internal/cli"
	"strata/session/servers"
)

type host interface {
	servers.Source
	Close()
}

func newHost(p *cli.Process) host { return nil }
