package outline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// loads counts how often a parser loads its module.
func loads(p *Parser) *int {
	count, load := new(int), p.load
	p.load = func(dir string) (*module, error) {
		*count++
		return load(dir)
	}
	return count
}

func TestParsersAreLoadedWhenNeeded(t *testing.T) {
	p := newParser(t, Options{Timeout: patient})
	loaded := loads(p)
	parse := func(name string, want int) {
		t.Helper()
		if _, err := p.Parse(t.Context(), name, "x"); err != nil {
			t.Error(err)
		}
		if *loaded != want {
			t.Errorf("%s: loaded %d times, want %d", name, *loaded, want)
		}
	}
	parse("x.go", 0)
	parse("x.md", 0)
	parse("x.py", 1)
	parse("x.rb", 1)
	if !p.Release() || p.module != nil {
		t.Error("idle parsers are not released")
	}
	if !p.Release() {
		t.Error("nothing to release is no success")
	}
	parse("x.md", 1)
	parse("x.py", 2)
}

func TestReleaseDuringAParse(t *testing.T) {
	p := newParser(t, Options{Timeout: patient, Parallel: 3})
	if _, err := p.Parse(t.Context(), "x.py", ""); err != nil {
		t.Fatal(err)
	}
	p.slots <- struct{}{} // as a running parse
	if p.Release() || p.module == nil {
		t.Error("parsers in use were released")
	}
	if len(p.slots) != 1 {
		t.Errorf("Release leaves %d slots taken, want 1", len(p.slots))
	}
	<-p.slots
}

func TestCloseWaitsForParses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Parallel: 2})
		p.slots <- struct{}{} // as a running parse
		closed := make(chan struct{})
		go func() {
			p.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close did not wait")
		default:
		}
		if _, err := p.Parse(t.Context(), "x.go", ""); !errors.Is(err, ErrClosed) {
			t.Errorf("Parse during Close: error %v, want %v", err, ErrClosed)
		}
		<-p.slots
		<-closed
		p.Close()
		if _, err := p.Parse(t.Context(), "x.go", ""); !errors.Is(err, ErrClosed) {
			t.Errorf("Parse after Close: error %v, want %v", err, ErrClosed)
		}
	})
}

func TestUnsupportedSystem(t *testing.T) {
	p := newParser(t, Options{})
	p.load = func(string) (*module, error) { return nil, ErrUnsupported }
	loaded := loads(p)
	for range 2 {
		if _, err := p.Parse(t.Context(), "x.py", ""); !errors.Is(err, ErrUnsupported) {
			t.Errorf("error %v, want %v", err, ErrUnsupported)
		}
	}
	if *loaded != 1 {
		t.Errorf("loaded %d times, want 1", *loaded)
	}
	for _, name := range []string{"x.go", "x.md"} {
		if _, err := p.Parse(t.Context(), name, "package x"); err != nil {
			t.Error(err)
		}
	}
}

func TestFailedLoadIsRepeated(t *testing.T) {
	p := newParser(t, Options{Timeout: patient})
	load, failure := p.load, errors.New("no memory")
	p.load = func(string) (*module, error) { return nil, failure }
	if _, err := p.Parse(t.Context(), "x.py", ""); !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	p.load = load
	if _, err := p.Parse(t.Context(), "x.py", ""); err != nil {
		t.Error(err)
	}
}

// A folder that cannot be used, or whose content is damaged, costs only time.
func TestFolderForCompiledCode(t *testing.T) {
	dir := t.TempDir()
	parse := func(dir string) {
		t.Helper()
		p := newParser(t, Options{Timeout: patient, CacheDir: dir})
		if _, err := p.Parse(t.Context(), "x.py", "def f(): pass"); err != nil {
			t.Error(err)
		}
	}
	files := func() (paths []string) {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	parse(dir)
	compiled := files()
	if len(compiled) == 0 {
		t.Fatal("no compiled code was stored")
	}
	for _, path := range compiled {
		if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parse(dir)
	parse(compiled[0]) // a file
}

func TestConcurrentParses(t *testing.T) {
	const parallel = 3
	p := newParser(t, Options{Timeout: patient, Parallel: parallel})
	paths := sources(t)
	want := make(map[string]string)
	for _, path := range paths {
		o, err := p.Parse(t.Context(), named(path), read(t, path))
		if err != nil {
			t.Fatal(err)
		}
		want[path] = render(o)
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range paths {
				path := paths[(i*7+worker*5)%len(paths)]
				o, err := p.Parse(t.Context(), named(path), read(t, path))
				if err != nil {
					t.Error(err)
				} else if render(o) != want[path] {
					t.Errorf("%s has another outline", path)
				}
				if i%8 == worker {
					p.Release()
				}
			}
		})
	}
	wg.Wait()
	if p.module != nil && len(p.module.idle) > parallel {
		t.Errorf("%d instances for %d concurrent parses", len(p.module.idle), parallel)
	}
}

func TestLargeInstancesAreNotKept(t *testing.T) {
	p := newParser(t, Options{Timeout: patient, Parallel: 1})
	if _, err := p.Parse(t.Context(), "x.py", ""); err != nil {
		t.Fatal(err)
	}
	idle := p.module.idle
	if len(idle) != 1 {
		t.Fatalf("%d idle instances, want 1", len(idle))
	}
	t.Logf("an instance has %d MiB", idle[0].wasm.Memory().Size()>>20)
	if _, ok := idle[0].wasm.Memory().Grow(maxKept >> 16); !ok {
		t.Fatal("memory did not grow")
	}
	if _, err := p.Parse(t.Context(), "x.py", ""); err != nil {
		t.Fatal(err)
	}
	if len(p.module.idle) != 0 {
		t.Error("a large instance is kept")
	}
}

func TestMemoryLimit(t *testing.T) {
	p := newParser(t, Options{Timeout: patient, Parallel: 1})
	if _, err := p.Parse(t.Context(), "x.py", ""); err != nil {
		t.Fatal(err)
	}
	memory := p.module.idle[0].wasm.Memory()
	if _, ok := memory.Grow(memoryPages - memory.Size()>>16); !ok { // nothing is left to grow
		t.Fatal("memory did not grow")
	}
	if _, ok := memory.Grow(1); ok {
		t.Fatal("memory grows above its limit")
	}
	if _, err := p.Parse(t.Context(), "x.py", strings.Repeat("[1]\n", MaxText/4)); !errors.Is(err, ErrMemory) {
		t.Errorf("error %v, want %v", err, ErrMemory)
	}
	if _, err := p.Parse(t.Context(), "x.py", "def f(): pass"); err != nil {
		t.Errorf("after running out of memory: %v", err)
	}
}

func BenchmarkParse(b *testing.B) {
	p := newParser(b, Options{Timeout: patient, Parallel: 1})
	texts := make(map[string]string)
	for _, path := range sources(b) {
		if language := LanguageOf(named(path)); len(texts[language]) == 0 || !hasErrors(b, p, path) {
			texts[language] = read(b, path)
		}
	}
	for language, name := range examples() {
		text := texts[language]
		if language == "php" {
			text += "?>"
		}
		again := text
		if strings.HasPrefix(text, "#!") { // only at the start of a file
			_, again, _ = strings.Cut(text, "\n")
		}
		for len(text) < 100<<10 {
			if text += "\n" + again; language == "php" {
				text += "?>"
			}
		}
		b.Run(language, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := p.Parse(b.Context(), name, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func hasErrors(b *testing.B, p *Parser, path string) bool {
	o, err := p.Parse(b.Context(), named(path), read(b, path))
	if err != nil {
		b.Fatal(err)
	}
	return o.Partial
}

func BenchmarkLoad(b *testing.B) {
	for _, how := range []string{"cold", "warm"} {
		b.Run(how, func(b *testing.B) {
			dir := cacheDir
			for b.Loop() {
				if how == "cold" {
					dir = ""
				}
				m, err := loadModule(dir)
				if err != nil {
					b.Fatal(err)
				}
				m.close()
			}
		})
	}
}
