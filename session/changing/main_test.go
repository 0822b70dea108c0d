package changing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/internal/leak"
	"strata/session/tools"
)

func TestMain(m *testing.M) { leak.Main(m) }

type members = map[string]any

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

// hasAll checks that a text contains all parts.
func hasAll(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func lines(start, end int) history.Lines { return history.Lines{Start: start, End: end} }

func numbered(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// sha returns the SHA-256 of a text in hex.
func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
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

// workspaceOf returns the workspace of a folder on disk, with a guard that refuses secrets.
func workspaceOf(t testing.TB, folder string) tools.Workspace {
	t.Helper()
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Secrets: []string{".env"}})
	must(t, err)
	roots, err := filecontext.NewRoots(t.Context(), folder, nil, filecontext.Limits{Guard: guard})
	must(t, err)
	return tools.Workspace{Roots: roots, Reader: tools.Disk{Roots: roots}}
}

// call runs a tool that reads and returns its result.
func call(t testing.TB, w tools.Workspace, name string, input any) tools.Result {
	t.Helper()
	set, err := tools.NewSet(tools.Reading(w)...)
	must(t, err)
	args, err := json.Marshal(input)
	must(t, err)
	c, err := set.Check(name, string(args))
	must(t, err)
	r, err := c.Run(t.Context(), tools.MaxResult, nil)
	must(t, err)
	return r
}

// shownText returns the texts of a result.
func shownText(r tools.Result) string {
	var all strings.Builder
	for _, b := range r.Content {
		all.WriteString(b.Text)
	}
	return all.String()
}

func shownLines(r tools.Result) []history.FileLines {
	return history.ShownLines([]history.Message{{Blocks: []history.Block{{Type: history.BlockToolResult, Content: r.Content}}}})
}
