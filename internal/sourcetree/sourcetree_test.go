package sourcetree

import (
	"testing"

	"strata/filecontext/outline"
	"strata/filecontext/outline/graph"
)

// Every file is parsed without a fault, has definitions, and references the files that it names.
func TestFilesAreSourceFiles(t *testing.T) {
	parser := outline.New(outline.Options{CacheDir: t.TempDir()})
	defer parser.Close()
	const n = 300
	files := make([]graph.File, n)
	for file := range n {
		text := Text(file)
		if len(text) < minBytes || len(text) > 2*minBytes {
			t.Errorf("%s has %d bytes", Path(file), len(text))
		}
		o, err := parser.Parse(t.Context(), Path(file), text)
		if err != nil || o.Partial || len(o.Symbols) < 10 {
			t.Fatalf("%s: %v, %+v", Path(file), err, o)
		}
		files[file] = graph.File{Path: Path(file), Outline: o}
	}
	g := graph.New(files, graph.Options{GoMods: map[string]string{"go.mod": "module " + goModule + "\n"}})
	referenced := make(map[[2]string]bool)
	for _, e := range g.Edges() {
		referenced[[2]string{e.From, e.To}] = true
	}
	for file := range n {
		for _, to := range references(file) {
			if !referenced[[2]string{Path(file), Path(to)}] {
				t.Errorf("%s does not reference %s", Path(file), Path(to))
			}
		}
	}
}
