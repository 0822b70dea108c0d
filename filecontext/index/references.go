package index

import (
	"sync"

	"strata/filecontext/outline/graph"
)

// lazyGraph is a graph that is built when it is first needed.
type lazyGraph struct {
	once  sync.Once
	graph *graph.Graph
}

// of returns the graph of a snapshot. It is the same for all snapshots that share l.
func (l *lazyGraph) of(s *snapshot) *graph.Graph {
	l.once.Do(func() {
		files := make([]graph.File, len(s.files))
		for at, r := range s.files {
			files[at] = graph.File{Path: r.path, Outline: r.decoded()}
		}
		l.graph = graph.New(files, graph.Options{GoMods: s.goMods})
	})
	return l.graph
}

// Graph returns the references between the files known so far, including those without outlines. The first call after
// a path, an outline or a go.mod file has changed computes the graph; others wait for it, and later ones return the same graph.
func (i *Index) Graph() *graph.Graph {
	s := i.now()
	return s.graph.of(s)
}
