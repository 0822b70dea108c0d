package graph

import (
	"cmp"
	"path"
	"slices"
)

// Near returns at most n files, nearest to the given ones first: those with mutual references, then those with a reference
// in one direction, both by the sum of their weights; then those in the same folder, by path; then the others by the
// number of files that reference them, most first. It omits the given paths; those that are no files of the graph still
// count for their folder. related is how many of the files precede these others.
func (g *Graph) Near(paths []string, n int) (near []string, related int) {
	d := distances{Graph: g, given: make(map[int32]bool), mutual: make(map[int32]int), single: make(map[int32]int), folders: make(map[string]bool)}
	for _, p := range paths {
		d.give(p)
	}
	near = make([]string, 0, min(max(n, 0), len(g.paths)))
	taken := make([]bool, len(g.paths))
	for f := range d.given {
		taken[f] = true
	}
	take := func(files []int32) {
		for _, f := range files {
			if len(near) < n && !taken[f] {
				taken[f] = true
				near = append(near, g.paths[f])
			}
		}
	}
	take(byWeight(d.mutual))
	take(byWeight(d.single))
	take(d.inFolders())
	related = len(near)
	take(g.used)
	return near, related
}

// distances are the relations of all files to the given ones.
type distances struct {
	*Graph
	given          map[int32]bool
	mutual, single map[int32]int // sums of weights
	folders        map[string]bool
}

func (d *distances) give(p string) {
	d.folders[path.Dir(p)] = true
	f, found := d.find(p)
	if !found || d.given[f] {
		return
	}
	d.given[f] = true
	for _, e := range d.out[f] {
		if back := weightOf(d.out[e.file], f); back > 0 {
			d.mutual[e.file] += int(e.weight) + int(back)
		} else {
			d.single[e.file] += int(e.weight)
		}
	}
	for _, e := range d.in[f] {
		if weightOf(d.out[f], e.file) == 0 {
			d.single[e.file] += int(e.weight)
		}
	}
}

// inFolders returns the files in the folders of the given ones.
func (d *distances) inFolders() []int32 {
	var files []int32
	if len(d.folders) == 0 {
		return nil
	}
	for i, p := range d.paths {
		if d.folders[path.Dir(p)] {
			files = append(files, int32(i))
		}
	}
	return files
}

// byWeight returns files by descending weight, then by index.
func byWeight(weights map[int32]int) []int32 {
	files := make([]int32, 0, len(weights))
	for f := range weights {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b int32) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
	return files
}
