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

	Ignored bool // list ignored files, too
}

// Survey is the list of the files in a folder at one moment, and the number of those that are missing in it.
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

// Folders returns the folders of the session, the working folder first, without those inside another.
func (r *Roots) Folders() (folders []Ref) {
	for i, root := range r.roots {
		if ref, ok := r.place(root.place.path); ok && (i == 0 || ref.place == root.place) {
			folders = append(folders, ref)
		}
	}
	return folders
}

// Survey lists the files in the working folder. It looks at folders near the top first, so that a limit omits what is
// deep. The error is that of ctx, or a *RefusedError if the folder cannot be opened.
func (r *Roots) Survey(ctx context.Context, limits SurveyLimits) (*Survey, error) {
	return r.SurveyOf(ctx, Ref{Path: ".", place: r.roots[0].place, name: "."}, limits)
}

// SurveyOf is Survey for any folder in the roots, by the rules of the folders above it. A link to a folder is followed if
// ref names it, and an ignored folder is listed. For a file the list is that file, ignored or not.
func (r *Roots) SurveyOf(ctx context.Context, ref Ref, limits SurveyLimits) (*Survey, error) {
	if r.remote != nil {
		return r.remote.survey(ctx, ref, limits)
	}
	s := surveyor{walker: walker{roots: r, own: r.limits.Guard.ownFiles(), place: ref.place, left: limits.Visits}, files: limits.Files,
		ignored: limits.Ignored}
	disk, err := s.open(ctx, ref.place)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, refuse(ref.place.path, ReasonUnreadable, "")
	}
	defer disk.Close()
	s.disk = disk
	start := filepath.ToSlash(ref.name)
	info, err := s.lookAtStart(ctx, ref)
	switch {
	case err != nil:
		return nil, cmp.Or(ctx.Err(), err)
	case !info.IsDir():
		return &Survey{Files: []Surveyed{{ref, info.Size(), Stamp{newStamp(info, r.now())}}}}, nil
	}
	if _, err := s.listFolder(ctx, start); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	s.queue = []queued{{name: start, rules: s.rulesAbove(ctx, start), depth: 1}}
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

// lookAtStart returns the attributes of the folder or the file of a survey.
func (s *surveyor) lookAtStart(ctx context.Context, ref Ref) (fs.FileInfo, error) {
	disk, own := s.disk, s.own
	return onDisk(ctx, s.roots, ref, func() (fs.FileInfo, error) {
		info, err := disk.Stat(ref.name)
		if err != nil {
			return nil, refuseOS(ref.Path, err)
		}
		real, err := realPath(filepath.Join(ref.place.path, ref.name))
		switch {
		case err != nil:
			return nil, refuseOS(ref.Path, err)
		case info.IsDir() && own.holds(real), !info.IsDir() && (TempOf(filepath.Base(real)) != "" || own.isOne(info) || own.holds(filepath.Dir(real))):
			return nil, refuse(ref.Path, ReasonOwn, "")
		case info.IsDir():
			return info, nil
		}
		return info, checkRegular(ref, info)
	})
}

// rulesAbove returns the rules of the folders above a folder, nil if ignored files are listed.
func (s *surveyor) rulesAbove(ctx context.Context, name string) *rules {
	if s.ignored {
		return nil
	}
	all := s.readRules(ctx, nil, "", ".git/info/exclude")
	if name == "." {
		return all
	}
	all = s.rulesOf(ctx, all, ".")
	for at, c := range name {
		if c == '/' {
			all = s.rulesOf(ctx, all, name[:at])
		}
	}
	return all
}

// rulesOf returns the rules in a folder combined with above.
func (s *surveyor) rulesOf(ctx context.Context, above *rules, folder string) *rules {
	for _, name := range ruleFiles {
		above = s.readRules(ctx, above, prefix(folder), path.Join(folder, name))
	}
	return above
}

// ruleFiles are the files with rules about the files in their folder and below it. A .strataignore file has the syntax of
// .gitignore, and the last word.
var ruleFiles = []string{".gitignore", ".strataignore"}

// surveyor is a walker through the working folder by depth.
type surveyor struct {
	walker
	files   int // maximum number
	ignored bool
	queue   []queued
	out     Survey
}

// queued is a folder to visit.
type queued struct {
	name  string // with forward slashes
	rules *rules // of the folders above
	depth int    // 1 for the root
}

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
		case slices.Contains(versionFolders, e.Name()), TempOf(e.Name()) != "":
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

// rulesIn returns the rules for the entries of a folder.
func (s *surveyor) rulesIn(ctx context.Context, q queued, entries []fs.DirEntry) *rules {
	here := q.rules
	if s.ignored {
		return nil
	}
	for _, name := range ruleFiles {
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
	if s.place != s.roots.roots[0].place {
		ref, _ := s.roots.place(filepath.Join(s.place.path, filepath.FromSlash(name)))
		return ref
	}
	return Ref{Path: name, place: s.place, name: filepath.FromSlash(name)}
}

// survey implements Roots.SurveyOf.
func (s *remote) survey(ctx context.Context, ref Ref, limits SurveyLimits) (*Survey, error) {
	all, err := s.source.List(ctx)
	if err != nil {
		return nil, refuseAt(ref, err)
	}
	if file, ok := all.Find(ref.name); ok {
		return &Survey{Files: []Surveyed{{ref, file.Size, Stamp{stampOf(file)}}}}, nil
	}
	out := &Survey{Nameless: all.Nameless, Cut: all.Cut}
	below := all.Below(ref.name)
	if len(below) == 0 && ref.name != "." {
		return nil, refuse(ref.Path, ReasonMissing, "")
	}
	for i := range below {
		file := &below[i]
		switch {
		case isHidden(file.Path):
		case strings.Count(file.Path, "/") >= s.limits.WalkDepth:
			out.TooDeep++
		case len(out.Files) >= limits.Files:
			out.Excess++
		default:
			out.Files = append(out.Files, Surveyed{Ref{Path: file.Path, place: s.place, name: file.Path}, file.Size, Stamp{stampOf(file)}})
		}
	}
	return out, nil
}
