// Package acpcheck runs clients of the Agent Client Protocol against a server: two built with its official npm SDKs, one
// over WebSocket, with two generations of the SDK, and one over stdin and stdout; and acpx, a headless client that others
// have built.
//
// It needs node and npm, which `make test` installs. It must only be used by tests.
package acpcheck

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed testdata/*.mjs testdata/*.json
var scripts embed.FS

//go:embed testdata/acpx/*.json
var acpxPackages embed.FS

// packages are an embedded folder with files and with the packages that they need.
type packages struct {
	name   string
	from   embed.FS
	folder string
	npm    string // the command of npm that installs the packages
}

// Install returns a folder with the scripts and the packages that they import. The folder is created once per version of
// these files, in the user's cache. Test processes may call Install concurrently.
func Install(ctx context.Context) (dir string, err error) {
	return packages{"acpcheck", scripts, "testdata", "ci"}.install(ctx)
}

func (p packages) install(ctx context.Context) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		dir, err = p.installBelow(ctx, filepath.Join(cache, "strata-test"))
	}
	if err != nil {
		return "", fmt.Errorf("install ACP clients: %w", err)
	}
	return dir, nil
}

func (p packages) installBelow(ctx context.Context, cache string) (string, error) {
	files, err := fs.Sub(p.from, p.folder)
	if err != nil {
		return "", err
	}
	version, err := hash(files)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, p.name+"-"+version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, p.installInto(ctx, dir, files)
}

// installInto creates the folder under a temporary name and renames it when it is complete.
func (p packages) installInto(ctx context.Context, dir string, files fs.FS) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	building, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(building)
	if err := os.CopyFS(building, files); err != nil {
		return err
	}
	npm := exec.CommandContext(ctx, "npm", p.npm, "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = building
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s (make test installs node and npm): %w\n%s", p.npm, err, out)
	}
	err = os.Rename(building, dir)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	return err
}

// hash returns a hash of the names and contents of files.
func hash(files fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(content), content)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:8]), err
}
