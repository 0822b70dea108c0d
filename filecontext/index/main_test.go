package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/filecontext/outline"
	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// forever is a limit that no test reaches.
const forever = 24 * time.Hour

// fakeParser makes a symbol of each line "KIND NAME", an import of "import PATH" and a use of "use NAME". It ignores others.
type fakeParser struct {
	parses atomic.Int64
	fail   func(name string) error
}

func (p *fakeParser) Parse(ctx context.Context, name, text string) (*outline.Outline, error) {
	p.parses.Add(1)
	if p.fail != nil {
		if err := p.fail(name); err != nil {
			return nil, err
		}
	}
	o := &outline.Outline{Language: outline.LanguageOf(name)}
	for n, line := range strings.Split(text, "\n") {
		kind, name, ok := strings.Cut(line, " ")
		switch {
		case !ok:
		case kind == "import":
			o.Imports = append(o.Imports, outline.Import{Path: name, Line: n + 1})
		case kind == "use":
			o.Uses = append(o.Uses, name)
		default:
			o.Symbols = append(o.Symbols, outline.Symbol{Kind: kind, Name: name, Signature: line, Line: n + 1, EndLine: n + 1})
		}
	}
	return o, ctx.Err()
}

// memStore is a Store in memory.
type memStore struct {
	mu       sync.Mutex
	outlines map[string][]byte
	listings map[string][]byte
	err      error
}

func newMemStore() *memStore {
	return &memStore{outlines: make(map[string][]byte), listings: make(map[string][]byte)}
}

func (s *memStore) Outlines(_ context.Context, keys []string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string][]byte)
	for _, key := range keys {
		if data, ok := s.outlines[key]; ok {
			found[key] = data
		}
	}
	return found, s.err
}

func (s *memStore) PutOutlines(_ context.Context, outlines map[string][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, data := range outlines {
		s.outlines[key] = data
	}
	return s.err
}

func (s *memStore) Listing(_ context.Context, folder string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listings[folder], s.err
}

func (s *memStore) PutListing(_ context.Context, folder string, listing []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listings[folder] = listing
	return s.err
}

// workspace creates a folder with the given files, by relative path.
func workspace(t testing.TB, files map[string]string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, text := range files {
		write(t, folder, name, text)
	}
	return folder
}

// write writes a file.
func write(t testing.TB, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// acquire returns the index of a folder when its first sweep has ended.
func acquire(t testing.TB, r *Registry, folder string) *Handle {
	t.Helper()
	h, err := r.Acquire(t.Context(), folder, nil)
	must(t, err)
	t.Cleanup(h.Release)
	_, err = h.Wait(t.Context())
	must(t, err)
	return h
}

func registry(t testing.TB, opt Options) *Registry {
	t.Helper()
	if opt.Parser == nil {
		opt.Parser = &fakeParser{}
	}
	if opt.RefreshWait == 0 {
		opt.RefreshWait = forever
	}
	r := NewRegistry(opt)
	t.Cleanup(r.Close)
	return r
}

func refresh(t testing.TB, h *Handle) Status {
	t.Helper()
	status, err := h.Refresh(t.Context())
	must(t, err)
	return status
}

// states returns "path state reason" of all files, one a line.
func states(h *Handle) string {
	var out strings.Builder
	for _, f := range h.Files() {
		fmt.Fprintf(&out, "%s %s %s\n", f.Path, f.State, f.Reason)
	}
	return strings.ReplaceAll(out.String(), " \n", "\n")
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot  %v\nwant %v", what, got, want)
	}
}
