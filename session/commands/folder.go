package commands

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"strata/filecontext"
)

// The bounds of a folder with commands.
const (
	MaxFiles       = 100      // commands
	MaxFileBytes   = 64 << 10 // of a file
	MaxFolderBytes = 1 << 20  // of all files
	maxEntries     = 1000     // that are looked at
)

// extension is that of the files.
const extension = ".md"

// Folder is a folder that can contain command files.
type Folder struct {
	Root  string             // absolute path of a folder; links in it do not lead out of it
	Below string             // path of the commands below the root, with slashes
	Guard *filecontext.Guard // files that are not read; nil: none
}

// Skipped is a file that does not define a command, and the reason.
type Skipped struct {
	Path   string
	Reason string // a predicate of the path
}

// Read returns the commands of the folder by name, and the files that it skipped. It stops after MaxFiles commands, or more
// than MaxFiles skipped files. A missing folder has no commands. The error is that of ctx.
func (f Folder) Read(ctx context.Context) (files []File, skipped []Skipped, err error) {
	r := reading{Folder: f}
	err = r.read(ctx)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil && filecontext.ReasonOf(err) != filecontext.ReasonMissing && !errors.Is(err, fs.ErrNotExist) {
		r.skip(f.Below, err)
	}
	return r.files, r.skipped, nil
}

// reading is a folder that is being read.
type reading struct {
	Folder
	roots   *filecontext.Roots
	files   []File
	skipped []Skipped
	bytes   int
}

var (
	errTooMany  = errors.New("exceeds the limit of a folder: 100 commands and 1 MiB; this file and those after it are ignored")
	errBadName  = errors.New("has an invalid name: use letters, digits, - and _, at most 64 in all")
	errNoFolder = errors.New("is not a folder")
	errNotPlain = errors.New("is not UTF-8 text")
)

func (r *reading) read(ctx context.Context) (err error) {
	limits := filecontext.Limits{Guard: r.Guard, FileBytes: MaxFileBytes}
	if r.roots, err = filecontext.NewRoots(ctx, r.Root, nil, limits); err != nil {
		return err
	}
	names, err := r.names(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := r.file(ctx, name)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			r.skip(path.Join(r.Below, name), err)
		default:
			r.files = append(r.files, f)
		}
		if errors.Is(err, errTooMany) || len(r.skipped) > MaxFiles {
			return nil
		}
	}
	return nil
}

// names returns the names of Markdown files in the folder, sorted.
func (r *reading) names(ctx context.Context) ([]string, error) {
	ref, err := r.roots.Locate(r.Below)
	if err != nil {
		return nil, err
	}
	return filecontext.Reach(ctx, r.roots, ref, func(at *filecontext.Reached) ([]string, error) {
		if info, err := at.Folder.Stat(at.Name); err == nil && !info.IsDir() { // to open a pipe would wait
			return nil, errNoFolder
		}
		below, err := at.Folder.OpenRoot(at.Name)
		if err != nil {
			return nil, at.RefuseOS(err)
		}
		defer below.Close()
		folder, err := below.Open(".")
		if err != nil {
			return nil, at.RefuseOS(err)
		}
		defer folder.Close()
		entries, err := folder.ReadDir(maxEntries)
		if len(entries) == 0 {
			return nil, nil // an empty folder is io.EOF; one that cannot be read has no commands
		}
		var names []string
		for _, e := range entries {
			if path.Ext(e.Name()) == extension && !e.IsDir() {
				names = append(names, e.Name())
			}
		}
		slices.Sort(names)
		return names, err
	})
}

// file reads one file.
func (r *reading) file(ctx context.Context, base string) (File, error) {
	name := strings.TrimSuffix(base, extension)
	switch {
	case !isName(name):
		return File{}, errBadName
	case len(r.files) == MaxFiles:
		return File{}, errTooMany
	}
	ref, err := r.roots.Locate(path.Join(r.Below, base))
	if err != nil {
		return File{}, err
	}
	content, err := r.roots.Read(ctx, ref)
	switch {
	case err != nil:
		return File{}, err
	case content.Lossy:
		return File{}, errNotPlain
	}
	if r.bytes += len(content.Text); r.bytes > MaxFolderBytes {
		return File{}, errTooMany
	}
	return ParseFile(name, path.Join(r.Below, base), content.Text)
}

func (r *reading) skip(file string, err error) {
	reason := err.Error()
	if refused, ok := errors.AsType[*filecontext.RefusedError](err); ok {
		reason = refused.Reason.Explain()
	}
	r.skipped = append(r.skipped, Skipped{filecontext.Printable(file), reason})
}
