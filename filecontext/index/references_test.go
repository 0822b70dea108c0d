package index

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/filecontext/outline/graph"
)

// edges returns "FROM -> TO WEIGHT" of all references, one a line.
func edges(g *graph.Graph) string {
	var out strings.Builder
	for _, e := range g.Edges() {
		fmt.Fprintf(&out, "%s -> %s %d\n", e.From, e.To, e.Weight)
	}
	return out.String()
}

func TestGraphAndVersionFollowTheFiles(t *testing.T) {
	folder := workspace(t, map[string]string{
		"a.ts": "import ./b\nuse openDoor", "b.ts": "func openDoor", "c.ts": "func openDoor", "notes.txt": "text", "d.py": "\x00",
	})
	h := acquire(t, registry(t, Options{}), folder)
	last, version := h.Graph(), h.Version()
	step := func(what, want string, renewed, newVersion bool) {
		t.Helper()
		refresh(t, h)
		equal(t, what+": the version is another one", h.Version() != version, newVersion)
		version = h.Version()
		g := h.Graph()
		equal(t, what+": references", edges(g), want)
		equal(t, what+": the graph is another one", g != last, renewed)
		last = g
	}
	step("nothing", "a.ts -> b.ts 4\n", false, false)
	near, _ := last.Near([]string{"a.ts"}, 9)
	equal(t, "near files", strings.Join(near, " "), "b.ts c.ts d.py notes.txt")
	write(t, folder, "b.ts", "func openDoor\n") // the same outline
	step("content", "a.ts -> b.ts 4\n", false, false)
	write(t, folder, "d.py", "\xe9\xe8\xea") // another reason for which there is no outline
	step("state", "a.ts -> b.ts 4\n", false, true)
	write(t, folder, "a.ts", "import ./c\nuse openDoor")
	step("outline", "a.ts -> c.ts 4\n", true, true)
	must(t, os.Remove(filepath.Join(folder, "c.ts")))
	step("removed", "a.ts -> b.ts 1\n", true, true)
	must(t, os.Rename(filepath.Join(folder, "b.ts"), filepath.Join(folder, "0.ts")))
	step("moved", "a.ts -> 0.ts 1\n", true, true)
	write(t, folder, "more.txt", "")
	step("added", "a.ts -> 0.ts 1\n", true, true)
}

// A sweep that finds nothing keeps all that was derived from the files. Files that are too new to be identified by their
// attributes are read again, which changes nothing either.
func TestSweepsWithoutChanges(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "func a", "bin.go": "\x00", "notes.txt": "text", "sub/go.mod": "module m", "turned.go": "func f"})
	h := acquire(t, registry(t, Options{}), folder)
	write(t, folder, "turned.go", "\x00") // read once more, and not at each sweep
	refresh(t, h)
	g, version := h.Graph(), h.Version()
	for before := (*snapshot)(nil); h.now() != before; {
		before = h.now()
		refresh(t, h)
		if h.Graph() != g || h.Version() != version {
			t.Fatal("the graph or the version is another one")
		}
	}
	write(t, folder, "a.go", "func b")
	refresh(t, h)
	if h.Graph() == g || h.Version() == version {
		t.Error("the graph or the version is that of the former outline")
	}
}

// Concurrent callers get one graph.
func TestConcurrentGraphs(t *testing.T) {
	files := make(map[string]string)
	for n := range 60 {
		files[fmt.Sprintf("f%d.ts", n)] = fmt.Sprintf("import ./f%d\nfunc name%d", (n+1)%60, n)
	}
	h := acquire(t, registry(t, Options{}), workspace(t, files))
	graphs := make([]*graph.Graph, 8)
	var group sync.WaitGroup
	for n := range graphs {
		group.Go(func() { graphs[n] = h.Graph() })
	}
	refresh(t, h)
	group.Wait()
	for _, g := range graphs {
		if g != graphs[0] || len(g.Edges()) != 60 {
			t.Fatalf("graphs %p and %p, %d references", g, graphs[0], len(g.Edges()))
		}
	}
}

func TestRecent(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "func a", "b.go": "func b", "c.go": "func c", "new.txt": "text", "bin.go": "\x00"})
	h := acquire(t, registry(t, Options{}), folder)
	begin := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	step := func(want string, days ...int) {
		t.Helper()
		for n, name := range []string{"a.go", "b.go", "c.go", "new.txt", "bin.go"} {
			day := begin.AddDate(0, 0, days[n])
			must(t, os.Chtimes(filepath.Join(folder, name), day, day))
		}
		refresh(t, h)
		equal(t, fmt.Sprint("recent with ", days), h.Recent(), want)
	}
	step("b.go", 0, 1, 0, 9, 9)
	step("b.go", 0, 1, 1, 9, 9)
	step("a.go", 1, 1, 1, 9, 9)
	step("c.go", -9_000, -8_000, -7_000, 9, 9)
	version := h.Version()
	step("a.go", 2, 1, 1, 9, 9)
	equal(t, "version", h.Version(), version)
	none := acquire(t, registry(t, Options{}), workspace(t, map[string]string{"new.txt": "text"}))
	equal(t, "recent without outlines", none.Recent(), "")
}
