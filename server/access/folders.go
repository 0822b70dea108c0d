package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"strata/internal/patience"
)

// Folders is the rule about the folders that sessions may work in: any but the root of the file system and the server's
// own, or, if roots are configured, only these and folders below them. Safe for concurrent use.
type Folders struct {
	own   string   // resolved; empty for none
	roots []string // resolved; none: any folder
}

// NewFolders returns the rule for a server whose own folder is own (empty for none), and the configured roots.
// It resolves links in both; a folder that does not exist is an error.
func NewFolders(own string, roots []string) (*Folders, error) {
	f := &Folders{}
	var err error
	if own != "" {
		if f.own, err = filepath.EvalSymlinks(own); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
	}
	for _, root := range roots {
		real, err := resolve(context.Background(), root)
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
	if !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", errors.New("is not an absolute path")
	}
	dir = filepath.Clean(dir)
	real, err := resolve(context.Background(), dir)
	switch {
	case errors.Is(err, patience.ErrNoResponse), errors.Is(err, patience.ErrTooMany):
		return "", fmt.Errorf("cannot be opened: %w", err)
	case err != nil:
		return "", errors.New("is not an existing folder")
	}
	return dir, f.forbidden(real)
}

// resolve returns the path of a folder without links. Its disk may not respond: see patience.
func resolve(ctx context.Context, dir string) (string, error) {
	return patience.Do(ctx, patience.Files, dir, dir, func() (string, error) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return "", fs.ErrNotExist
		}
		return real, nil
	})
}

// Allowed returns an error if sessions must not work in a folder, which need not exist: a session can be older than the
// settings.
func (f *Folders) Allowed(ctx context.Context, dir string) error {
	real, err := resolve(ctx, dir)
	if err != nil {
		return nil // nothing can be read there
	}
	if err := f.forbidden(real); err != nil {
		return fmt.Errorf("%s %w", dir, err)
	}
	return nil
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
