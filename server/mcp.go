package server

import (
	"strata/server/mcp"
	"strata/session/servers"
)

var _ servers.Source = (*mcp.Host)(nil)
