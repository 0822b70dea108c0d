package mcp

//lint:file-ignore SA1019 servers of protocol versions before 2026-07-28 ask for roots

import (
	"net/url"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/session/servers"
)

// capabilities are those of a client with roots that do not change.
func capabilities() *sdk.ClientCapabilities {
	return &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}}
}

// addRoots makes the folders of a place the roots of a client.
func addRoots(client *sdk.Client, at servers.Place) {
	for _, folder := range append([]string{at.Folder}, at.Roots...) {
		client.AddRoots(&sdk.Root{URI: fileURI(folder), Name: filepath.Base(folder)})
	}
}

// fileURI returns the URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
