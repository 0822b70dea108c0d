package outlines

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/filecontext/index"
	"strata/filecontext/outline"
	"strata/filecontext/outline/text"
	"strata/session/fit"
	"strata/stability"
	"strata/tokens"
)

// Request is the state of a session, and the limits in tokens, for which a choice is made.
type Request struct {
	Files    []filecontext.Entry // of the session, as they are now
	Shown    []Shown             // in the newest answered request
	Prefixes []string            // that these abbreviate

	Share int // maximum of the outlines of files outside the session; 0: no such outlines
	Room  int // maximum of all outlines; applies only if some of them are new
	Tree  int // maximum of the tree; 0: it is shown only if outlines and the session do not name all files

	Counter *tokens.Counter
}

// Shown is an outline, the heading of outlines, or the tree, as the newest answered request contained it.
type Shown struct {
	Key    string
	Kind   stability.Kind
	Hash   string
	Tokens int
}

// Path returns the path of an outline's file.
func (s *Shown) Path() (path string, ok bool) { return strings.CutPrefix(s.Key, fit.OutlinePrefix) }

// treeShare is the divisor of Request.Share for a tree that only tells which other files there are.
const treeShare = 8

// maxNear is how many of the nearest files are considered.
const maxNear = 1000

// Choice is the result of Choose.
type Choice struct {
	Items    []fit.Item   // outlines by path, with their heading; from a stored request also the tree
	Prefixes []string     // that they abbreviate
	Tree     string       // "" without one
	Clusters [][]string   // keys of outlines of files that reference each other
	Index    *IndexStatus // of the index; nil if there is none
}

// Choose chooses what a request shows. Until the first index of the folder is complete, that is what the newest answered
// request showed; after that, equal workspaces and requests give equal choices. The error is that of ctx.
func (s *Source) Choose(ctx context.Context, r Request) (Choice, error) {
	wanted := slices.DeleteFunc(slices.Clone(r.Files), func(e filecontext.Entry) bool { return whole(&e) || e.Problem != "" })
	if r.Share <= 0 && r.Tree <= 0 && len(wanted) == 0 {
		return Choice{}, nil
	}
	h, err := s.current(ctx)
	if err != nil || s.services == nil {
		return Choice{}, err
	}
	c := chooser{Request: &r, source: s, index: h, count: s.counting(r.Counter)}
	for i := range r.Shown {
		if path, ok := r.Shown[i].Path(); ok {
			c.shown = append(c.shown, path)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := c.key()
	choice, known := s.last.get(key, r.Room)
	if !known {
		var size int
		if choice, size, err = c.choose(ctx, wanted); err != nil {
			return Choice{}, err
		}
		if h != nil && size <= r.Room {
			s.last = remembered{key, size, choice}
		}
	}
	choice.Index = s.indexStatus()
	return choice, nil
}

// whole reports whether a request shows all of a file.
func whole(e *filecontext.Entry) bool {
	state, _ := e.Availability()
	return state == filecontext.Full
}

// remembered is the newest choice. It is the same for another request with the same key and at least as much room as the
// outlines have tokens.
type remembered struct {
	key    string
	size   int
	choice Choice
}

func (m *remembered) get(key string, room int) (Choice, bool) {
	if m.key != key || room < m.size {
		return Choice{}, false
	}
	return m.choice, true
}

// chooser makes one choice.
type chooser struct {
	*Request
	source *Source
	index  *index.Handle // nil: nothing is known of the folder
	shown  []string      // paths
	count  func(string) int
}

// key names everything that a choice depends on, but for the room.
func (c *chooser) key() string {
	var b strings.Builder
	if c.index != nil {
		fmt.Fprintf(&b, "%d", c.index.Version())
	}
	fmt.Fprintf(&b, " %d %d %p %q %q", c.Share, c.Tree, c.Counter, c.shown, c.Prefixes)
	for i := range c.Files {
		e := &c.Files[i]
		fmt.Fprintf(&b, "\n%q %s %s %s", e.Path, e.State, e.Problem, e.Hash)
	}
	return b.String()
}

// choose returns the choice and the tokens of its outlines.
func (c *chooser) choose(ctx context.Context, wanted []filecontext.Entry) (Choice, int, error) {
	files, err := c.own(ctx, wanted)
	if err != nil {
		return Choice{}, 0, err
	}
	if c.index == nil && c.Share > 0 && c.source.waits() {
		return c.asBefore(files), 0, nil
	}
	asked := len(files)
	files = append(files, c.others()...)
	size := 0
	for _, f := range files {
		size += c.count(text.Block(f, text.Aliases{}))
	}
	files = c.withinRoom(files, asked, size)
	choice := c.render(files, text.FindAliases(files, c.count, text.RestoreAliases(c.Prefixes)))
	choice.Tree = c.tree(files)
	choice.Clusters = c.clusters(choice.Items)
	return choice, size, nil
}

// own returns the files of the context that are not shown whole, with their outlines.
func (c *chooser) own(ctx context.Context, wanted []filecontext.Entry) ([]text.File, error) {
	var files []text.File
	for i := range wanted {
		o, err := c.source.of(ctx, c.index, &wanted[i])
		if err != nil {
			return nil, err
		}
		if o != nil {
			files = append(files, text.File{Path: wanted[i].Path, Outline: o})
		}
	}
	return files, nil
}

// others returns the files of the workspace that fit their share, nearest to the context first.
func (c *chooser) others() []text.File {
	if c.Share <= 0 || c.index == nil {
		return nil
	}
	inContext := make(map[string]bool)
	var paths []string
	for i := range c.Files {
		inContext[c.Files[i].Path] = true
		paths = append(paths, c.Files[i].Path)
	}
	var candidates []text.File
	seen := make(map[string]bool)
	near, related := c.index.Graph().Near(paths, maxNear)
	for _, p := range slices.Concat(near[:related], c.shown, near[related:]) {
		if inContext[p] || seen[p] {
			continue
		}
		seen[p] = true
		if _, o, _ := c.index.Outline(p); o != nil && shows(o) {
			candidates = append(candidates, text.File{Path: p, Outline: o})
		}
	}
	chosen := make(map[string]bool)
	for _, p := range text.Select(c.Share, c.count, candidates, c.shown) {
		chosen[p] = true
	}
	return slices.DeleteFunc(candidates, func(f text.File) bool { return !chosen[f.Path] })
}

// shows reports whether an outline says more than the name of its file.
func shows(o *outline.Outline) bool { return len(o.Symbols) > 0 || len(o.Imports) > 0 }

// withinRoom omits files that were not shown before, the farthest first, until the others have room. The first asked ones
// stay.
func (c *chooser) withinRoom(files []text.File, asked, size int) []text.File {
	for i := len(files) - 1; i >= asked && size > c.Room; i-- {
		if !slices.Contains(c.shown, files[i].Path) {
			size -= c.count(text.Block(files[i], text.Aliases{}))
			files = slices.Delete(files, i, i+1)
		}
	}
	return files
}

const heading = "# Outlines of files in the workspace\n\nImports and definitions with the numbers of their lines. The text of these files is not given here: ask for a file to see it.\n"

// render returns the outlines of files, nearest first, as a choice.
func (c *chooser) render(files []text.File, aliases text.Aliases) Choice {
	if len(files) == 0 {
		return Choice{}
	}
	choice := Choice{Prefixes: aliases.Prefixes()}
	top := heading
	if legend := aliases.Legend(); legend != "" {
		top += "\n" + legend
	}
	first := fit.TextItem(fit.OutlineHeading, stability.Outline, top, c.Counter)
	first.Pinned = true
	choice.Items = append(choice.Items, first)
	for rank, f := range files {
		choice.Items = append(choice.Items, c.item(rank, f, aliases))
	}
	slices.SortFunc(choice.Items, func(a, b fit.Item) int { return strings.Compare(a.Key, b.Key) })
	return choice
}

// item returns the outline of a file, of which so many are nearer to the context.
func (c *chooser) item(rank int, f text.File, aliases text.Aliases) fit.Item {
	block := text.Block(f, aliases)
	it := fit.Item{
		Item: stability.Item{Key: fit.OutlinePrefix + f.Path, Kind: stability.Outline, Hash: fit.Hash(block), Tokens: c.count(block)},
		Text: block, Priority: fit.PriorityOutline, Since: int64(-rank),
	}
	if c.index != nil && f.Path == c.index.Recent() {
		it.Priority = fit.PriorityRecentOutline
	}
	return it
}

// asBefore returns what the newest answered request showed, byte for byte, and the outlines of these files of the context:
// after a restart, requests contain the same outlines although the index is not there yet.
func (c *chooser) asBefore(own []text.File) Choice {
	choice := c.render(own, text.RestoreAliases(c.Prefixes))
	choice.Prefixes = c.Prefixes
	known := make(map[string]bool)
	for _, it := range choice.Items {
		known[it.Key] = true
	}
	for i := range c.Files {
		known[fit.OutlinePrefix+c.Files[i].Path] = true
	}
	for _, s := range c.Shown {
		if !known[s.Key] {
			choice.Items = append(choice.Items, fit.Item{
				Item: stability.Item{Key: s.Key, Kind: s.Kind, Hash: s.Hash, Tokens: s.Tokens}, Priority: fit.PriorityOutline,
				Pinned: s.Key == fit.OutlineHeading,
			})
		}
	}
	slices.SortFunc(choice.Items, func(a, b fit.Item) int { return strings.Compare(a.Key, b.Key) })
	return choice
}

// clusters returns the clusters of the items. It needs no references if there are less than two outlines.
func (c *chooser) clusters(items []fit.Item) [][]string {
	if c.index == nil {
		return nil
	}
	var clusters [][]string
	if len(items) > 2 { // the heading and outlines
		clusters = c.index.Graph().Clusters()
	}
	return withHeading(clusters, items)
}

// withHeading returns the clusters of items with their heading in the largest one, which is laid out first.
func withHeading(clusters [][]string, items []fit.Item) [][]string {
	sizes := make(map[string]int)
	for i := range items {
		sizes[items[i].Key] = items[i].Tokens
	}
	delete(sizes, fit.OutlineHeading)
	var shown [][]string
	largest, most := -1, 0
	take := func(keys []string) {
		size := 0
		var some []string
		for _, key := range keys {
			if n, is := sizes[key]; is {
				delete(sizes, key)
				size, some = size+n, append(some, key)
			}
		}
		if size > most {
			largest, most = len(shown), size
		}
		if len(some) > 0 {
			shown = append(shown, some)
		}
	}
	for _, keys := range clusters {
		take(keys)
	}
	for i := range items { // outlines in no cluster
		take([]string{items[i].Key})
	}
	if largest >= 0 {
		shown[largest] = append(shown[largest], fit.OutlineHeading)
	}
	return shown
}

// tree returns the tree of the workspace if it is wanted, or if there are files that neither an outline nor the context
// shows.
func (c *chooser) tree(files []text.File) string {
	if c.index == nil {
		return ""
	}
	bound := c.Tree
	if bound <= 0 {
		if c.Share <= 0 || !c.hides(files) {
			return ""
		}
		bound = c.Share / treeShare
	}
	return c.index.Tree(bound, c.count)
}

// hides reports whether the workspace has other files than these and those of the context.
func (c *chooser) hides(files []text.File) bool {
	known := make(map[string]bool)
	for _, f := range files {
		known[f.Path] = true
	}
	for i := range c.Files {
		known[c.Files[i].Path] = true
	}
	return slices.ContainsFunc(c.index.Files(), func(f index.File) bool { return !known[f.Path] })
}
