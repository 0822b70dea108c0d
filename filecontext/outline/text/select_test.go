package text

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A scene is a workspace that changes.
type scene struct {
	*rand.Rand
	files []File
	next  int
}

func (s *scene) add() {
	f := class(fmt.Sprintf("dir%d/file%d.ts", s.next%7, s.next), s.IntN(30))
	if s.IntN(10) == 0 {
		f.Outline = nil
	}
	s.next++
	s.files = slices.Insert(s.files, s.IntN(len(s.files)+1), f)
}

// change adds, removes, edits or moves a file.
func (s *scene) change() {
	i := s.IntN(len(s.files))
	switch s.IntN(4) {
	case 0:
		s.add()
	case 1:
		if len(s.files) > 1 {
			s.files = slices.Delete(s.files, i, i+1)
		}
	case 2:
		s.files[i] = class(s.files[i].Path, s.IntN(30))
	case 3:
		f := s.files[i]
		s.files = slices.Insert(slices.Delete(s.files, i, i+1), s.IntN(len(s.files)), f)
	}
}

func blocks(files []File, paths []string) (text []string, size int) {
	for _, f := range files {
		if slices.Contains(paths, f.Path) {
			b := Block(f, Aliases{})
			text, size = append(text, b), size+len(b)
		}
	}
	return text, size
}

func TestSelectionKeepsItsBudgetAndItsResult(t *testing.T) {
	for seed := range uint64(100) {
		s := &scene{Rand: rand.New(rand.NewPCG(seed, 1))}
		for range 3 + s.IntN(80) {
			s.add()
		}
		var shown []string
		for range 20 {
			budget := 500 + s.IntN(8)*2_000
			full := Select(budget, bytes, s.files, shown)
			if _, size := blocks(s.files, full); size > budget {
				t.Fatalf("seed %d: %d bytes of blocks, budget %d", seed, size, budget)
			}
			again := Select(budget, bytes, s.files, shown)
			kept := Select(budget, bytes, s.files, full)
			if !slices.Equal(full, again) || !slices.Equal(full, kept) {
				t.Fatalf("seed %d: the choice changes from %q to %q and %q", seed, full, again, kept)
			}
			shown = full
			s.change()
		}
	}
}

func sortedPaths(files []File) []string {
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	return paths
}

func TestSelectionIsSticky(t *testing.T) {
	const budget = 4_000
	for seed := range uint64(100) {
		s := &scene{Rand: rand.New(rand.NewPCG(seed, 2))}
		for range 60 {
			s.add()
		}
		full := Select(budget, bytes, s.files, nil)

		// A file is added behind the others: all that was shown stays, with the same bytes.
		far := class("zz/far.ts", 3)
		more := append(slices.Clone(s.files), far)
		got := Select(budget, bytes, more, full)
		if without := slices.DeleteFunc(slices.Clone(got), func(p string) bool { return p == far.Path }); !slices.Equal(without, full) {
			t.Fatalf("seed %d: a new file changes %q to %q", seed, full, got)
		}

		// The farthest file that is not shown changes: at most that file comes.
		i := len(s.files) - 1
		for slices.Contains(full, s.files[i].Path) || s.files[i].Outline == nil {
			i--
		}
		edited := slices.Clone(s.files)
		edited[i] = class(edited[i].Path, 29)
		got = Select(budget, bytes, edited, full)
		if without := slices.DeleteFunc(slices.Clone(got), func(p string) bool { return p == edited[i].Path }); !slices.Equal(without, full) {
			t.Fatalf("seed %d: an edit of a file that is not shown changes %q to %q", seed, full, got)
		}

		// A shown file shrinks: only its block changes.
		i = slices.IndexFunc(s.files, func(f File) bool { return f.Path == full[0] })
		edited = slices.Clone(s.files)
		edited[i] = class(edited[i].Path, 0)
		got = Select(budget, bytes, edited, full)
		for _, p := range full {
			if !slices.Contains(got, p) {
				t.Fatalf("seed %d: %s leaves because %s is smaller", seed, p, full[0])
			}
		}
		before, _ := blocks(s.files, full)
		after, _ := blocks(edited, full)
		changed := 0
		for k := range before {
			if before[k] != after[k] {
				changed++
			}
		}
		if changed > 1 {
			t.Fatalf("seed %d: %d blocks change", seed, changed)
		}
	}
}

func TestSelectionFollowsTheContext(t *testing.T) {
	var files []File
	for i := range 40 {
		files = append(files, class(fmt.Sprintf("f%02d.ts", i), 4))
	}
	size := len(Block(files[0], Aliases{}))
	budget := 9*size + size/2
	first := Select(budget, bytes, files, nil)
	if !slices.Equal(first, sortedPaths(files[:9])) {
		t.Fatalf("the first choice is %q", first)
	}
	// Others are nearest now: they come into their half of the room, the nearest of the old ones stay.
	slices.Reverse(files)
	got := Select(budget, bytes, files, first)
	if want := []string{"f04.ts", "f05.ts", "f06.ts", "f07.ts", "f08.ts", "f36.ts", "f37.ts", "f38.ts", "f39.ts"}; !slices.Equal(got, want) {
		t.Errorf("after the context has changed, the choice is %q, want %q", got, want)
	}
}

func TestSelectionMeasuresFewFiles(t *testing.T) {
	var files []File
	for i := range 20_000 {
		files = append(files, class(fmt.Sprintf("f%05d.ts", i), 4))
	}
	measured := 0
	full := Select(5_000, func(s string) int { measured++; return len(s) }, files, nil)
	if measured > len(full)+2*maxMisses || len(full) == 0 {
		t.Errorf("%d files measured to choose %d", measured, len(full))
	}
	for _, budget := range []int{0, -1, -1 << 60, 1} {
		if full := Select(budget, bytes, files, sortedPaths(files)); len(full) > 0 {
			t.Errorf("budget %d: %d files", budget, len(full))
		}
	}
}
