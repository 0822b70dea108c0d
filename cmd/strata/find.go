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

// findServer gives the running server of this user. A file that a dead server left is not believed.
func (p *process) findServer() (access.ServerFile, error) {
	path, err := p.serverFile()
	if err != nil {
		return access.ServerFile{}, err
	}
	return access.FindServer(path, historystore.Holder)
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
