package connect

import (
	"fmt"
	"net/url"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/historystore"
	"strata/server/access"
)

// acpPath is the path at which the server speaks the Agent Client Protocol.
const acpPath = "/acp"

// FindServer returns the running server of this user. It ignores the file of a dead server. The file of a server that
// was started without XDG_RUNTIME_DIR is in the state folder, so FindServer looks there too. The error wraps
// fs.ErrNotExist or access.ErrStale if no server is running.
func FindServer(p *cli.Process) (access.ServerFile, error) {
	folders, err := config.FindFolders(p.Getenv)
	if err != nil {
		return access.ServerFile{}, err
	}
	noRuntimeDir := func(string) string { return "" }
	path, other := access.ServerFilePath(p.Getenv, folders.State), access.ServerFilePath(noRuntimeDir, folders.State)
	running, err := access.FindServer(path, historystore.Holder)
	if err == nil || other == path {
		return running, err
	}
	if running, otherErr := access.FindServer(other, historystore.Holder); otherErr == nil {
		return running, nil
	}
	return running, err
}

// Database returns the path of the database that commands without a server use: that of the running server, unless the
// configuration names one.
func Database(p *cli.Process, c *config.Config) string {
	if running, err := FindServer(p); err == nil && c.IsDefault("db") {
		return running.Database
	}
	return c.DB
}

// webSocketURL returns the address to dial for the address that a server publishes.
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

// httpURL returns the address of a route of the server with a published address.
func httpURL(server, route string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("address of the server: %w", err)
	}
	switch u.Scheme {
	case "ws":
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	}
	u.Path = route
	return u.String(), nil
}
