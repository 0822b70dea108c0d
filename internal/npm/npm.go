// Package npm installs npm packages for tests, in a folder that is kept from run to run.
//
// It needs npm, which `make test` installs. It must only be used by tests.
package npm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Packages are files and the packages that their package.json names.
type Packages struct {
	Name    string // of the folder
	Files   fs.FS
	Command string // of npm: "ci" installs exactly the packages of package-lock.json, "install" others if some are missing
}

// Install returns a folder with the files and their packages. The folder is created once per version of the files, in the user's
// cache. Test processes may call Install concurrently.
func (p Packages) Install(ctx context.Context) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		dir, err = p.installBelow(ctx, filepath.Join(cache, "strata-test"))
	}
	if err != nil {
		return "", fmt.Errorf("install npm packages of %s: %w", p.Name, err)
	}
	return dir, nil
}

func (p Packages) installBelow(ctx context.Context, cache string) (string, error) {
	version, err := hash(p.Files)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, p.Name+"-"+version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, p.installInto(ctx, dir)
}

// installInto creates the folder under a temporary name and renames it when it is complete.
func (p Packages) installInto(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	building, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(building)
	if err := os.CopyFS(building, p.Files); err != nil {
		return err
	}
	npm := exec.CommandContext(ctx, "npm", p.Command, "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = building
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s (make test installs node and npm): %w\n%s", p.Command, err, out)
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
