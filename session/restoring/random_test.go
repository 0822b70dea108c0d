package restoring

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"strata/history"
)

// world is a desk whose files tools and others change at random. It knows which files a restore must put back.
type world struct {
	*desk
	r       *rand.Rand
	names   []string
	changes []history.FileChange
	images  map[string]history.Blob

	first  map[string]file // before the first change of a tool
	left   map[string]file // after the newest one
	broken map[string]bool // others wrote it between two changes
	links  map[string][]string
}

func newWorld(d *desk, r *rand.Rand, seed uint64) *world {
	w := &world{desk: d, r: r, images: map[string]history.Blob{}, first: map[string]file{}, left: map[string]file{}, broken: map[string]bool{}, links: map[string][]string{}}
	for i := range 6 {
		w.names = append(w.names, fmt.Sprintf("w%d/d%d/f%d", seed, i%3, i))
	}
	for _, name := range w.names[:4] {
		d.write(name, w.some())
	}
	return w
}

// some returns a file that there was never before.
func (w *world) some() file {
	data := make([]byte, w.r.IntN(60))
	for i := range data {
		data[i] = "ab\r\n\x00\xff\xfe"[w.r.IntN(7)]
	}
	modes := []os.FileMode{0o644, 0o600, 0o755, 0o664}
	return file{fmt.Sprint(w.r.Uint64(), string(data)), modes[w.r.IntN(len(modes))]}
}

func (w *world) touch(name string, before, after file) {
	if left, known := w.left[name]; !known {
		w.first[name] = before
	} else if left != before {
		w.broken[name] = true
	}
	w.left[name] = after
}

// act lets a tool make a random change.
func (w *world) act() {
	name, to := w.names[w.r.IntN(len(w.names))], w.names[w.r.IntN(len(w.names))]
	before := w.read(name)
	if w.r.IntN(4) == 0 && before.exists() && !w.read(to).exists() {
		w.changes = append(w.changes, w.move(name, to))
		w.touch(name, before, file{})
		w.touch(to, file{}, before)
		w.links[name], w.links[to] = append(w.links[name], to), append(w.links[to], name)
		return
	}
	after := w.some()
	if w.r.IntN(4) == 0 && before.exists() {
		after = file{}
	}
	c, images := w.tool(name, after)
	for _, b := range images {
		w.images[b.Hash] = b
	}
	w.changes = append(w.changes, c)
	w.touch(name, before, w.read(name))
}

// others write or remove a random file.
func (w *world) others() {
	f := w.some()
	if w.r.IntN(3) == 0 {
		f = file{}
	}
	w.write(w.names[w.r.IntN(len(w.names))], f)
}

// spared returns the files that a restore must leave as they are.
func (w *world) spared() map[string]bool {
	all := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if !all[name] {
			all[name] = true
			for _, linked := range w.links[name] {
				add(linked)
			}
		}
	}
	for name, left := range w.left {
		if now := w.read(name); (w.broken[name] || now.hash() != left.hash()) && now.hash() != w.first[name].hash() {
			add(name)
		}
	}
	return all
}

func (w *world) disk() map[string]file {
	all := map[string]file{}
	for _, name := range w.names {
		all[name] = w.read(name)
	}
	return all
}

// A restore never touches what others wrote, and brings back everything else byte for byte with its mode. Its undo puts
// everything forward again.
func TestRestoresOfRandomChanges(t *testing.T) {
	d := newDesk(t, nil)
	restored, conflicts := 0, 0
	for seed := range uint64(90) {
		r := rand.New(rand.NewPCG(seed, 21))
		w, foreign := newWorld(d, r, seed), int(seed%3) // of ten: the others write so often
		place := d.n
		for range 1 + r.IntN(12) {
			w.act()
			if r.IntN(10) < foreign {
				w.others()
			}
		}
		var images []history.Blob
		for _, hash := range sortedNames(w.images) {
			if r.IntN(20) > 0 || foreign == 0 {
				images = append(images, w.images[hash])
			}
		}
		w.commit(images, w.changes...)
		before, spared := w.disk(), w.spared()
		edit := fmt.Sprint("edit_", seed)
		preview := w.do(After(place), true)
		done := w.restore(After(place), edit)
		equal(t, fmt.Sprint("outcome of ", seed), done.Files, preview.Files)
		lost := false
		for _, f := range done.Files {
			lost = lost || f.Outcome == Unavailable
			switch f.Outcome {
			case Restored:
				restored++
			case Conflict:
				conflicts++
			}
		}
		if lost && foreign == 0 {
			t.Errorf("seed %d: %s", seed, w.told(done))
		}
		for name, now := range w.disk() {
			want := before[name]
			if first, changed := w.first[name]; changed && !spared[name] && (!lost || now.hash() == first.hash()) {
				want = first
			}
			if foreign > 0 {
				now.mode, want.mode = min(now.mode, 1), min(want.mode, 1) // those that others set stay
			}
			if now != want {
				t.Fatalf("seed %d: %s is %+v, want %+v; before %+v\n%s", seed, name, now, want, before[name], w.told(done))
			}
		}
		if foreign == 0 {
			w.restore(UndoOf(edit), "")
			if now := w.disk(); !maps.Equal(now, before) {
				t.Fatalf("seed %d: after the undo %+v, want %+v", seed, now, before)
			}
		}
		d.wantNoTemps()
	}
	if restored < 100 || conflicts < 20 {
		t.Errorf("%d files restored, %d conflicts", restored, conflicts)
	}
}

// Single changes are taken back and put forward in any order. A restore of all brings back what was there before.
func TestRandomReverts(t *testing.T) {
	d := newDesk(t, nil)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 22))
		w := newWorld(d, r, seed)
		place := d.n
		for range 8 {
			w.act()
		}
		w.commit(slices.Collect(maps.Values(w.images)), w.changes...)
		for range 4 {
			var ids []string
			for _, c := range w.changes {
				if r.IntN(3) == 0 {
					ids = append(ids, c.ID)
				}
			}
			w.restore(Single(ids, r.IntN(2) == 0), "")
		}
		w.restore(After(place), "edit_1")
		for name, want := range w.first {
			if got := w.read(name); got.text != want.text || got.exists() != want.exists() {
				t.Fatalf("seed %d: %s is %+v, want %+v", seed, name, got, want)
			}
		}
	}
}
