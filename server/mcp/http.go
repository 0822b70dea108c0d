package mcp

import (
	"errors"

	"strata/session/servers"
)

func newHTTP(servers.Definition, *inbox, limits) (link, error) {
	return nil, errors.New("servers over HTTP are not supported yet")
}
