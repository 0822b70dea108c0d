package index

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"strata/filecontext"
)

// Tree returns the files of the workspace as an indented list, sorted by name, with at most bound tokens by count.
// A folder whose content does not fit is shown closed, with the number of files in it; the deepest folders are closed first.
// The same files and bound give the same text. Without files it returns "".
func (i *Index) Tree(bound int, count func(text string) int) string {
	s := i.now()
	if len(s.files) == 0 {
		return ""
	}
	missing := ""
	if s.status.Excess > 0 || s.status.Cut {
		missing = "(there are more files than the index holds)\n"
		bound -= count(missing)
	}
	paths := make([]string, len(s.files))
	for at, f := range s.files {
		paths[at] = f.path
	}
	return TreeOf(paths, bound, count) + missing
}

// TreeOf is Tree for the sorted paths of files, with forward slashes. A line must count at least 1.
func TreeOf(paths []string, bound int, count func(text string) int) string {
	root := newTree(paths)
	if len(root.children) == 0 {
		return ""
	}
	t := &treeWriter{count: count, left: bound}
	t.open(root)
	return t.text(root)
}

// node is a folder or a file.
type node struct {
	name     string
	depth    int // 0 for the root
	files    int // in a folder and all below it; 0 for a file
	children []*node
	shown    int // how many of the children are written
	cost     int // tokens of its line
}

// newTree returns the root of files by their sorted paths.
func newTree(files []string) *node {
	root := &node{}
	way := []*node{root} // to the last folder
	names := []string{}
	for _, f := range files {
		folders := strings.Split(path.Dir(f), "/")
		if folders[0] == "." {
			folders = nil
		}
		same := 0
		for same < min(len(folders), len(names)) && folders[same] == names[same] {
			same++
		}
		way = way[:same+1]
		for _, folder := range folders[same:] {
			way = append(way, way[len(way)-1].add(folder))
		}
		names = folders
		way[len(way)-1].add(path.Base(f))
		for _, above := range way {
			above.files++
		}
	}
	root.sort()
	return root
}

func (n *node) add(name string) *node {
	child := &node{name: name, depth: n.depth + 1}
	n.children = append(n.children, child)
	return child
}

// sort sorts by name: the paths in a folder are sorted, too, but "a-b" comes before "a/b" there.
func (n *node) sort() {
	slices.SortFunc(n.children, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, child := range n.children {
		child.sort()
	}
}

func (n *node) isFolder() bool { return n.files > 0 }

// line returns the line of a file, or of a folder that is closed or has children below it.
func (n *node) line() string {
	name := filecontext.Printable(n.name)
	if n.isFolder() {
		name += "/"
		if n.shown == 0 {
			name += fmt.Sprintf(" (%s)", numberOf(n.files, "file"))
		}
	}
	return strings.Repeat("  ", n.depth-1) + name + "\n"
}

func numberOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// treeWriter opens folders as long as their content fits.
type treeWriter struct {
	count func(string) int
	left  int // tokens
}

// open writes the content of the root, or the part of it that fits, and then that of folders, those near the top first.
func (t *treeWriter) open(root *node) {
	if !t.unfold(root) {
		t.unfoldPart(root)
	}
	for queue := []*node{root}; len(queue) > 0; queue = queue[1:] {
		for _, child := range queue[0].children[:queue[0].shown] {
			if child.isFolder() && t.unfold(child) {
				queue = append(queue, child)
			}
		}
	}
}

// unfold shows all children of a folder if they fit.
func (t *treeWriter) unfold(n *node) bool {
	if len(n.children) > t.left+n.cost { // a line has at least one token
		return false
	}
	n.shown = len(n.children)
	cost := 0
	if n.depth > 0 {
		cost = t.count(n.line()) - n.cost
	}
	for _, child := range n.children {
		child.cost = t.count(child.line())
		if cost += child.cost; cost > t.left {
			n.shown = 0
			return false
		}
	}
	t.left -= cost
	if n.depth > 0 {
		n.cost = t.count(n.line())
	}
	return true
}

// unfoldPart shows the first children of the root that fit together with a line that counts the others.
func (t *treeWriter) unfoldPart(root *node) {
	left := t.left - t.count(more(root.files, len(root.children)))
	for _, child := range root.children {
		child.cost = t.count(child.line())
		if child.cost > left {
			break
		}
		left -= child.cost
		root.shown++
	}
	t.left = 0
}

// more returns the line for entries that are not shown.
func more(files, entries int) string {
	return fmt.Sprintf("… (%d more here, %s)\n", entries, numberOf(files, "file"))
}

func (t *treeWriter) text(n *node) string {
	var out strings.Builder
	n.write(&out)
	if hidden := n.children[n.shown:]; len(hidden) > 0 {
		files := 0
		for _, child := range hidden {
			files += max(child.files, 1)
		}
		out.WriteString(more(files, len(hidden)))
	}
	return out.String()
}

// write writes the shown children of n.
func (n *node) write(out *strings.Builder) {
	for _, child := range n.children[:n.shown] {
		out.WriteString(child.line())
		child.write(out)
	}
}
