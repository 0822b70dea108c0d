package filecontext

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// SurveyLimits bound a Survey.
type SurveyLimits struct {
	Files  int // maximum number of listed files
	Visits int // maximum number of files and folders that are looked at, ignored ones included
}

// Survey is the list of the files in the working folder at one moment, and the number of those that are missing in it.
// Files ignored by git or by a .strataignore file are neither listed nor counted, nor are links, folders of version
// control systems, and the program's own files.
type Survey struct {
	Files      []Surveyed // sorted by path
	Excess     int        // files beyond the limit
	Nameless   int        // files whose names are not valid paths in UTF-8
	Unreadable int        // files and folders that cannot be looked at
	TooDeep    int        // folders below the maximum depth, each with all in it
	Cut        bool       // the maximum number of visits was reached: there may be further files
}

// Surveyed is a file found by Roots.Survey.
type Surveyed struct {
	Ref   Ref
	Size  int64 // in bytes
	Stamp Stamp
}

// Stamp identifies a version of a file by its attributes on disk. The zero Stamp identifies none.
type Stamp struct{ stamp stamp }

// Stamp returns the stamp of the version on disk, zero for the client's unsaved text.
func (c *Content) Stamp() Stamp { return Stamp{c.stamp} }

// Current reports whether a file that was read at stamp s is unchanged at stamp now. If it returns false, the file may or
// may not have changed.
func (s Stamp) Current(now Stamp) bool { return s.stamp.current(now.stamp) }

// Modified returns the modification time of the file, to which any program can set it.
func (s Stamp) Modified() time.Time { return time.Unix(0, s.stamp.modified) }

// Append appends the encoding of s to data.
func (s Stamp) Append(data []byte) []byte {
	data = binary.AppendVarint(data, s.stamp.size)
	data = binary.AppendVarint(data, s.stamp.modified)
	data = binary.AppendVarint(data, s.stamp.changed)
	data = binary.AppendUvarint(data, s.stamp.device)
	data = binary.AppendUvarint(data, s.stamp.inode)
	if s.stamp.settled {
		return append(data, 1)
	}
	return append(data, 0)
}

// CutStamp decodes a stamp at the start of data and returns the rest. It returns false if data does not start with one.
func CutStamp(data []byte) (s Stamp, rest []byte, ok bool) {
	for _, field := range []*int64{&s.stamp.size, &s.stamp.modified, &s.stamp.changed} {
		v, n := binary.Varint(data)
		if n <= 0 {
			return Stamp{}, nil, false
		}
		*field, data = v, data[n:]
	}
	for _, field := range []*uint64{&s.stamp.device, &s.stamp.inode} {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return Stamp{}, nil, false
		}
		*field, data = v, data[n:]
	}
	if len(data) == 0 || data[0] > 1 {
		return Stamp{}, nil, false
	}
	s.stamp.settled = data[0] == 1
	return s, data[1:], true
}

// Folder returns the path of the working folder, without links.
func (r *Roots) Folder() string { return r.roots[0].place.path }

// Survey lists the files in the working folder. It looks at folders near the top first, so that a limit omits what is
// deep. The error is that of ctx, or a *RefusedError if the folder cannot be opened.
func (r *Roots) Survey(ctx context.Context, limits SurveyLimits) (*Survey, error) {
	place := r.roots[0].place
	s := surveyor{walker: walker{roots: r, own: r.limits.Guard.ownFiles(), place: place, left: limits.Visits}, files: limits.Files}
	disk, err := s.open(ctx, place)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, refuse(place.path, ReasonUnreadable, "")
	}
	defer disk.Close()
	s.disk = disk
	if _, err := s.listFolder(ctx, "."); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	s.queue = []queued{{name: ".", rules: s.readRules(ctx, nil, "", ".git/info/exclude"), depth: 1}}
	for len(s.queue) > 0 && ctx.Err() == nil {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.visit(ctx, next)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(s.out.Files, func(a, b Surveyed) int { return strings.Compare(a.Ref.Path, b.Ref.Path) })
	return &s.out, nil
}

// surveyor is a walker through the working folder by depth.
type surveyor struct {
	walker
	files int // maximum number
	queue []queued
	out   Survey
}

// queued is a folder to visit.
type queued struct {
	name  string // with forward slashes
	rules *rules // of the folders above
	depth int    // 1 for the root
}

// versionFolders belong to version control systems. A file of such a name leads to a folder elsewhere.
var versionFolders = []string{".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", "CVS", ".pijul", ".fslckout"}

// visit lists the files of a folder and queues its subfolders.
func (s *surveyor) visit(ctx context.Context, q queued) {
	if s.left <= 0 {
		s.out.Cut = true
		return
	}
	entries, err := s.listFolder(ctx, q.name)
	if err != nil {
		s.out.Unreadable++
		return
	}
	s.out.Cut = s.out.Cut || len(entries) == s.left
	s.left -= len(entries)
	here := s.rulesIn(ctx, q, entries)
	var files []string
	for _, e := range entries {
		child := path.Join(q.name, e.Name())
		switch {
		case slices.Contains(versionFolders, e.Name()):
		case e.Type().IsRegular():
			if !here.ignore(child) {
				files = append(files, e.Name())
			}
		case !e.IsDir() || here.ignore(child+"/"):
		case q.depth >= s.roots.limits.WalkDepth:
			s.out.TooDeep++
		default:
			s.queue = append(s.queue, queued{child, here, q.depth + 1})
		}
	}
	s.lookAt(ctx, q.name, files)
}

// rulesIn returns the rules for the entries of a folder. A .strataignore file has the syntax of .gitignore, and the last
// word.
func (s *surveyor) rulesIn(ctx context.Context, q queued, entries []fs.DirEntry) *rules {
	here := q.rules
	for _, name := range []string{".gitignore", ".strataignore"} {
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type().IsRegular() }) {
			here = s.readRules(ctx, here, prefix(q.name), path.Join(q.name, name))
		}
	}
	return here
}

// lookAt lists files of a folder, by their names in it.
func (s *surveyor) lookAt(ctx context.Context, name string, files []string) {
	if len(files) == 0 {
		return
	}
	disk, ref := s.disk, s.ref(name)
	folder, err := onDisk(ctx, s.roots, ref, func() (*os.Root, error) { return disk.OpenRoot(ref.name) })
	if err != nil {
		s.out.Unreadable += len(files)
		return
	}
	defer folder.Close()
	for i, file := range files {
		if len(s.out.Files) >= s.files {
			s.out.Excess += len(files) - i
			return
		}
		s.add(ctx, folder, path.Join(name, file))
	}
}

func (s *surveyor) add(ctx context.Context, folder *os.Root, name string) {
	if !isPath(name) {
		s.out.Nameless++
		return
	}
	ref := s.ref(name)
	info, err := onDisk(ctx, s.roots, ref, func() (fs.FileInfo, error) { return folder.Lstat(path.Base(name)) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.out.Unreadable++
	case info.Mode().IsRegular() && !s.own.isOne(info):
		s.out.Files = append(s.out.Files, Surveyed{ref, info.Size(), Stamp{newStamp(info, s.roots.now())}})
	}
}

func (s *surveyor) ref(name string) Ref {
	return Ref{Path: name, place: s.place, name: filepath.FromSlash(name)}
}
