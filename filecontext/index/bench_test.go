package index

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/filecontext/outline"
	"strata/historystore"
)

// shapes are functions in six languages; %[1]d is a number.
var shapes = map[string]string{
	"go":   "// Handle%[1]d handles one.\nfunc (s *Server) Handle%[1]d(in Request) (Response, error) {\n\tif in.Size > %[1]d {\n\t\treturn Response{}, errTooLarge\n\t}\n\treturn s.next.Handle(in)\n}\n\n",
	"py":   "class Order%[1]d(Base):\n    def total_%[1]d(self, items: list[int]) -> int:\n        return sum(i.price for i in items) + %[1]d\n\n",
	"ts":   "export class Cart%[1]d {\n  constructor(private readonly items: Item[]) {}\n  total%[1]d(): number { return this.items.reduce((a, i) => a + i.price, %[1]d); }\n}\n\n",
	"java": "class Service%[1]d {\n  private final Repo repo;\n  public int count%[1]d(String name) { return repo.find(name).size() + %[1]d; }\n}\n\n",
	"rs":   "pub struct Node%[1]d { value: u32 }\nimpl Node%[1]d {\n    pub fn value%[1]d(&self) -> u32 { self.value + %[1]d }\n}\n\n",
	"c":    "struct point%[1]d { int x; int y; };\nint distance%[1]d(struct point%[1]d *a) { return a->x + a->y + %[1]d; }\n\n",
}

// generated creates a workspace of n files in six languages, 4 to 5 KB each.
func generated(b *testing.B, n int) (folder string, size int) {
	folder = workspace(b, nil)
	endings := slices.Sorted(maps.Keys(shapes))
	for file := range n {
		ending := endings[file%len(endings)]
		var text strings.Builder
		if ending == "go" {
			text.WriteString("package one\n\n")
		}
		for at := 0; text.Len() < 4000; at++ {
			fmt.Fprintf(&text, shapes[ending], file*100+at)
		}
		size += text.Len()
		write(b, folder, fmt.Sprintf("part%d/module%d/file%d.%s", file%20, file%200, file, ending), text.String())
	}
	time.Sleep(2100 * time.Millisecond) // until the files are old enough for their attributes to identify them
	return folder, size
}

func benchStore(b *testing.B) *historystore.Store {
	store, err := historystore.Open(b.Context(), filepath.Join(b.TempDir(), "strata.db"), historystore.Options{})
	must(b, err)
	b.Cleanup(func() { store.Close() })
	return store
}

// BenchmarkIndex reports the times of a first index of 5,000 files, a second start, a sweep that finds nothing and one
// that finds a changed file, two searches, a tree, the graph and the files near one, and the memory of the index.
func BenchmarkIndex(b *testing.B) {
	folder, size := generated(b, 5000)
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
