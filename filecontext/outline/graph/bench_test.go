package graph

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"strata/filecontext/outline"
)

// synthetic returns files of several languages with 20 definitions, 10 imports and 122 uses each.
func synthetic(n int) []File {
	random := rand.New(rand.NewPCG(1, 2))
	files := make([]File, n)
	languages := []struct{ language, ending string }{{"go", ".go"}, {"typescript", ".ts"}, {"python", ".py"}, {"java", ".java"}, {"c", ".c"}, {"rust", ".rs"}}
	path := func(i int) string { return fmt.Sprintf("part%d/pkg%d/file%d", i%6, i/60, i) }
	for i := range files {
		l := languages[i%6]
		o := &outline.Outline{Language: l.language}
		o.Symbols = append(o.Symbols, outline.Symbol{Kind: "package", Name: fmt.Sprintf("org.pkg%d", i/60), Line: 1, EndLine: 1})
		for j := range 20 {
			o.Symbols = append(o.Symbols, outline.Symbol{Kind: "func", Name: fmt.Sprintf("Name%d", i*17+j), Line: j + 2, EndLine: j + 2})
		}
		for range 10 {
			k := (i + 6*random.IntN(600)) % n
			import_ := map[string]string{
				"go": "example.org/" + fmt.Sprintf("part%d/pkg%d", k%6, k/60), "typescript": fmt.Sprintf("../pkg%d/file%d", k/60, k),
				"python": fmt.Sprintf("part2.pkg%d.file%d", k/60, k), "java": fmt.Sprintf("org.pkg%d.Name%d", k/60, k*17),
				"c": fmt.Sprintf("pkg%d/file%d.c", k/60, k), "rust": fmt.Sprintf("super::super::pkg%d::file%d::Name", k/60, k),
			}[l.language]
			o.Imports = append(o.Imports, outline.Import{Path: import_, Line: 1})
		}
		for range 60 {
			o.Uses = append(o.Uses, fmt.Sprintf("Name%d", (i+6*random.IntN(600))%n*17+random.IntN(20)), fmt.Sprintf("local%d", random.IntN(5000)))
		}
		for _, k := range []int{i + 6, i - 6} {
			if 0 <= k && k < n {
				o.Uses = append(o.Uses, fmt.Sprintf("Name%d", k*17+10))
			}
		}
		files[i] = File{path(i) + l.ending, o}
	}
	return files
}

// BenchmarkNew reports the time and the memory of a graph of 20,000 files.
func BenchmarkNew(b *testing.B) {
	files := synthetic(20_000)
	o := Options{map[string]string{"go.mod": "module example.org"}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	var g *Graph
	for b.Loop() {
		g = New(files, o)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6, "MB-kept")
	runtime.KeepAlive(files)
	edges := g.Edges()
	b.ReportMetric(float64(len(edges)), "edges")
	b.ReportMetric(float64(len(g.Clusters())), "clusters")
}

func BenchmarkNear(b *testing.B) {
	g := New(synthetic(20_000), Options{})
	for b.Loop() {
		g.Near([]string{g.paths[0], g.paths[10_000]}, 20_000)
	}
}
