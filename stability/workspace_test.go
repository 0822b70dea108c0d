package stability

import (
	"fmt"
	"strings"
	"testing"
)

// workspace is a session of 90 replies in a workspace with 60 outlines in 12 folders and five files in full context.
type workspace struct {
	*scene
	request int // number of the next request
}

// replies is the length of the session.
const replies = 90

func newWorkspace(t *testing.T) *workspace {
	w := &workspace{scene: newScene(t, Options{Layout: LayoutRipple, Target: DefaultTarget})}
	for i := range 5 {
		w.file(fmt.Sprint("full", i), "1", 1200)
	}
	return w
}

// path returns the path of a file of the workspace that is not in full context at first.
func path(folder, i int) string { return fmt.Sprintf("%02d/%d", folder, i) }

// index adds the outlines; with clusters, those of a folder reference each other.
func (w *workspace) index(clusters bool) {
	for folder := range 12 {
		var keys []string
		for i := range 5 {
			w.outline(path(folder, i), "1", 100+10*folder)
			keys = append(keys, "outline:"+path(folder, i))
		}
		if clusters {
			w.req.Clusters = append(w.req.Clusters, keys)
		}
	}
}

// edit changes a file in full context every fourth reply, when it is in L3.
func (w *workspace) edit() {
	if w.request > 0 && w.request%4 == 0 {
		w.file("full0", fmt.Sprint(w.request), 1200)
	}
}

// visit adds a file of the last folder to full context for two replies, changes it, and removes it; then the next file.
func (w *workspace) visit() {
	name := path(11, w.request/6%5)
	switch w.request % 6 {
	case 2:
		w.file(name, "1", 800)
	case 4:
		w.outline(name, fmt.Sprint(w.request), 210)
	}
}

// play sends the requests up to number n, with changes before each, and returns the last one.
func (w *workspace) play(n int, changes func()) (p *Plan) {
	for ; w.request <= n; w.request++ {
		changes()
		w.user(60)
		p = w.send()
		w.reply(400)
	}
	return p
}

// held returns the numbers of files and outlines in each of L0 to L3, as "files/outlines".
func held(p *Plan) string {
	files, outlines := map[Tier]int{}, map[Tier]int{}
	for i := range p.Entries {
		switch e := &p.Entries[i]; e.Kind {
		case Base:
			files[e.Tier]++
		case Outline:
			outlines[e.Tier]++
		}
	}
	var out []string
	for t := L0; t <= L3; t++ {
		out = append(out, fmt.Sprintf("%d/%d", files[t], outlines[t]))
	}
	return strings.Join(out, " ")
}

// TestTiersOfAWorkspace follows which of L0 to L3 hold files and outlines in `ripple`. The members of a tier count only if
// their tier or the one above is written again. So while only L3 changes, members move into L2 if it is empty, and none
// move into L1 or L0: the first placement alone fills L1. If the tiers above change too, members reach L0.
func TestTiersOfAWorkspace(t *testing.T) {
	edit, visit := (*workspace).edit, (*workspace).visit
	type state struct {
		request int
		held    string // files/outlines in L0 to L3
	}
	tests := []struct {
		name     string
		index    int // the request from which there are outlines; negative: never
		clusters bool
		changes  func(*workspace)
		want     []state
	}{
		{"only L3 changes, no outlines", -1, false, edit, []state{
			{0, "0/0 0/0 0/0 0/0"}, {3, "0/0 0/0 0/0 5/0"}, {4, "0/0 0/0 0/0 4/0"}, {8, "0/0 0/0 4/0 0/0"}, {89, "0/0 0/0 4/0 0/0"}}},
		{"only L3 changes, no clusters", 0, false, edit, []state{
			{0, "0/0 0/20 0/20 0/20"}, {3, "0/0 0/20 0/20 5/20"}, {89, "0/0 0/20 0/20 4/20"}}},
		{"only L3 changes, clusters", 0, true, edit, []state{
			{0, "0/0 0/20 0/20 0/20"}, {3, "0/0 0/20 0/20 5/20"}, {89, "0/0 0/20 0/20 4/20"}}},
		{"only L3 changes, the index is late", 10, true, edit, []state{
			{9, "0/0 0/0 4/0 0/0"}, {10, "0/0 0/20 4/20 0/20"}, {89, "0/0 0/20 4/20 0/20"}}},
		{"files are visited, clusters", 0, true, visit, []state{
			{0, "0/0 0/20 0/20 0/20"}, {25, "0/0 0/27 5/30 0/3"}, {26, "0/14 0/12 5/30 0/3"}, {89, "0/14 0/12 5/32 0/1"}}},
		{"files are visited, no clusters", 0, false, visit, []state{
			{0, "0/0 0/20 0/20 0/20"}, {26, "0/0 0/55 5/3 0/1"}, {89, "0/0 0/55 5/3 0/1"}}},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			w := newWorkspace(t)
			for _, want := range tt.want {
				p := w.play(want.request, func() {
					if w.request == tt.index {
						w.index(tt.clusters)
					}
					tt.changes(w)
				})
				if got := held(p); got != want.held {
					t.Errorf("request %d: %s, want %s", want.request, got, want.held)
				}
			}
		})
	}
}

// While only L3 changes, L1 to L3 hold outlines in every request, and with clusters one tier holds the whole of each.
func TestClustersStayTogether(t *testing.T) {
	for _, clusters := range []bool{false, true} {
		w := newWorkspace(t)
		w.index(clusters)
		for n := range replies {
			p := w.play(n, w.edit)
			filled, split := map[Tier]bool{}, false
			homes := map[string]Tier{} // of the folders
			for i := range p.Entries {
				e := &p.Entries[i]
				if e.Kind != Outline {
					continue
				}
				folder, _, _ := strings.Cut(e.Key, "/")
				home, known := homes[folder]
				split = split || known && home != e.Tier
				homes[folder], filled[e.Tier] = e.Tier, true
			}
			if len(filled) != 3 || !filled[L1] || !filled[L2] || !filled[L3] {
				t.Fatalf("request %d, clusters %t: outlines in %v", n, clusters, filled)
			}
			if split == clusters {
				t.Fatalf("request %d, clusters %t: folders in more than one tier: %t", n, clusters, split)
			}
		}
	}
}
