package remote

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"strata/filecontext/source"
	"strata/session/clients"
)

// The bounds of a list.
const (
	maxFiles   = 20_000
	maxBytes   = 8 << 20 // of all paths and versions
	maxPages   = 1_000
	pageFiles  = 1_000
	maxPath    = 4096
	maxVersion = 256 // bytes; a longer version is none

	listTime = 30 * time.Second // of all pages
)

// list is a list of files with the client that has sent it.
type list struct {
	of      clients.Client
	version string
	files   *source.List
	cut     bool // at the bounds: the client has listed further files
}

// List implements source.Files. Each call asks the client whether its list has changed; concurrent calls share neither
// the request nor the response, because a file may have changed between them.
func (f *Files) List(ctx context.Context) (*source.List, error) {
	if f.holder(ctx) == nil { // waits for one before other requests for the list have to wait for this one
		return nil, away(ctx, ".")
	}
	var last *list
	select {
	case last = <-f.listing:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now, err := f.listAgain(ctx, last)
	if err != nil {
		f.listing <- last
		return nil, err
	}
	f.known.Store(now.files)
	f.listing <- now
	return now.files, nil
}

// Known implements source.Files.
func (f *Files) Known() *source.List { return f.known.Load() }

// listAgain returns the present list. last is the newest known one, nil for none.
func (f *Files) listAgain(ctx context.Context, last *list) (*list, error) {
	return ask(ctx, f, ".", func(c clients.Client) (*list, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, listTime, clients.ErrLate)
		defer cancel()
		since := ""
		if last != nil && last.of == c {
			since = last.version
		}
		b := newBuilder()
		request := clients.List{Folder: f.folder, Since: since, Limit: pageFiles}
		for range maxPages {
			page, err := c.ListWorkspace(ctx, request, 0)
			if request.Cursor == "" {
				switch {
				case hasCode(err, notServed), hasCode(err, notMine):
					return nil, errNotHolder
				case err == nil && since != "" && page.Unchanged:
					return last, nil
				case err == nil && since != "" && page.Changes:
					return last.changed(&page), nil
				}
				b.version = page.Version
			}
			if err != nil {
				return nil, cmp.Or(context.Cause(ctx), err)
			}
			b.add(&page)
			if page.Next == "" || b.full {
				return b.list(c), nil
			}
			request.Since, request.Cursor = "", page.Next
		}
		b.cut = true
		return b.list(c), nil
	})
}

// builder makes a list of pages.
type builder struct {
	files   map[string]source.File
	version string // of the list when the first page was sent
	room    int    // bytes of paths and versions that can be added
	full    bool
	cut     bool // as in list
	out     source.List
}

func newBuilder() *builder { return &builder{files: make(map[string]source.File), room: maxBytes} }

// changed returns the list after the changes that a page contains. The page says whether the client lists all files now.
func (l *list) changed(page *clients.ListPage) *list {
	gone := make(map[string]bool, len(page.Removed)+len(page.Files))
	for _, path := range page.Removed {
		gone[path] = true
	}
	for i := range page.Files {
		gone[page.Files[i].Path] = true
	}
	b := newBuilder()
	b.version, b.cut, b.out.Nameless = page.Version, l.cut, l.files.Nameless
	for _, file := range l.files.Files {
		if !gone[file.Path] {
			b.put(file)
		}
	}
	b.add(page)
	return b.list(l.of)
}

// put adds a file that has a valid path and fits.
func (b *builder) put(file source.File) {
	size := len(file.Path) + len(file.Version)
	if len(b.files) >= maxFiles || size > b.room {
		b.full, b.cut = true, true
		return
	}
	b.room -= size
	b.files[file.Path] = file
}

// add adds the files of a page. It counts those whose paths are not valid, and ends the list at its bounds.
func (b *builder) add(page *clients.ListPage) {
	b.out.Cut = b.out.Cut || page.Cut
	for i := range page.Files {
		file := &page.Files[i]
		if !isName(file.Path) {
			b.out.Nameless++
			continue
		}
		b.put(source.File{
			Path: file.Path, Size: max(file.Size, 0), Modified: max(file.Modified, 0), Version: shortVersion(file.Version),
		})
		if b.full {
			return
		}
	}
}

// list returns the list of the pages so far.
func (b *builder) list(of clients.Client) *list {
	b.version = shortVersion(b.version)
	for _, file := range b.files {
		b.out.Files = append(b.out.Files, file)
	}
	slices.SortFunc(b.out.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	b.out.Cut = b.out.Cut || b.cut
	return &list{of: of, version: b.version, files: &b.out, cut: b.cut}
}

// isName reports whether a path is one below the folder: relative, with slashes, without steps like ".." and without NUL.
func isName(name string) bool {
	return name != "." && len(name) <= maxPath && fs.ValidPath(name) && utf8.ValidString(name) && !strings.ContainsRune(name, 0)
}
