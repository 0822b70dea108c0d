// Package acpcheck runs clients of the Agent Client Protocol against a server: two built with its official npm SDKs, one
// over WebSocket, with two generations of the SDK, and one over stdin and stdout; and acpx, a headless client that others
// have built.
//
// It needs node and npm, which `make test` installs. It must only be used by tests.
package acpcheck

import (
	"context"
	"embed"
	"io/fs"

	"strata/internal/npm"
)

//go:embed testdata/*.mjs testdata/*.json
var scripts embed.FS

//go:embed testdata/acpx/*.json
var acpxPackages embed.FS

// Install returns a folder with the scripts and the packages that they import.
func Install(ctx context.Context) (dir string, err error) {
	return install(ctx, "acpcheck", scripts, "testdata", "ci")
}

func install(ctx context.Context, name string, from embed.FS, folder, command string) (dir string, err error) {
	files, err := fs.Sub(from, folder)
	if err != nil {
		return "", err
	}
	return npm.Packages{Name: name, Files: files, Command: command}.Install(ctx)
}
