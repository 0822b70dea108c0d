package history

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// renamed returns a view with ids mapped by own.
func renamed(s seen, own func(string) string) seen {
	out := s
	out.View, out.Shed, out.InForce = nil, nil, make(map[string]bool)
	for _, v := range s.View {
		v.ID = own(v.ID)
		patches := v.Patches
		v.Patches = nil
		for _, p := range patches {
			p.Message = own(p.Message)
			v.Patches = append(v.Patches, p)
		}
		out.View = append(out.View, v)
	}
	for _, h := range s.Shed {
		h.ID = own(h.ID)
		out.Shed = append(out.Shed, h)
	}
	for id := range s.InForce {
		out.InForce[own(id)] = true
	}
	out.First.ID = own(s.First.ID)
	out.Undoable, out.Summary.Edit = own(s.Undoable), own(s.Summary.Edit)
	return out
}

// A fork at any sequence number has the view of the source at that point, and then behaves like the source.
func TestForksHaveTheViewOfTheirSource(t *testing.T) {
	own := func(id string) string {
		if id == "" {
			return ""
		}
		return "fork of " + id
	}
	for seed := range uint64(25) {
		w := &writer{Log: NewLog(nil, nil), r: rand.New(rand.NewPCG(seed, 6))}
		views := []seen{look(w.Log)}
		for range 40 {
			if w.r.IntN(3) > 0 {
				w.message()
			} else {
				w.Apply(w.edit())
			}
			views = append(views, look(w.Log))
		}
		for seq, view := range views {
			heads, edits := w.UpTo(int64(seq))
			fork := forked(heads, edits, own)
			want := renamed(view, own)
			if d := diff(want, look(fork), true); d != "" {
				t.Fatalf("seed %d, forked at %d: %s", seed, seq, d)
			}
			allHeads, allEdits := w.UpTo(w.LastSeq())
			for _, e := range forked(allHeads, allEdits, own).Edits()[len(edits):] {
				fork.Append(since(allHeads, fork.LastSeq(), e.Seq, own)...)
				fork.Apply(e)
			}
			fork.Append(since(allHeads, fork.LastSeq(), w.LastSeq()+1, own)...)
			if d := diff(renamed(look(w.Log), own), look(fork), true); d != "" {
				t.Fatalf("seed %d, forked at %d and continued: %s", seed, seq, d)
			}
		}
		if d := diff(views[len(views)-1], look(w.Log), true); d != "" {
			t.Fatalf("seed %d: the source changed: %s", seed, d)
		}
	}
}

func forked(heads []Head, edits []Edit, own func(string) string) *Log {
	var named []Edit
	for _, e := range edits {
		named = append(named, e.WithIDs(own))
	}
	return NewLog(since(heads, 0, math.MaxInt64, own), named)
}

// since returns the messages after one sequence number and before another.
func since(heads []Head, after, before int64, own func(string) string) (later []Head) {
	for _, h := range heads {
		if h.Seq > after && h.Seq < before {
			h.ID = own(h.ID)
			later = append(later, h)
		}
	}
	return later
}

func TestWithIDsMapsAllIDs(t *testing.T) {
	own := strings.ToUpper
	e := Edit{ID: "a", Undoes: "b", CallsMessage: "e", Messages: []string{"c"}, Patches: []Patch{{Message: "d", Text: "text"}}, Reason: "reason"}
	want := Edit{ID: "A", Undoes: "B", CallsMessage: "E", Messages: []string{"C"}, Patches: []Patch{{Message: "D", Text: "text"}}, Reason: "reason"}
	if d := cmp.Diff(want, e.WithIDs(own)); d != "" {
		t.Error(d)
	}
	if e.Messages[0] != "c" || e.Patches[0].Message != "d" {
		t.Errorf("the edit was changed: %+v", e)
	}
	m := Message{ID: "a", Turn: "b", Model: "model", Blocks: []Block{{Type: BlockToolCall, CallID: "call"}}}
	if d := cmp.Diff(Message{ID: "A", Turn: "B", Model: "model", Blocks: m.Blocks}, m.WithIDs(own)); d != "" {
		t.Error(d)
	}
}
