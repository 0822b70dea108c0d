package filecontext

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"strata/filecontext/source"
	"strata/internal/patience"
)

// Limits bound what sessions read and search. A zero field means its default.
type Limits struct {
	Guard       *Guard          // files that no session reads; nil: none
	Patience    *patience.Watch // how long a disk may take; nil: patience.Files
	FileBytes   int64           // maximum size of a file, in bytes; 1 MiB
	WalkPaths   int             // maximum files and folders visited by a search; 50,000
	WalkDepth   int             // maximum depth of folders visited by a search; 32
	SearchReuse time.Duration   // how long searches reuse a listing; 5 s
}

// The defaults of Limits.
const (
	DefaultFileBytes   = 1 << 20
	DefaultWalkPaths   = 50_000
	DefaultWalkDepth   = 32
	DefaultSearchReuse = 5 * time.Second
)

// maxPath is the maximum length of a path or URI, in bytes (PATH_MAX of Linux).
const maxPath = 4096

func (l Limits) orDefaults() Limits {
	if l.Patience == nil {
		l.Patience = patience.Files
	}
	if l.FileBytes == 0 {
		l.FileBytes = DefaultFileBytes
	}
	if l.WalkPaths == 0 {
		l.WalkPaths = DefaultWalkPaths
	}
	if l.WalkDepth == 0 {
		l.WalkDepth = DefaultWalkDepth
	}
	if l.SearchReuse == 0 {
		l.SearchReuse = DefaultSearchReuse
	}
	return l
}

// Roots reads the files of a session, which must be inside its folders. It is safe for concurrent use.
type Roots struct {
	roots  []root // the working folder first
	limits Limits
	cache  chan cached // the last listing, or empty while a goroutine uses it
	now    func() time.Time
	remote *remote // has the files; nil: they are on disk
}

// remote reads the files of Roots from a source.
type remote struct {
	source source.Files
	place  *place
	limits Limits
}

// root is a folder of a session. Paths are matched with both forms, and opened through the resolved one.
type root struct {
	given string
	place *place
}

// Ref is a path inside one of the roots. Locate returns it.
type Ref struct {
	Path  string // relative to the working folder, or absolute for files in other roots; forward slashes
	Lines Range  // from a URI
	Part  bool   // a URI named lines or a symbol: a text that comes with it is not that of the whole file
	Allow bool   // the user allows the file even if it looks like a secret

	place *place // the root
	name  string // relative to it, with the system's separators
}

// NewRoots returns the roots of a session: its working folder and additional folders. It returns an error unless all are
// absolute paths of existing folders whose disks respond, or the error of ctx.
func NewRoots(ctx context.Context, cwd string, more []string, limits Limits) (*Roots, error) {
	r := &Roots{limits: limits.orDefaults(), cache: make(chan cached, 1), now: time.Now}
	r.cache <- cached{}
	for _, folder := range append([]string{cwd}, more...) {
		root, err := patience.Do(ctx, r.limits.Patience, folder, folder, func() (root, error) { return newRoot(folder, limits.Guard) })
		if err != nil {
			return nil, fmt.Errorf("folder %s: %w", Printable(folder), err)
		}
		r.roots = append(r.roots, root)
	}
	return r, nil
}

func newRoot(folder string, guard *Guard) (root, error) {
	if !filepath.IsAbs(folder) || strings.ContainsRune(folder, 0) {
		return root{}, errors.New("not an absolute path")
	}
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return root{}, err
	}
	if info, err := os.Stat(resolved); err != nil {
		return root{}, err
	} else if !info.IsDir() {
		return root{}, errors.New("not a folder")
	}
	place, err := guard.admit(resolved)
	if err != nil {
		return root{}, err
	}
	return root{given: filepath.Clean(folder), place: place}, nil
}

// Locate returns the Ref for a path or a `file:` URI. A path is relative to the working folder, or absolute and inside
// one of the roots. Locate checks only names; Read checks links. The error is a *RefusedError.
func (r *Roots) Locate(pathOrURI string) (Ref, error) {
	if !isPath(pathOrURI) {
		return Ref{}, refuse(shorten(pathOrURI), ReasonBadPath, "")
	}
	uri := fileURI{path: pathOrURI}
	if isURI(pathOrURI) {
		var ok bool
		if uri, ok = parseURI(pathOrURI, runtime.GOOS == "windows"); !ok {
			return Ref{}, refuse(pathOrURI, ReasonBadURI, "")
		}
	}
	ref, ok := r.place(filepath.FromSlash(uri.path))
	if !ok {
		return Ref{}, refuse(pathOrURI, ReasonOutside, "")
	}
	ref.Lines, ref.Part = uri.lines, uri.symbol || !uri.lines.IsWhole()
	return ref, nil
}

// FoldersOf returns the folders that contain a file, the outer ones first, as Locate takes them: those below its root, and the
// root if it is not the working folder. It is empty for a path outside the roots.
func (r *Roots) FoldersOf(file string) (folders []string) {
	ref, err := r.Locate(file)
	if err != nil {
		return nil
	}
	folder := ""
	if ref.place != r.roots[0].place {
		folder = filepath.ToSlash(ref.place.path)
		folders = append(folders, folder)
	}
	names := strings.Split(filepath.ToSlash(ref.name), "/")
	for _, name := range names[:len(names)-1] {
		folder = path.Join(folder, name)
		folders = append(folders, folder)
	}
	return folders
}

// IsRepository reports whether the working folder is the top folder of a git repository on disk.
func (r *Roots) IsRepository(ctx context.Context) bool {
	if r.remote != nil {
		return false
	}
	ref := Ref{Path: ".git", place: r.roots[0].place, name: ".git"}
	found, err := onDisk(ctx, r, ref, func() (bool, error) {
		folder, err := openRoot(ref)
		if err != nil {
			return false, err
		}
		defer folder.Close()
		_, err = folder.Stat(ref.name)
		return err == nil, nil
	})
	return err == nil && found
}

// Absolute returns the path of the file, without links to its root.
func (ref Ref) Absolute() string { return filepath.Join(ref.place.path, ref.name) }

// Name returns the path of the file in its root, with the system's separators.
func (ref Ref) Name() string { return ref.name }

// place finds the root of a path. A file in several nested roots belongs to the first one, so that it has one name.
func (r *Roots) place(path string) (Ref, bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.roots[0].place.path, path)
	}
	path = r.resolve(filepath.Clean(path))
	for i, root := range r.roots {
		name, ok := inside(root.place.path, path)
		if !ok {
			continue
		}
		shown := name
		if i > 0 {
			shown = path
		}
		return Ref{Path: filepath.ToSlash(shown), place: root.place, name: name}, true
	}
	return Ref{}, false
}

// resolve replaces the given form of a root at the start of path with the resolved one.
func (r *Roots) resolve(path string) string {
	for _, root := range r.roots {
		if name, ok := inside(root.given, path); ok {
			return filepath.Join(root.place.path, name)
		}
	}
	return path
}

// inside returns path relative to folder and reports whether path is inside folder by name.
func inside(folder, path string) (string, bool) {
	name, err := filepath.Rel(folder, path)
	return name, err == nil && filepath.IsLocal(name)
}

// isPath reports whether text is a valid path: not empty or too long, UTF-8, without NUL.
func isPath(text string) bool {
	return text != "" && len(text) <= maxPath && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// shorten truncates a path for display.
func shorten(path string) string {
	const shown = 200
	if len(path) <= shown {
		return path
	}
	return strings.ToValidUTF8(path[:shown], "") + "…"
}
