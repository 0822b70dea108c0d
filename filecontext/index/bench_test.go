package index

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"strata/filecontext/outline"
	"strata/historystore"
	"strata/internal/sourcetree"
)

func benchStore(b *testing.B) *historystore.Store {
	store, err := historystore.Open(b.Context(), filepath.Join(b.TempDir(), "strata.db"), historystore.Options{})
	must(b, err)
	b.Cleanup(func() { store.Close() })
	return store
}

// BenchmarkIndex reports the times of a first index of 5,000 files, a second start, a sweep that finds nothing and one
// that finds a changed file, two searches, a tree, the graph and the files near one, and the memory of the index.
func BenchmarkIndex(b *testing.B) {
	folder := workspace(b, nil)
	size, err := sourcetree.Write(folder, 5000)
	must(b, err)
	store := benchStore(b)
	parser := outline.New(outline.Options{CacheDir: b.TempDir()})
	b.Cleanup(parser.Close)
	r := registry(b, Options{Parser: parser, Store: store.OutlineStore()})
	for b.Loop() {
		heap := heapBytes()
		begun := time.Now()
		h, err := r.Acquire(b.Context(), folder, nil)
		must(b, err)
		status, err := h.Wait(b.Context())
		must(b, err)
		lap := func(what string) { b.ReportMetric(time.Since(begun).Seconds()*1000, what); begun = time.Now() }
		lap("first-ms")
		if status.Outlined != 5000 {
			b.Fatalf("%+v", status)
		}
		b.ReportMetric(float64(size)/1e6, "source-MB")
		b.ReportMetric(float64(status.Bytes)/1e6, "outlines-MB")
		parser.Release()
		b.ReportMetric(float64(heapBytes()-heap)/1e6, "heap-MB")
		h.Release()

		begun = time.Now()
		h, err = r.Acquire(b.Context(), folder, nil)
		must(b, err)
		status, err = h.Wait(b.Context())
		must(b, err)
		lap("second-ms")
		if status.Parsed != 0 || status.Outlined != 5000 {
			b.Fatalf("%+v", status)
		}
		refresh(b, h)
		lap("sweep-ms")
		name := h.Files()[0].Path
		must(b, os.WriteFile(filepath.Join(folder, name), []byte("changed"), 0o600))
		begun = time.Now()
		refresh(b, h)
		lap("changed-ms")
		for _, query := range []string{"Handle4200", "where is the total of the cart?"} {
			if _, err := h.Search(b.Context(), query, 50); err != nil {
				b.Fatal(err)
			}
		}
		lap("two-searches-ms")
		h.Tree(5000, words)
		lap("tree-ms")
		g := h.Graph()
		lap("graph-ms")
		g.Near([]string{h.Files()[0].Path}, 5000)
		lap("near-ms")
		h.Release()
	}
}

func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
