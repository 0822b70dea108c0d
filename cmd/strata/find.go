package main

import (
	"fmt"
	"net/url"

	"strata/cmd/strata/internal/config"
	"strata/historystore"
	"strata/server/access"
)

// acpPath is where the server speaks the Agent Client Protocol.
const acpPath = "/acp"

// findServer gives the running server of this user. A file that a dead server left is not believed. The state folder
// is looked into as well: a server that was started where there is no XDG_RUNTIME_DIR tells of itself there.
func (p *process) findServer() (access.ServerFile, error) {
	folders, err := config.FindFolders(p.getenv)
	if err != nil {
		return access.ServerFile{}, err
	}
	noRuntimeDir := func(string) string { return "" }
	path, other := access.ServerFilePath(p.getenv, folders.State), access.ServerFilePath(noRuntimeDir, folders.State)
	running, err := access.FindServer(path, historystore.Holder)
	if err == nil || other == path {
		return running, err
	}
	if running, otherErr := access.FindServer(other, historystore.Holder); otherErr == nil {
		return running, nil
	}
	return running, err
}

func (p *process) serverFile() (string, error) {
	folders, err := config.FindFolders(p.getenv)
	if err != nil {
		return "", err
	}
	return access.ServerFilePath(p.getenv, folders.State), nil
}

// webSocketURL gives the address to dial from the one that the server tells.
func webSocketURL(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("address of the server: %w", err)
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = acpPath
	}
	return u.String(), nil
}
