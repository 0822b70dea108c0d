package filecontext

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errRemote is the error for a folder that is not on a disk of this machine.
var errRemote = errors.New("not on this machine")

// errReplaced is the error for a folder that is no longer the one that was admitted, but a link to another.
var errReplaced = errors.New("replaced by a link")

// place is a folder that was admitted. A path is only a name: whoever can write to a parent folder can put a link to any
// other folder in its place. So each access opens the folder again, relative to the place above it, and compares its identity.
// It is immutable.
type place struct {
	path  string      // without links, when it was admitted
	info  fs.FileInfo // its identity
	above *place      // the configured folder that must contain it; nil: no restriction

	remote bool // a name only: nothing of it is on a disk of this machine, and it is never opened
}

// newPlace admits a folder.
func newPlace(path string, above *place) (*place, error) {
	p := &place{path: path, above: above}
	folder, err := p.follow()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	p.info, err = folder.Stat(".")
	return p, err
}

// open opens the folder. It must still be the one that was admitted, or a new folder at the same path without links: a
// project that was cloned again, or a disk that was mounted again. A link to another folder is errReplaced.
func (p *place) open() (*os.Root, error) {
	if p.remote {
		return nil, errRemote
	}
	folder, err := p.follow()
	switch {
	case err == nil && isFolder(folder, p.info):
		return folder, nil
	case err == nil:
		folder.Close()
		if folder, err = p.walk(); err != nil {
			return nil, errReplaced
		}
		return folder, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return p.walk()
}

// follow opens whatever is at the path now. With a place above, that is always below it.
func (p *place) follow() (*os.Root, error) {
	if p.above == nil {
		return os.OpenRoot(p.path)
	}
	folder, name, err := p.start()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.OpenRoot(name)
}

// walk opens the folder step by step from the place above, else from the root of the file system, and follows no link.
func (p *place) walk() (*os.Root, error) {
	folder, name, err := p.start()
	if err != nil {
		return nil, err
	}
	for step := range strings.SplitSeq(name, string(filepath.Separator)) {
		next, err := enter(folder, step)
		folder.Close()
		if err != nil {
			return nil, err
		}
		folder = next
	}
	return folder, nil
}

// start opens the folder above and returns the path relative to it.
func (p *place) start() (folder *os.Root, name string, err error) {
	if p.above != nil {
		folder, err = p.above.open()
		if err == nil {
			name, err = filepath.Rel(p.above.path, p.path)
		}
	} else {
		base := filepath.VolumeName(p.path) + string(filepath.Separator)
		folder, err = os.OpenRoot(base)
		name = strings.TrimPrefix(p.path, base)
	}
	return folder, name, err
}

// enter opens a subfolder that is not a link, even if it is replaced meanwhile.
func enter(folder *os.Root, name string) (*os.Root, error) {
	info, err := folder.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errReplaced
	}
	next, err := folder.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if !isFolder(next, info) {
		next.Close()
		return nil, errReplaced
	}
	return next, nil
}

// isFolder reports whether an open folder is the one with this identity.
func isFolder(folder *os.Root, info fs.FileInfo) bool {
	now, err := folder.Stat(".")
	return err == nil && os.SameFile(now, info)
}
