package filecontext

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ownFiles are the identities of the program's own files and folders at one moment: files come and go.
type ownFiles struct {
	folders []fs.FileInfo
	files   []fs.FileInfo
	paths   []string      // of the folders
	inside  []fs.FileInfo // files in the folders; nil until isOne needs them
}

// maxOwn bounds the files of the program's own folders that are compared.
const maxOwn = 10_000

var errTooMany = errors.New("too many files")

// ownFiles returns the identities of the program's own files and folders as they are now.
func (g *Guard) ownFiles() ownFiles {
	var o ownFiles
	if g != nil {
		for _, path := range g.own {
			o.add(path)
		}
	}
	return o
}

func (o *ownFiles) add(path string) {
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.IsDir():
		o.folders, o.paths = append(o.folders, info), append(o.paths, path)
	default:
		o.files = append(o.files, info)
	}
}

// isFolder reports whether a folder is one of the program's own.
func (o *ownFiles) isFolder(info fs.FileInfo) bool {
	return slices.ContainsFunc(o.folders, func(f fs.FileInfo) bool { return os.SameFile(f, info) })
}

// holds reports whether a folder is one of the program's own or below it. The path has no links.
func (o *ownFiles) holds(folder string) bool {
	if len(o.folders) == 0 {
		return false
	}
	for {
		if info, err := os.Stat(folder); err == nil && o.isFolder(info) {
			return true
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return false
		}
		folder = parent
	}
}

// isOne reports whether a file is one of the program's own. A file with several hard links can also be one of those in
// its folders; if these are too many to compare, it counts as one.
func (o *ownFiles) isOne(info fs.FileInfo) bool {
	is := func(f fs.FileInfo) bool { return os.SameFile(f, info) }
	if slices.ContainsFunc(o.files, is) {
		return true
	}
	if len(o.paths) == 0 || hasOneName(info) {
		return false
	}
	if o.inside == nil {
		o.inside = []fs.FileInfo{}
		for _, folder := range o.paths {
			if o.scan(folder) != nil {
				return true
			}
		}
	}
	return slices.ContainsFunc(o.inside, is)
}

// scan adds the files below one of the program's folders to inside. Files that vanish meanwhile are skipped.
func (o *ownFiles) scan(folder string) error {
	return filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if len(o.inside) == maxOwn {
			return errTooMany
		}
		if info, err := e.Info(); err == nil {
			o.inside = append(o.inside, info)
		}
		return nil
	})
}
