package graph

import (
	"cmp"
	"slices"
)

// maxCluster is the maximum number of files in a cluster. Chains of mutual references would otherwise join most of a
// large workspace, and such a cluster would leave nothing to distribute among the tiers.
const maxCluster = 50

// A mutual is a pair of files that reference each other.
type mutual struct {
	a, b   int32
	weight uint8 // of the weaker direction
}

// clustersOf joins files that reference each other, the strongest pairs first, into clusters of at most maxCluster
// files. The result is sorted by size, largest first, then by first file.
func clustersOf(out [][]edge) [][]int32 {
	var pairs []mutual
	for a, edges := range out {
		for _, e := range edges {
			if int(e.file) < a {
				continue
			}
			if back := weightOf(out[e.file], int32(a)); back > 0 {
				pairs = append(pairs, mutual{int32(a), e.file, min(e.weight, back)})
			}
		}
	}
	slices.SortFunc(pairs, func(p, q mutual) int {
		return cmp.Or(cmp.Compare(q.weight, p.weight), cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b))
	})
	s := newSets(len(out))
	for _, p := range pairs {
		s.join(p.a, p.b)
	}
	return s.clusters()
}

// sets are disjoint sets of files.
type sets struct {
	parent, size []int32
}

func newSets(n int) *sets {
	s := &sets{parent: make([]int32, n), size: make([]int32, n)}
	for i := range n {
		s.parent[i], s.size[i] = int32(i), 1
	}
	return s
}

func (s *sets) find(i int32) int32 {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

// join joins the sets of two files unless the result is too large.
func (s *sets) join(i, j int32) {
	i, j = s.find(i), s.find(j)
	if i == j || s.size[i]+s.size[j] > maxCluster {
		return
	}
	if s.size[i] < s.size[j] {
		i, j = j, i
	}
	s.parent[j] = i
	s.size[i] += s.size[j]
}

func (s *sets) clusters() [][]int32 {
	members := make(map[int32][]int32)
	for i := range s.parent {
		if root := s.find(int32(i)); s.size[root] > 1 {
			members[root] = append(members[root], int32(i))
		}
	}
	clusters := make([][]int32, 0, len(members))
	for _, files := range members {
		clusters = append(clusters, files)
	}
	slices.SortFunc(clusters, func(c, d []int32) int {
		return cmp.Or(cmp.Compare(len(d), len(c)), cmp.Compare(c[0], d[0]))
	})
	return clusters
}

// Clusters returns the keys of the outlines of files that reference each other, in the form of stability.Request:
// clusters of 2 to 50 files, those with most files first, then by first key; the keys of a cluster are sorted.
func (g *Graph) Clusters() [][]string {
	clusters := make([][]string, len(g.clusters))
	for i, files := range g.clusters {
		for _, f := range files {
			clusters[i] = append(clusters[i], "outline:"+g.paths[f])
		}
	}
	return clusters
}
