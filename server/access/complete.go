package access

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of completions.
const (
	maxListings  = 64     // concurrent, including those that do not return
	maxListed    = 20_000 // names of one folder that are read
	listedAtOnce = 1024
	maxPrefix    = 4096 // bytes
)

const separator = string(filepath.Separator)

// Completion are folders that continue a typed path.
type Completion struct {
	Folders []string // absolute paths, sorted by name
	More    bool     // there are more
}

// Complete returns at most limit folders whose paths start with prefix: folders in which sessions may work, and those that
// lead there. Letter case makes no difference in the last name. Hidden folders are among them only if the last name of the
// prefix starts with a dot. An empty prefix stands for workspaces.roots, or, without these, for the user's home folder. A
// folder that is not there or cannot be read has no completions.
//
// Names that a person cannot type or read are left out: those that are not UTF-8 or contain control characters. The error
// is a predicate, as that of Check.
func (f *Folders) Complete(ctx context.Context, prefix string, limit int) (Completion, error) {
	switch {
	case len(prefix) > maxPrefix:
		return Completion{}, errors.New("is too long")
	case prefix == "" && len(f.roots) == 0:
		prefix = homePrefix()
	case prefix == "":
		prefix = separator
	case !isAbsolute(prefix):
		return Completion{}, errors.New("is not an absolute path")
	}
	parent, start := filepath.Split(prefix)
	found := f.rootsFrom(prefix)
	inside, more, err := f.foldersIn(ctx, parent, start, limit)
	if err != nil {
		return Completion{}, err
	}
	found = append(found, inside...)
	slices.SortFunc(found, byName)
	found = slices.Compact(found)
	n := min(limit, len(found))
	return Completion{Folders: found[:n], More: more || n < len(found)}, nil
}

// homePrefix returns the prefix that all folders in the user's home folder have.
func homePrefix() string {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return separator
	}
	return filepath.Clean(home) + separator
}

// byName compares paths without regard to letter case, which only decides between equal ones.
func byName(a, b string) int {
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
}

// rootsFrom returns the configured roots whose paths start with a prefix, and can be shown.
func (f *Folders) rootsFrom(prefix string) (found []string) {
	for _, root := range f.roots {
		if hasPrefixFold(root, prefix) && readable(root) {
			found = append(found, root)
		}
	}
	return found
}

// foldersIn returns at most n folders in parent whose names begin with start, and whether there are more such names.
func (f *Folders) foldersIn(ctx context.Context, parent, start string, n int) (paths []string, more bool, err error) {
	at := f.looks.start(parent)
	if !at.wait(ctx) {
		return nil, false, errNoResponse
	}
	if at.found.missing || !f.listable(at.found.real) {
		return nil, false, nil
	}
	list := f.lists.start(at.found.real)
	if !list.wait(ctx) {
		return nil, false, errNoResponse
	}
	names := slices.DeleteFunc(slices.Clone(list.found), func(e listed) bool { return !e.begins(start) })
	slices.SortFunc(names, func(a, b listed) int { return byName(a.name, b.name) })
	return f.admitted(parent, at.found.real, names[:min(n, len(names))]), len(names) > n, nil
}

// listable reports whether the folders in a resolved folder may be listed: the root of the file system is no workspace,
// but leads to all of them.
func (f *Folders) listable(real string) bool {
	return f.forbidden(real) == nil || (len(f.roots) == 0 && real == filepath.Dir(real))
}

// admitted returns the paths of the names in parent, whose resolved path is real, in which sessions may work. It follows
// links, and drops those that lead to no such folder or do not respond.
func (f *Folders) admitted(parent, real string, names []listed) (paths []string) {
	var links []string
	for _, e := range names {
		if e.link {
			links = append(links, filepath.Join(parent, e.name))
		}
	}
	f.Look(links)
	for _, e := range names {
		path := filepath.Join(parent, e.name)
		to, missing := filepath.Join(real, e.name), false
		if e.link {
			to, missing = f.reached(path)
		}
		if !missing && f.forbidden(to) == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// reached is Known for a link, of which nothing is known if it did not respond.
func (f *Folders) reached(link string) (real string, missing bool) {
	if at := f.looks.last(link); at != nil {
		return at.found.real, at.found.missing
	}
	return "", true
}

// listing are the folders and links in a folder.
type listing []listed

type listed struct {
	name string
	link bool
}

// begins reports whether the name continues a typed one. Hidden names need the dot.
func (e listed) begins(start string) bool {
	return hasPrefixFold(e.name, start) && (start != "" || !strings.HasPrefix(e.name, "."))
}

func newListings(list func(dir string) listing, limit time.Duration) *looks[listing] {
	return newLooks(list, limit, maxListings, 0)
}

// listFolder returns the folders and links in a folder, nothing if it cannot be read.
func listFolder(dir string) listing { return listNames(dir, maxListed) }

// listNames is listFolder for the first names that the disk has.
func listNames(dir string, most int) (all listing) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	for read := 0; read < most; {
		entries, err := f.ReadDir(min(listedAtOnce, most-read))
		read += len(entries)
		for _, e := range entries {
			link := e.Type()&fs.ModeSymlink != 0
			if (e.IsDir() || link) && readable(e.Name()) {
				all = append(all, listed{name: e.Name(), link: link})
			}
		}
		if err != nil { // io.EOF after the last
			break
		}
	}
	return all
}

// readable reports whether a person can type and read a name.
func readable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// hasPrefixFold is strings.HasPrefix without regard to letter case.
func hasPrefixFold(text, prefix string) bool {
	return strings.HasPrefix(strings.ToLower(text), strings.ToLower(prefix))
}
