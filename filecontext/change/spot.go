package change

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"strata/filecontext"
)

// maxLinks is the maximum number of symbolic links in a path (as in Linux).
const maxLinks = 40

// found is where a path leads, by identity.
type found struct {
	folder  fs.FileInfo // the deepest folder that exists
	missing []string    // the names of those below it
	base    string      // the name of the file
	file    fs.FileInfo // nil if there is none
	isLink  bool        // the path itself is a symbolic link
}

// spot is where a path leads, with the folder open: whatever becomes of the path, work in the folder stays there.
type spot struct {
	found
	open *os.Root
	path string // of the file, absolute and without links when the path was followed
}

func (s *spot) close() { s.open.Close() }

// find follows a path to a file, or to where one can be. It follows links in the root, and refuses those that lead out of it or
// nowhere.
func find(f *filecontext.Reached) (*spot, error) {
	w := walk{f: f, todo: split(f.Name), given: math.MaxInt}
	if err := w.run(); err != nil {
		return nil, err
	}
	folder := filepath.Join(append([]string{"."}, w.done...)...)
	info, err := f.Folder.Lstat(folder)
	if err != nil {
		return nil, f.RefuseOS(err)
	}
	open, err := f.Folder.OpenRoot(folder)
	if err != nil {
		return nil, f.RefuseOS(err)
	}
	path := filepath.Join(append([]string{f.Folder.Name(), folder}, append(slices.Clone(w.missing), w.base)...)...)
	s := &spot{open: open, path: path, found: found{missing: w.missing, base: w.base, isLink: w.isLink}}
	if s.folder, err = open.Stat("."); err != nil || !os.SameFile(info, s.folder) {
		s.close()
		return nil, f.Refuse(filecontext.ReasonReplaced, "")
	}
	return s, nil
}

// walk follows a path step by step. os.Root would follow links, too, but not say where they lead.
type walk struct {
	f     *filecontext.Reached
	todo  []string
	links int
	given int // the last names of todo that are not from a link, once there was one

	done    []string // folders
	missing []string
	base    string
	isLink  bool
}

func split(path string) []string { return strings.Split(filepath.ToSlash(path), "/") }

func (w *walk) run() error {
	for w.base == "" {
		if len(w.todo) == 0 {
			return w.f.Refuse(filecontext.ReasonDirectory, "")
		}
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) step() error {
	name := w.todo[0]
	w.todo = w.todo[1:]
	switch {
	case name == "" || name == ".":
		return nil
	case name == ".." && len(w.done) == 0:
		return w.f.Refuse(filecontext.ReasonOutside, "")
	case name == "..":
		w.done = w.done[:len(w.done)-1]
		return nil
	}
	path := filepath.Join(append(slices.Clone(w.done), name)...)
	info, err := w.f.Folder.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.end(name)
	case err != nil:
		return w.f.RefuseOS(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(path)
	case info.IsDir():
		w.done = append(w.done, name)
	case len(w.todo) > 0:
		return w.f.Refuse(filecontext.ReasonBadPath, filecontext.Printable(name)+" is not a folder")
	default:
		w.base = name
	}
	return nil
}

// end ends the walk at a name that does not exist.
func (w *walk) end(name string) error {
	names := append([]string{name}, w.todo...)
	if len(w.todo) >= w.given || slices.Contains(names, "..") {
		return w.f.Refuse(filecontext.ReasonMissing, "a symbolic link leads nowhere")
	}
	w.missing, w.base = names[:len(names)-1], names[len(names)-1]
	return nil
}

// follow puts the target of a link in its place.
func (w *walk) follow(path string) error {
	if w.links++; w.links > maxLinks {
		return w.f.Refuse(filecontext.ReasonUnreadable, "too many symbolic links")
	}
	target, err := w.f.Folder.Readlink(path)
	switch {
	case err != nil:
		return w.f.RefuseOS(err)
	case filepath.IsAbs(target) || filepath.VolumeName(target) != "" || strings.HasPrefix(filepath.ToSlash(target), "/"):
		return w.f.Refuse(filecontext.ReasonOutside, "") // as for os.Root, even if it leads back into the folder
	}
	w.isLink = w.isLink || len(w.todo) == 0
	w.given = min(w.given, len(w.todo))
	w.todo = append(split(target), w.todo...)
	return nil
}

// readSpot returns where a path leads, and the bytes of the file there.
func readSpot(f *filecontext.Reached) (*spot, []byte, error) {
	s, err := find(f)
	if err != nil {
		return nil, nil, err
	}
	var data []byte
	if err = s.mustExist(f); err == nil {
		data, s.file, err = f.Read(s.open, s.base)
	}
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, data, nil
}

// mustExist refuses a path without a file, and one that became a link since it was followed.
func (s *spot) mustExist(f *filecontext.Reached) error {
	if len(s.missing) > 0 {
		return f.Refuse(filecontext.ReasonMissing, "")
	}
	info, err := s.open.Lstat(s.base)
	switch {
	case err != nil:
		return f.RefuseOS(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return f.Refuse(filecontext.ReasonReplaced, "")
	}
	return nil
}

// newSpot returns where a path leads at which a new file may be.
func newSpot(f *filecontext.Reached) (*spot, error) {
	s, err := find(f)
	if err != nil {
		return nil, err
	}
	if err = s.mustBeFree(f); err == nil {
		err = f.Check(nil)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *spot) mustBeFree(f *filecontext.Reached) error {
	if len(s.missing) > 0 {
		return nil
	}
	_, err := s.open.Lstat(s.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return f.RefuseOS(err)
	}
	return f.Refuse(filecontext.ReasonExists, "")
}

// checkWritable refuses a file that its owner or the system does not let us write, although its folder would.
func (s *spot) checkWritable(f *filecontext.Reached) error {
	if s.file.Mode().Perm()&0o200 == 0 {
		return f.Refuse(filecontext.ReasonReadOnly, "")
	}
	file, err := s.open.OpenFile(s.base, os.O_WRONLY|openFlags, 0)
	if err != nil {
		return f.Refuse(filecontext.ReasonReadOnly, "")
	}
	return file.Close()
}

// isStill reports whether a path leads where it led when the change was planned: to the same file in the same folder, or to a
// new one there.
func (s *spot) isStill(planned *found) bool {
	if s.base != planned.base || s.isLink != planned.isLink || !os.SameFile(s.folder, planned.folder) || !slices.Equal(s.missing, planned.missing) {
		return false
	}
	return (s.file == nil) == (planned.file == nil) && (s.file == nil || os.SameFile(s.file, planned.file))
}
