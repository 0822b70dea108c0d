package filecontext

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// walker lists the files of all roots.
type walker struct {
	roots *Roots
	own   ownFiles // the program's
	disk  *os.Root // the current root
	place *place   // of it
	left  int      // files and folders that may still be visited
	seen  map[string]bool
	out   listing
}

// walk lists the files in all roots, sorted by name within each folder, but for the program's own folders. It follows no
// links and stops at its limits. The error is that of ctx.
func (r *Roots) walk(ctx context.Context) (*listing, error) {
	if r.remote != nil {
		return r.remote.walk(ctx)
	}
	w := walker{roots: r, own: r.limits.Guard.ownFiles(), left: r.limits.WalkPaths, seen: map[string]bool{}}
	for _, root := range r.roots {
		disk, err := w.open(ctx, root.place)
		if err != nil {
			continue // a missing root has no files, nor has one of the program's own folders
		}
		w.disk, w.place = disk, root.place
		err = w.enter(ctx, ".", r.limits.WalkDepth, w.readRules(ctx, nil, "", ".git/info/exclude"))
		disk.Close()
		if err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &w.out, nil
}

// open opens a root. The error for one of the program's own folders is errOwn.
func (w *walker) open(ctx context.Context, p *place) (*os.Root, error) {
	own := w.own
	return onDisk(ctx, w.roots, Ref{Path: p.path, place: p}, func() (*os.Root, error) {
		if own.holds(p.path) {
			return nil, errOwn
		}
		return p.open()
	})
}

var errOwn = errors.New("a folder of the program")

// enter lists a folder and its subfolders. name has forward slashes.
func (w *walker) enter(ctx context.Context, name string, depth int, above *rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries := w.readFolder(ctx, name)
	w.left -= len(entries)
	here := above
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" && e.Type().IsRegular() }) {
		here = w.readRules(ctx, above, prefix(name), path.Join(name, ".gitignore"))
	}
	for _, e := range entries {
		child := path.Join(name, e.Name())
		switch {
		case e.Name() == ".git", TempOf(e.Name()) != "":
		case e.Type().IsRegular():
			w.add(child, here)
		case e.IsDir() && depth > 1 && !here.ignore(child+"/"):
			if err := w.enter(ctx, child, depth-1, here); err != nil {
				return err
			}
		}
	}
	return nil
}

// readFolder returns the entries of a folder, sorted by name, up to the limit. An unreadable folder is empty.
func (w *walker) readFolder(ctx context.Context, name string) []fs.DirEntry {
	entries, err := w.listFolder(ctx, name)
	if err != nil {
		return nil
	}
	return entries
}

// listFolder returns the entries of a folder, sorted by name, up to the limit.
func (w *walker) listFolder(ctx context.Context, name string) ([]fs.DirEntry, error) {
	if w.left <= 0 {
		return nil, nil
	}
	disk, own, left, path := w.disk, w.own, w.left, filepath.FromSlash(name)
	whole := filepath.Join(w.place.path, path)
	entries, err := onDisk(ctx, w.roots, Ref{Path: name, place: w.place, name: path}, func() ([]fs.DirEntry, error) {
		folder, err := disk.OpenFile(path, os.O_RDONLY|openFlags, 0)
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		if info, err := folder.Stat(); err != nil || own.isFolder(info) {
			return nil, err
		}
		return list(folder, whole, left)
	})
	if err != nil && err != io.EOF {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// add lists a file, once even if roots are nested.
func (w *walker) add(name string, here *rules) {
	ref, ok := w.roots.place(filepath.Join(w.place.path, filepath.FromSlash(name)))
	if !ok || w.seen[ref.Path] {
		return
	}
	w.seen[ref.Path] = true
	w.out.paths = append(w.out.paths, ref.Path)
	w.out.places = append(w.out.places, w.place)
	w.out.names = append(w.out.names, name)
	w.out.rules = append(w.out.rules, here)
}

// readRules returns the rules in a file combined with above. An unreadable file adds none.
func (w *walker) readRules(ctx context.Context, above *rules, base, name string) *rules {
	content, err := w.roots.Read(ctx, Ref{Path: name, place: w.place, name: filepath.FromSlash(name)})
	if err != nil {
		return above
	}
	return newRules(above, base, content.Text)
}

// prefix returns the prefix of the names of files in a folder.
func prefix(folder string) string {
	if folder == "." {
		return ""
	}
	return folder + "/"
}

// walk implements Roots.walk.
func (s *remote) walk(ctx context.Context) (*listing, error) {
	all, err := s.source.List(ctx)
	if err != nil {
		return nil, err
	}
	var out listing
	for i := range all.Files {
		if name := all.Files[i].Path; !isHidden(name) && len(out.paths) < s.limits.WalkPaths {
			out.paths, out.places = append(out.paths, name), append(out.places, s.place)
			out.names, out.rules = append(out.names, name), append(out.rules, nil)
		}
	}
	return &out, nil
}

// versionFolders belong to version control systems. A file of such a name leads to a folder elsewhere.
var versionFolders = []string{".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", "CVS", ".pijul", ".fslckout"}

// isHidden reports whether a path is that of a file of a version control system.
func isHidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(step string) bool { return slices.Contains(versionFolders, step) })
}
