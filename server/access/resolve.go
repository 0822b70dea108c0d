package access

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// disk is the file system as resolve sees it.
type disk interface {
	evalLinks(path string) (string, error)
	lstat(path string) (fs.FileInfo, error)
	names(folder string) ([]string, error)
}

type realDisk struct{}

func (realDisk) evalLinks(path string) (string, error)  { return filepath.EvalSymlinks(path) }
func (realDisk) lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }
func (realDisk) names(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// resolve returns the one spelling of an absolute path by which folders are compared: clean, without links, and in the
// letter case of the disk where the disk ignores case. Of a path that does not exist, it resolves the part that does.
func resolve(d disk, path string) string {
	path = filepath.Clean(path)
	rest := ""
	for {
		real, err := d.evalLinks(path)
		if err == nil {
			return filepath.Join(diskCase(d, real), rest)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return filepath.Join(path, rest)
		}
		path, rest = parent, filepath.Join(filepath.Base(path), rest)
	}
}

// diskCase returns an existing path without links, with each name as its folder lists it.
func diskCase(d disk, path string) string {
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	parent, name := diskCase(d, parent), filepath.Base(path)
	path = filepath.Join(parent, name)
	other := swapCase(name)
	if other == name || !sameFile(d, path, filepath.Join(parent, other)) {
		return path
	}
	names, err := d.names(parent)
	if err != nil {
		return path
	}
	for _, listed := range names {
		if strings.EqualFold(listed, name) && sameFile(d, path, filepath.Join(parent, listed)) {
			return filepath.Join(parent, listed)
		}
	}
	return path
}

func sameFile(d disk, a, b string) bool {
	infoA, errA := d.lstat(a)
	infoB, errB := d.lstat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// swapCase returns a name with upper and lower case swapped.
func swapCase(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, name)
}
