// Package source describes the files of a workspace that are not on a disk of this machine: the client of a session has them.
//
// It must never do I/O.
package source

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Files are the files of a workspace. Paths are relative to its folder, with slashes. The bytes of a file are its text in
// UTF-8. Implementations are safe for concurrent use. The errors are a *filecontext.RefusedError, or that of ctx; the reason
// filecontext.ReasonAway means that nothing is known of the files now.
type Files interface {
	// List returns the files as they are now.
	List(ctx context.Context) (*List, error)
	// Known returns the newest list that is known, nil for none. It does not wait.
	Known() *List
	// Read returns a file, which need not be in the list. The error of the file is returned as that of Read.
	Read(ctx context.Context, path string, r Reading) (Text, error)
	// ReadSome returns some of several files by their paths, at least one: the others must be read again. Each has its own error.
	ReadSome(ctx context.Context, paths []string, r Reading) (map[string]Text, error)

	// Write replaces the text of a file, or creates the file with its folders. Move does not replace a file. After an error,
	// each of them may have changed the files.
	Write(ctx context.Context, path, text string) error
	Delete(ctx context.Context, path string) error
	Move(ctx context.Context, from, to string) error
}

// Reading says how files are read.
type Reading struct {
	Limit  int64 // maximum size of a file in bytes; a larger one is refused
	Binary bool  // as bytes, for files that are not text
}

// Text is a file that was read.
type Text struct {
	Data    []byte
	Version string // as in a list, of these bytes; empty: not known
	Err     error  // a *filecontext.RefusedError: why the file cannot be read
}

// MaxPaths is the maximum number of paths in a call of ReadSome.
const MaxPaths = 256

// File is a file in a list.
type File struct {
	Path     string
	Size     int64  // in bytes, as the client says: the text can have another
	Modified int64  // Unix time in milliseconds; 0: not known
	Version  string // changes with the text; empty: not known
}

// List is a list of files, and the number of those that are missing in it. It is immutable.
type List struct {
	Files []File // sorted by path, each once

	Nameless int  // files whose names are not valid paths
	Cut      bool // there may be further files
}

// Find returns the file at a path.
func (l *List) Find(path string) (*File, bool) {
	at, found := l.search(path)
	if !found {
		return nil, false
	}
	return &l.Files[at], true
}

func (l *List) search(path string) (at int, found bool) {
	return slices.BinarySearchFunc(l.Files, path, func(f File, path string) int { return cmp.Compare(f.Path, path) })
}

// Below returns the files of a folder and its subfolders. The path of the workspace itself is ".".
func (l *List) Below(folder string) []File {
	if folder == "." {
		return l.Files
	}
	start := folder + "/"
	from, _ := l.search(start)
	all := l.Files[from:]
	for i := range all {
		if !strings.HasPrefix(all[i].Path, start) {
			return all[:i]
		}
	}
	return all
}

// IsFolder reports whether a path is that of a folder with files.
func (l *List) IsFolder(path string) bool { return path == "." || len(l.Below(path)) > 0 }
