package filecontext

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sahilm/fuzzy"
)

// Bounds of a search.
const (
	DefaultFound = 50
	MaxFound     = 1000
	maxQuery     = 256  // bytes
	searchBlock  = 4096 // paths matched between two checks of the context
)

// Found is a path that matches a search.
type Found struct {
	Path  string `json:"path"`
	Score int    `json:"score"` // higher is better; 0 for a search without a query
}

// listing is the result of a walk through the roots. It includes files that are ignored by name: a search checks the
// rules only for its results.
type listing struct {
	paths  []string
	places []*place // their roots
	names  []string // paths relative to their roots
	rules  []*rules // for each path
}

// cached is a listing with the time of the walk.
type cached struct {
	listing *listing
	at      time.Time
}

// Find returns up to limit paths of files in the roots that match query fuzzily, best first, without files ignored by
// git and without the program's own. An empty query matches all paths. A limit of 0 means DefaultFound. The error is that of ctx.
func (r *Roots) Find(ctx context.Context, query string, limit int) ([]Found, error) {
	if limit <= 0 {
		limit = DefaultFound
	}
	query = strings.ReplaceAll(query, " ", "")
	if len(query) > maxQuery {
		return nil, nil
	}
	files, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	candidates, err := files.match(ctx, query)
	if err != nil {
		return nil, err
	}
	return files.best(ctx, r, candidates, min(limit, MaxFound)), ctx.Err()
}

// list returns a listing that is at most SearchReuse old. The caller that receives from the cache channel makes the
// listing; the others wait for it.
func (r *Roots) list(ctx context.Context) (*listing, error) {
	var c cached
	select {
	case c = <-r.cache:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { r.cache <- c }()
	if c.listing != nil && r.now().Sub(c.at) < r.limits.SearchReuse {
		return c.listing, nil
	}
	fresh, err := r.walk(ctx)
	if err != nil {
		return nil, err
	}
	c = cached{fresh, r.now()}
	time.AfterFunc(r.limits.SearchReuse, r.forget)
	return fresh, nil
}

// forget drops a listing that is older than SearchReuse.
func (r *Roots) forget() {
	c := <-r.cache
	if r.now().Sub(c.at) >= r.limits.SearchReuse {
		c = cached{}
	}
	r.cache <- c
}

// candidate is a matching path, given as its index in the listing.
type candidate struct {
	index, score int
}

// match returns the matching paths, best first: by score, then by length, then by name.
func (l *listing) match(ctx context.Context, query string) ([]candidate, error) {
	var out []candidate
	if query == "" {
		for i := range l.paths {
			out = append(out, candidate{index: i})
		}
		return out, ctx.Err()
	}
	for start := 0; start < len(l.paths); start += searchBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		block := l.paths[start:min(start+searchBlock, len(l.paths))]
		for _, m := range fuzzy.FindNoSort(query, block) {
			out = append(out, candidate{start + m.Index, m.Score})
		}
	}
	slices.SortFunc(out, func(a, b candidate) int {
		pathA, pathB := l.paths[a.index], l.paths[b.index]
		return cmp.Or(b.score-a.score, len(pathA)-len(pathB), strings.Compare(pathA, pathB))
	})
	return out, nil
}

// best returns the first candidates that git does not ignore and that are not the program's own files.
func (l *listing) best(ctx context.Context, r *Roots, candidates []candidate, limit int) []Found {
	own := r.limits.Guard.ownFiles()
	var out []Found
	for _, c := range candidates {
		if len(out) == limit {
			break
		}
		if !l.rules[c.index].ignore(l.names[c.index]) && !l.isOwn(ctx, r, c.index, &own) {
			out = append(out, Found{l.paths[c.index], c.score})
		}
	}
	return out
}

// isOwn reports whether a path is that of one of the program's own files. Without such files it does not look at the disk.
func (l *listing) isOwn(ctx context.Context, r *Roots, index int, own *ownFiles) bool {
	if len(own.files) == 0 && len(own.folders) == 0 || r.remote != nil {
		return false
	}
	ref := Ref{Path: l.paths[index], place: l.places[index], name: filepath.FromSlash(l.names[index])}
	info, err := onDisk(ctx, r, ref, func() (fs.FileInfo, error) { return os.Lstat(filepath.Join(ref.place.path, ref.name)) })
	return err == nil && own.isOne(info)
}
