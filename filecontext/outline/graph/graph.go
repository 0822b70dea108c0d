// Package graph computes which files of a workspace reference each other, from their outlines.
//
// A file references another one that it imports, and one that defines a name it uses. Names are matched as text, so a
// reference is a good guess, not a proof. Equal files give equal graphs, in any order. The package opens no file, and
// its time and memory are limited whatever the outlines contain.
package graph

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"strata/filecontext/outline"
)

// The limits of a graph.
const (
	MaxFiles       = 100_000 // the files after them, by path, are omitted
	maxDefinitions = 1 << 20 // names of a workspace; others are unknown
	maxDefiners    = 32      // files that define a name; a name of more is too common to be a reference
	maxPackages    = 8       // packages or namespaces of a file
	maxImports     = 1 << 19 // imports and imported names of a workspace that are resolved, in the order of the files
	maxFileImports = 300     // of one file, and names of one import
	maxUses        = 1 << 23 // uses of a workspace that are looked up, in the order of the files
	maxCandidates  = 32      // files with the name of an included file that are compared
	maxModules     = 64      // Go modules
	maxWhole       = 8       // files of a package that are all referenced by an import if no name tells which
	maxReferences  = 256     // of a file; the strongest are kept
	maxWeight      = 255
)

// importWeight is the weight of an import; that of a used name is 1.
const importWeight = 3

// A File is a file of the workspace.
type File struct {
	Path    string // relative to the workspace, with slashes
	Outline *outline.Outline
}

// Options are facts about the workspace that no outline has.
type Options struct {
	// GoMods are the texts of at most 64 go.mod files by path. Go imports are resolved only in their modules.
	GoMods map[string]string
}

// A Graph has the references between files. It is safe for concurrent use.
type Graph struct {
	paths    []string // sorted
	out, in  [][]edge // of each file, by index of the other file
	used     []int32  // all files, those that most files reference first
	clusters [][]int32
}

type edge struct {
	file   int32
	weight uint8
}

// An Edge is a reference from a file to another one.
type Edge struct {
	From, To string
	Weight   int // 3 for an import and 1 for each name, at most 255
}

// New computes the graph of the files of a workspace. Of files with the same path, the first counts.
func New(files []File, o Options) *Graph {
	x := newIndex(files, o)
	g := &Graph{paths: make([]string, len(x.files))}
	for i := range x.files {
		g.paths[i] = x.files[i].Path
	}
	g.out = x.references()
	g.in = reversed(g.out)
	g.used = byUse(g.in)
	g.clusters = clustersOf(g.out)
	return g
}

// sorted returns the files by path, without duplicates and within MaxFiles.
func sorted(files []File) []File {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	files = slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path })
	return slices.Clip(files[:min(len(files), MaxFiles)])
}

func reversed(out [][]edge) [][]edge {
	counts := make([]int, len(out))
	for _, edges := range out {
		for _, e := range edges {
			counts[e.file]++
		}
	}
	in := make([][]edge, len(out))
	for i, n := range counts {
		in[i] = make([]edge, 0, n)
	}
	for from, edges := range out {
		for _, e := range edges {
			in[e.file] = append(in[e.file], edge{int32(from), e.weight})
		}
	}
	return in
}

// byUse returns the files by the number of files that reference them, most first, then by path.
func byUse(in [][]edge) []int32 {
	files := make([]int32, len(in))
	for i := range files {
		files[i] = int32(i)
	}
	slices.SortStableFunc(files, func(a, b int32) int { return cmp.Compare(len(in[b]), len(in[a])) })
	return files
}

// Edges returns the references, sorted by From and To.
func (g *Graph) Edges() []Edge {
	var edges []Edge
	for from, out := range g.out {
		for _, e := range out {
			edges = append(edges, Edge{g.paths[from], g.paths[e.file], int(e.weight)})
		}
	}
	return edges
}

// find returns the index of a path, or false.
func (g *Graph) find(path string) (int32, bool) {
	i, found := slices.BinarySearch(g.paths, path)
	return int32(i), found
}

// weightOf returns the weight of the reference to a file in edges, or 0.
func weightOf(edges []edge, file int32) uint8 {
	i := sort.Search(len(edges), func(i int) bool { return edges[i].file >= file })
	if i < len(edges) && edges[i].file == file {
		return edges[i].weight
	}
	return 0
}

// strongest returns at most maxReferences edges by file.
func strongest(edges []edge) []edge {
	if len(edges) > maxReferences {
		slices.SortFunc(edges, func(a, b edge) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.file, b.file))
		})
		edges = edges[:maxReferences]
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.file, b.file) })
	return slices.Clone(edges)
}
