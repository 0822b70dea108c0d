package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folders is the rule about the folders that sessions may work in: any but the root of the file system and the server's
// own, or, if roots are configured, only these and folders below them. It also decides when two spellings name one folder.
// Safe for concurrent use.
type Folders struct {
	own   string   // resolved; empty for none
	roots []string // resolved; none: any folder
	looks *looks[place]
	lists *looks[listing]
}

// NewFolders returns the rule for a server whose own folder is own (empty for none), and the configured roots.
// It resolves both; a folder that does not exist is an error.
func NewFolders(own string, roots []string) (*Folders, error) {
	f := &Folders{looks: newLookups(realDisk{}, folderTime), lists: newListings(listFolder, folderTime)}
	existing := func(dir string) (string, error) {
		if _, err := os.Stat(dir); err != nil {
			return "", err
		}
		return resolve(realDisk{}, dir), nil
	}
	var err error
	if own != "" {
		if f.own, err = existing(own); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
	}
	for _, root := range roots {
		real, err := existing(root)
		if err != nil {
			return nil, fmt.Errorf("workspaces.roots: %s: %w", root, err)
		}
		f.roots = append(f.roots, real)
	}
	return f, nil
}

// Check returns the cleaned path of a folder for a session. The folder must be absolute, exist and be allowed.
// The error is a predicate, "is not an absolute path", for the caller to put the folder's name before.
func (f *Folders) Check(dir string) (string, error) {
	if !isAbsolute(dir) {
		return "", errors.New("is not an absolute path")
	}
	look := f.looks.start(dir)
	switch {
	case !look.wait(context.Background()):
		return "", errNoResponse
	case look.found.missing:
		return "", errors.New("is not an existing folder")
	}
	return filepath.Clean(dir), f.forbidden(look.found.real)
}

var errNoResponse = errors.New("does not respond")

func isAbsolute(dir string) bool { return filepath.IsAbs(dir) && !strings.ContainsRune(dir, 0) }

// Allowed returns an error if sessions must not work in a folder, which need not exist: a session can be older than the
// settings.
func (f *Folders) Allowed(ctx context.Context, dir string) error {
	look := f.looks.start(dir)
	err := errNoResponse
	if look.wait(ctx) {
		if look.found.missing {
			return nil // nothing can be read there
		}
		err = f.forbidden(look.found.real)
	}
	if err != nil {
		return fmt.Errorf("%s %w", dir, err)
	}
	return nil
}

// Resolve returns the one spelling of an absolute path by which folders are compared: cleaned, without links, in the
// letter case of the disk. missing reports whether there is no such folder. Of a folder that does not respond, it returns
// the cleaned path.
func (f *Folders) Resolve(dir string) (real string, missing bool) {
	if look := f.looks.start(dir); look.wait(context.Background()) {
		return look.found.real, look.found.missing
	}
	return filepath.Clean(dir), false
}

// Known is Resolve by the last look at the folder: it does not wait.
func (f *Folders) Known(dir string) (real string, missing bool) {
	if look := f.looks.last(dir); look != nil {
		return look.found.real, look.found.missing
	}
	return filepath.Clean(dir), false
}

// Same returns those of the given paths that name the same folder as dir.
func (f *Folders) Same(dir string, paths []string) []string {
	return f.choose(dir, paths, func(path, dir string) bool { return path == dir })
}

// Within returns those of the given paths that name the same folder as dir, or one below it.
func (f *Folders) Within(dir string, paths []string) []string { return f.choose(dir, paths, within) }

// choose returns the paths for which wanted is true. It receives the path and dir with all links resolved.
func (f *Folders) choose(dir string, paths []string, wanted func(path, dir string) bool) (chosen []string) {
	real, _ := f.Resolve(dir)
	f.Look(paths)
	for _, path := range paths {
		if other, _ := f.Known(path); wanted(other, real) {
			chosen = append(chosen, path)
		}
	}
	return chosen
}

// Holds reports whether a folder is root or below it, as far as both are known: it does not wait.
func (f *Folders) Holds(root, dir string) bool {
	root, _ = f.Known(root)
	dir, _ = f.Known(dir)
	return within(dir, root)
}

// lookedAt is the maximum number of concurrent looks of one call.
const lookedAt = 64

// Look makes Known up to date for the given paths.
func (f *Folders) Look(paths []string) {
	for some := range slices.Chunk(paths, lookedAt) {
		looks := make([]*look[place], len(some))
		for i, path := range some {
			looks[i] = f.looks.start(path)
		}
		for _, look := range looks {
			look.wait(context.Background())
		}
	}
}

// forbidden returns the predicate for a resolved folder in which sessions must not work, nil if they may.
func (f *Folders) forbidden(dir string) error {
	if dir == filepath.Dir(dir) {
		return errors.New("is the root of the file system")
	}
	if f.own != "" && within(dir, f.own) {
		return errors.New("belongs to this server")
	}
	for _, root := range f.roots {
		if within(dir, root) {
			return nil
		}
	}
	if len(f.roots) == 0 {
		return nil
	}
	return errors.New("is outside workspaces.roots of the configuration")
}

// within reports whether dir is root or below it. Both are clean and resolved.
func within(dir, root string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
