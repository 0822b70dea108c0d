package shell

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/internal/leak"
	"strata/internal/process"
	"strata/session/clients"
	"strata/session/tools"
)

func TestMain(m *testing.M) {
	process.Supervise()
	leak.Main(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// workshop is a folder in which commands run.
type workshop struct {
	Services
	t      *testing.T
	folder string // without links
}

// open returns a workshop without an editor, in which the roots are its folder and more.
func open(t *testing.T, more ...string) *workshop {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return in(t, folder, filecontext.Limits{}, more...)
}

func in(t *testing.T, folder string, limits filecontext.Limits, more ...string) *workshop {
	t.Helper()
	roots, err := filecontext.NewRoots(t.Context(), folder, more, limits)
	must(t, err)
	w := &workshop{t: t, folder: folder}
	w.Services = Services{
		Roots: roots, Runner: Any, Environment: func() []string { return nil },
		Editor: func() (clients.Client, uint64) { return nil, 0 },
	}
	return w
}

// args returns an input.
func args(t testing.TB, in map[string]any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(in)
	must(t, err)
	return raw
}

// call returns the call of a command, checked.
func (w *workshop) call(in map[string]any) *tools.Call {
	w.t.Helper()
	c, err := w.checked(in)
	must(w.t, err)
	return c
}

func (w *workshop) checked(in map[string]any) (*tools.Call, error) {
	w.t.Helper()
	set, err := tools.NewSet(Tool(w.Services))
	must(w.t, err)
	return set.Check(Name, string(args(w.t, in)))
}

// run runs a command, and returns its result.
func (w *workshop) run(in map[string]any) tools.Result {
	w.t.Helper()
	r, err := w.call(in).Run(w.t.Context(), tools.MaxResult, func(tools.Output) {})
	must(w.t, err)
	return r
}

// line runs a line, and returns the text of its result.
func (w *workshop) line(line string) string {
	w.t.Helper()
	return textOf(w.t, w.run(map[string]any{"command": line}))
}

func textOf(t testing.TB, r tools.Result) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d blocks", len(r.Content))
	}
	return r.Content[0].Text
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, short(got), short(want))
	}
}

func short(text string) string {
	if len(text) > 2000 {
		text = text[:1000] + "..." + text[len(text)-1000:]
	}
	return text
}

func hasAll(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", short(text), part)
		}
	}
}

func (w *workshop) mkdir(name string) string {
	w.t.Helper()
	path := filepath.Join(w.folder, name)
	must(w.t, os.MkdirAll(path, 0o700))
	return path
}

func (w *workshop) file(name string) string {
	data, err := os.ReadFile(filepath.Join(w.folder, name))
	if err != nil {
		return "none"
	}
	return string(data)
}
