package filecontext

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"strata/filecontext/secrets"
	"strata/internal/patience"
)

// Guard decides what sessions must not read, whatever their folders are: anything outside the configured folders, the
// files of the program itself, and, unless the user allows it, files that look like secrets. The nil Guard forbids
// nothing. Safe for concurrent use.
type Guard struct {
	within  []*place
	own     []string // paths of files, and of folders with everything in them
	secrets secrets.Patterns
}

// GuardOptions are the rules of a Guard.
type GuardOptions struct {
	Within  []string // existing folders, one of which must contain each folder of a session; none: any folder
	Own     []string // paths of the program's own files and folders; they need not exist
	Secrets []string // patterns of secret-looking files; see secrets.Parse
}

// BuiltinSecrets is the pattern that includes all built-in patterns of secret-looking files.
const BuiltinSecrets = secrets.Builtin

// NewGuard returns a Guard. The error names the folder or the pattern that cannot be used.
func NewGuard(opt GuardOptions) (*Guard, error) {
	g := &Guard{own: slices.DeleteFunc(slices.Clone(opt.Own), func(path string) bool { return path == "" })}
	for _, folder := range opt.Within {
		p, err := patience.Do(context.Background(), patience.Files, folder, folder, func() (*place, error) {
			resolved, err := filepath.EvalSymlinks(folder)
			if err != nil {
				return nil, err
			}
			return newPlace(resolved, nil)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		g.within = append(g.within, p)
	}
	var err error
	g.secrets, err = secrets.Parse(opt.Secrets)
	return g, err
}

// admit returns the place of a folder of a session.
func (g *Guard) admit(resolved string) (*place, error) {
	if g == nil || len(g.within) == 0 {
		return newPlace(resolved, nil)
	}
	for _, above := range g.within {
		switch name, ok := inside(above.path, resolved); {
		case ok && name == ".":
			return above, nil
		case ok:
			return newPlace(resolved, above)
		}
	}
	return nil, errors.New("outside the folders that contain all workspaces")
}

// OpenFolder opens a folder of a session by its path, for files that are not those of its context.
func (g *Guard) OpenFolder(folder string) (*os.Root, error) {
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	place, err := g.admit(resolved)
	if err != nil {
		return nil, err
	}
	return place.open()
}

// check refuses a file that must not be read. info is the identity of the file, nil if it does not exist. It reports
// whether the file looks like a secret, which is refused only if ref does not allow it.
func (g *Guard) check(ref Ref, info fs.FileInfo) (secret bool, err error) {
	if g == nil {
		return false, nil
	}
	path := filepath.Join(ref.place.path, ref.name)
	real, err := realPath(path)
	if err != nil {
		return false, refuseOS(ref.Path, err)
	}
	if info != nil {
		// The file was opened by the same path. If this is another one, one of its folders was replaced in between.
		if now, err := os.Lstat(real); err != nil || !os.SameFile(now, info) {
			return false, refuse(ref.Path, ReasonReplaced, "")
		}
	}
	if g.owns(real, info) {
		return false, refuse(ref.Path, ReasonOwn, "")
	}
	secret = g.secrets.Match(path) || g.secrets.Match(real)
	if secret && !ref.Allow {
		return true, refuse(ref.Path, ReasonSecret, "")
	}
	return secret, nil
}

// checkName is check for a file that is not on a disk of this machine: only its name can be refused.
func (g *Guard) checkName(ref Ref) (secret bool, err error) {
	if g == nil {
		return false, nil
	}
	secret = g.secrets.Match(ref.Absolute())
	if secret && !ref.Allow {
		return true, refuse(ref.Path, ReasonSecret, "")
	}
	return secret, nil
}

// LooksSecret reports whether a path or a `file:` URI, in the roots or elsewhere, is that of a secret-looking file.
func (g *Guard) LooksSecret(pathOrURI string) bool {
	path := pathOrURI
	if isURI(path) {
		u, _ := parseURI(pathOrURI, runtime.GOOS == "windows")
		path = u.path
	}
	return g != nil && path != "" && g.secrets.Match(path)
}

// owns reports whether a file is one of the program's own, or in one of its folders, under whatever name. The path has no
// links.
func (g *Guard) owns(real string, info fs.FileInfo) bool {
	if TempOf(filepath.Base(real)) != "" || info == nil && slices.ContainsFunc(g.own, func(path string) bool { return samePath(path, real) }) {
		return true
	}
	own := g.ownFiles()
	return own.holds(filepath.Dir(real)) || info != nil && own.isOne(info)
}

// samePath reports whether a path, which may have links, is the path real but for the case of letters.
func samePath(path, real string) bool {
	resolved, err := realPath(path)
	return err == nil && strings.EqualFold(resolved, real)
}

// realPath returns a path without links. The file, and folders before it, need not exist.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return "", err
	}
	if real, err = realPath(parent); err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}
