package filecontext

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// workspace creates a folder with the given files, by relative path.
func workspace(t testing.TB, files map[string]string) string {
	t.Helper()
	folder := resolved(t, t.TempDir())
	for name, text := range files {
		write(t, filepath.Join(folder, name), text)
	}
	return folder
}

func resolved(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openRoots(t testing.TB, cwd string, more ...string) *Roots {
	t.Helper()
	r, err := NewRoots(context.Background(), cwd, more, Limits{})
	must(t, err)
	return r
}

// read locates and reads a path.
func read(t testing.TB, r *Roots, path string) (Content, error) {
	t.Helper()
	ref, err := r.Locate(path)
	if err != nil {
		return Content{}, err
	}
	return r.Read(t.Context(), ref)
}

// load locates and reads a path that must be readable.
func load(t testing.TB, r *Roots, path string) Content {
	t.Helper()
	content, err := read(t, r, path)
	must(t, err)
	return content
}

// text returns the content of a buffer or file that exists only in a test.
func text(path, body string) Content { return newContent(path, body, []byte(body)) }

// put adds content that must be accepted.
func put(t testing.TB, f *FileContext, c Content, opt AddOptions) Entry {
	t.Helper()
	e, err := f.Put(c, opt)
	must(t, err)
	return e
}

// wantReason checks that err is a *RefusedError with this reason, or nil if the reason is empty.
func wantReason(t testing.TB, subject string, err error, want Reason) {
	t.Helper()
	var got Reason
	if err != nil {
		got = ReasonOf(err)
	}
	if got != want {
		t.Errorf("%s: refused for %q (%v), want %q", subject, got, err, want)
	}
}
