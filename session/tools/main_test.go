package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func lines(start, end int) history.Lines { return history.Lines{Start: start, End: end} }

// hasAll checks that a text contains all parts.
func hasAll(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func hasNone(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in:\n%s", part, text)
		}
	}
}

// folderOf creates a folder with files, by relative path.
func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, text := range files {
		write(t, filepath.Join(folder, name), text)
	}
	return folder
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func rootsOf(t testing.TB, limits filecontext.Limits, folder string, more ...string) *filecontext.Roots {
	t.Helper()
	roots, err := filecontext.NewRoots(t.Context(), folder, more, limits)
	must(t, err)
	return roots
}

// guarded returns limits with a guard that refuses secrets and a folder of the program.
func guarded(t testing.TB, own ...string) filecontext.Limits {
	t.Helper()
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Own: own, Secrets: []string{".env", "*.pem"}})
	must(t, err)
	return filecontext.Limits{Guard: guard}
}

// workspaceOf returns the workspace of a folder on disk.
func workspaceOf(t testing.TB, folder string, more ...string) Workspace {
	t.Helper()
	roots := rootsOf(t, guarded(t), folder, more...)
	return Workspace{Roots: roots, Reader: Disk{roots}}
}

// call runs a tool of the workspace and returns its result, which may be an error.
func call(t testing.TB, w Workspace, name string, input any) Result {
	t.Helper()
	set, err := NewSet(Reading(w)...)
	must(t, err)
	args, err := json.Marshal(input)
	must(t, err)
	c, err := set.Check(name, string(args))
	must(t, err)
	if c.Describe().Title == "" {
		t.Errorf("%s %s has no title", name, args)
	}
	r, err := c.Run(t.Context(), MaxResult, nil)
	must(t, err)
	if r.Size() > MaxResult {
		t.Errorf("%s %s: the result has %d bytes", name, args, r.Size())
	}
	return r
}

// shownText returns the texts of a result.
func shownText(r Result) string {
	var all strings.Builder
	for _, b := range r.Content {
		all.WriteString(b.Text)
	}
	return all.String()
}

// said calls a tool that succeeds and returns its text.
func said(t testing.TB, w Workspace, name string, input any) string {
	t.Helper()
	r := call(t, w, name, input)
	if r.IsError {
		t.Errorf("%s %v failed: %s", name, input, shownText(r))
	}
	return shownText(r)
}

// complained calls a tool that fails and returns its text.
func complained(t testing.TB, w Workspace, name string, input any) string {
	t.Helper()
	r := call(t, w, name, input)
	if !r.IsError {
		t.Errorf("%s %v did not fail: %s", name, input, shownText(r))
	}
	return shownText(r)
}

type members = map[string]any

// sha returns the SHA-256 of a text in hex.
func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
