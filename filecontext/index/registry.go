// Package index knows the files of a workspace folder and their outlines. One Index serves all sessions of a folder. It
// is built in the background, and kept up to date by sweeps that compare the attributes of the files on disk: a
// sweep before each request suffices, so the package does not watch folders.
//
// It must never write to the workspace, follow a link, read a file that the guard refuses, or let a reader wait for
// the disk: queries are answered from the files known so far, and Status reports whether these are all.
package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"strata/filecontext"
	"strata/filecontext/outline"
)

// Parser returns the outline of a text; name gives its language. It must be safe for concurrent use and return soon
// after ctx ends.
type Parser interface {
	Parse(ctx context.Context, name, text string) (*outline.Outline, error)
}

// Store keeps outlines and file lists, so that a second start reads only changed files. The bytes are opaque to it.
type Store interface {
	Outlines(ctx context.Context, keys []string) (map[string][]byte, error)
	PutOutlines(ctx context.Context, outlines map[string][]byte) error
	Listing(ctx context.Context, folder string) ([]byte, error) // nil if there is none
	PutListing(ctx context.Context, folder string, listing []byte) error
}

// Options configure the indexes of a Registry. A zero field means its default.
type Options struct {
	Parser Parser             // required
	Store  Store              // default: none; each start parses all files
	Limits filecontext.Limits // Guard, patience, FileBytes (default 1 MiB) and WalkDepth of the workspace
	Log    *slog.Logger       // of faults of the store; default: none

	// Refuse returns an error for a folder, given without links, that shall not be indexed, such as the home folder of the
	// user; default: none is refused. It must be safe for concurrent use.
	Refuse func(folder string) error

	Files        int           // maximum number of files, default 20,000
	Visits       int           // maximum number of files and folders looked at, default 200,000
	TotalBytes   int64         // maximum total size of the files with outlines, default 64 MiB
	OutlineBytes int           // maximum size of the outlines of a folder in memory, default 64 MiB
	AllBytes     int           // maximum size of the outlines of all folders in memory, about; default 256 MiB
	Folders      int           // maximum number of folders, and of indexes of clients' files, default 100
	Parallel     int           // maximum number of files read or parsed concurrently, default the number of processors
	RefreshWait  time.Duration // maximum wait of Refresh, default 1 s
	Throttle     time.Duration // minimum interval before a progress report during a sweep, default 250 ms

	version uint64 // of the stored outlines; set by tests
}

func (o Options) withDefaults() Options {
	set(&o.Files, 20_000)
	set(&o.Visits, 200_000)
	set(&o.TotalBytes, 64<<20)
	set(&o.OutlineBytes, 64<<20)
	set(&o.AllBytes, 256<<20)
	set(&o.Folders, 100)
	set(&o.Parallel, runtime.GOMAXPROCS(0))
	set(&o.RefreshWait, time.Second)
	set(&o.Throttle, 250*time.Millisecond)
	set(&o.Limits.FileBytes, filecontext.DefaultFileBytes)
	set(&o.version, outlineVersion)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Errors of a Registry.
var (
	ErrClosed  = errors.New("workspace index is closed")
	ErrFolders = errors.New("too many folders are indexed at once; close sessions in other folders")
)

// Registry owns the indexes of all folders. It is safe for concurrent use.
type Registry struct {
	opt Options

	mu     sync.Mutex        // guards the rest, and users of all indexes
	open   map[string]*Index // by folder, or by a name for the files of a client
	closed bool
}

// NewRegistry returns a Registry. Close ends all of its indexes.
func NewRegistry(opt Options) *Registry {
	return &Registry{opt: opt.withDefaults(), open: make(map[string]*Index)}
}

// Handle is the use of an Index by one session.
type Handle struct {
	*Index
	registry *Registry
	key      string // of the index in the registry
	progress *func(Status)
	release  sync.Once
}

// Acquire returns the index of a folder and starts it unless another session uses it already. Release must be called.
//
// progress, if not nil, is called when a first sweep starts to read, now and then during a sweep, and always once at the
// end of a sweep that changed anything, with Complete. It must return soon and must not call Release.
//
// The error is ErrClosed, ErrFolders, that of ctx or of Refuse, or that of a folder that cannot be used.
func (r *Registry) Acquire(ctx context.Context, folder string, progress func(Status)) (*Handle, error) {
	roots, err := filecontext.NewRoots(ctx, folder, nil, r.opt.Limits)
	if err != nil {
		return nil, err
	}
	if r.opt.Refuse != nil {
		if err := r.opt.Refuse(roots.Folder()); err != nil {
			return nil, fmt.Errorf("index folder %s: %w", filecontext.Printable(roots.Folder()), err)
		}
	}
	return r.acquire(roots.Folder(), roots, r.opt, progress)
}

// The bounds for the files of a client, whose texts cross a connection with a limited number of requests in flight.
const (
	remoteBytes    = 16 << 20 // of the files with outlines
	remoteParallel = 4
)

// AcquireRemote is Acquire for the files of a client, which only these roots have. Nothing of them is stored. It does not wait
// for the client.
func (r *Registry) AcquireRemote(roots *filecontext.Roots, progress func(Status)) (*Handle, error) {
	opt := r.opt
	opt.Store, opt.TotalBytes, opt.Parallel = nil, min(opt.TotalBytes, remoteBytes), min(opt.Parallel, remoteParallel)
	return r.acquire(fmt.Sprintf("client %p", roots), roots, opt, progress) // folders on disk are absolute paths
}

// acquire returns the index with a key, which it starts if there is none.
func (r *Registry) acquire(key string, roots *filecontext.Roots, opt Options, progress func(Status)) (*Handle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	h := &Handle{registry: r, key: key}
	if progress != nil {
		h.progress = &progress
	}
	h.Index = r.open[key]
	switch {
	case h.Index != nil:
		h.watch(h.progress)
	case r.count(roots.IsRemote()) >= r.opt.Folders:
		return nil, ErrFolders
	default:
		h.Index = start(roots, opt, r.room, h.progress)
		r.open[key] = h.Index
	}
	h.users++
	return h, nil
}

// count returns the number of open indexes of folders, or of files of clients: neither takes the room of the other.
func (r *Registry) count(remote bool) (n int) {
	for _, i := range r.open {
		if i.roots.IsRemote() == remote {
			n++
		}
	}
	return n
}

// Release ends the use. The last Release of an index ends its goroutines and waits for them; stored outlines remain.
// Later calls have no effect.
func (h *Handle) Release() {
	h.release.Do(func() {
		h.unwatch(h.progress)
		if h.registry.leave(h) {
			h.stop()
		}
	})
}

// room returns how many bytes of outlines an index may have besides those of the others.
func (r *Registry) room(of *Index) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	room := r.opt.AllBytes
	for _, i := range r.open {
		if i != of {
			room -= i.now().status.Bytes
		}
	}
	return min(max(room, 0), r.opt.OutlineBytes)
}

// leave reports whether the caller was the last user.
func (r *Registry) leave(h *Handle) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.users--
	if h.users > 0 {
		return false
	}
	if r.open[h.key] == h.Index {
		delete(r.open, h.key)
	}
	return true
}

// Close ends all indexes and waits for their goroutines. Handles remain valid: their queries return what was known.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	open := r.open
	r.open = make(map[string]*Index)
	r.mu.Unlock()
	for _, i := range open {
		i.stop()
	}
}
