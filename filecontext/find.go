package filecontext

import (
	"cmp"
	"context"
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
	searchBlock  = 4096 // paths that are matched between two looks at the context
)

// Found is a path that matches a search.
type Found struct {
	Path  string `json:"path"`
	Score int    `json:"score"` // higher is better; 0 for a search without a query
}

// listing is what a walk through the roots found. Files are listed even if a rule of their own folder ignores them:
// that is asked only of those that a search finds.
type listing struct {
	paths []string
	names []string // the same relative to their roots
	rules []*rules // that hold for each of them
}

// cached is a listing and when it was made.
type cached struct {
	listing *listing
	at      time.Time
}

// Find returns at most limit paths of files in the roots that match query fuzzily, best first; all paths in their order for
// an empty query. What git ignores is left out. A limit of 0 is DefaultFound. The error is that of ctx.
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
	return files.best(candidates, min(limit, MaxFound)), nil
}

// list returns a listing that is at most SearchReuse old. Whoever takes the cache out of its channel makes the listing;
// the others wait for it.
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

// forget drops a listing that is too old to be used again.
func (r *Roots) forget() {
	c := <-r.cache
	if r.now().Sub(c.at) >= r.limits.SearchReuse {
		c = cached{}
	}
	r.cache <- c
}

// candidate is a path, by its index in the listing, that matches a query.
type candidate struct {
	index, score int
}

// match returns the paths that match, best first: by score, then the shorter one, then by name.
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

// best returns the first candidates that git does not ignore.
func (l *listing) best(candidates []candidate, limit int) []Found {
	var out []Found
	for _, c := range candidates {
		if len(out) == limit {
			break
		}
		if !l.rules[c.index].ignore(l.names[c.index]) {
			out = append(out, Found{l.paths[c.index], c.score})
		}
	}
	return out
}
