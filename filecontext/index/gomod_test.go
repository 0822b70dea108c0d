package index

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/filecontext"
)

func TestGoModulesResolveImports(t *testing.T) {
	folder := workspace(t, map[string]string{
		"go.mod": "module example.org/a\n", "x/x.go": "import example.org/a/p\nimport example.org/tool/q", "p/p.go": "func p",
		"tool/q/q.go": "func q", "tool/go.mod": "module example.org/tool",
	})
	h := acquire(t, registry(t, Options{}), folder)
	equal(t, "references", edges(h.Graph()), "x/x.go -> p/p.go 3\nx/x.go -> tool/q/q.go 3\n")
	for _, step := range []struct{ name, text, want string }{
		{"tool/go.mod", "module example.org/other", "x/x.go -> p/p.go 3\n"},
		{"go.mod", "module b\n", ""},
		{"go.mod", "module example.org/a // again", "x/x.go -> p/p.go 3\n"},
		{"go.mod", "module example.org/a // again" + strings.Repeat(" ", maxGoModBytes), ""},
		{"go.mod", "module example.org/a", "x/x.go -> p/p.go 3\n"},
		{"go.mod", "module example.org/a\x00", ""},
	} {
		version := h.Version()
		write(t, folder, step.name, step.text)
		refresh(t, h)
		equal(t, "references with "+step.text[:min(len(step.text), 30)], edges(h.Graph()), step.want)
		equal(t, "the version is another one", h.Version() != version, true)
		version = h.Version()
		refresh(t, h)
		equal(t, "version after a further sweep", h.Version(), version)
	}
	write(t, folder, "go.mod", "module example.org/a")
	refresh(t, h)
	must(t, os.Remove(filepath.Join(folder, "go.mod")))
	refresh(t, h)
	equal(t, "references without a module", edges(h.Graph()), "")
}

// Of too many go.mod files those in few folders count. The guard holds for them as for other files.
func TestGoModFilesAreBounded(t *testing.T) {
	files := map[string]string{"go.mod": "module root", ".ssh/go.mod": "module secret", "a/large/go.mod": strings.Repeat(" ", maxGoModBytes+1)}
	for n := range maxGoMods {
		files[fmt.Sprintf("a/b%02d/go.mod", n)] = "module x"
	}
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Secrets: []string{filecontext.BuiltinSecrets}})
	must(t, err)
	h := acquire(t, registry(t, Options{Limits: filecontext.Limits{Guard: guard}}), workspace(t, files))
	var got []string
	for name := range h.now().goMods {
		got = append(got, name)
	}
	slices.Sort(got)
	if len(got) != maxGoMods-1 || got[0] != "a/b00/go.mod" || got[maxGoMods-3] != "a/b61/go.mod" || got[maxGoMods-2] != "go.mod" {
		t.Errorf("%d files: %v", len(got), got)
	}
}

// A go.mod file is read again only if its attributes have changed.
func TestGoModFilesAreReadOnce(t *testing.T) {
	folder := workspace(t, map[string]string{"go.mod": "module a"})
	roots, err := filecontext.NewRoots(t.Context(), folder, nil, filecontext.Limits{})
	must(t, err)
	s := &sweeper{roots: roots, opt: Options{}.withDefaults()}
	survey := func() *filecontext.Survey {
		found, err := roots.Survey(t.Context(), filecontext.SurveyLimits{Files: 9, Visits: 9})
		must(t, err)
		return found
	}
	found := survey()
	for !found.Files[0].Stamp.Current(found.Files[0].Stamp) { // until it is old enough to be identified by its attributes
		time.Sleep(50 * time.Millisecond)
		found = survey()
	}
	s.readGoMods(t.Context(), found)
	equal(t, "text", s.goModTexts()["go.mod"], "module a")
	s.goMods["go.mod"] = goMod{s.goMods["go.mod"].stamp, "module remembered"}
	s.readGoMods(t.Context(), survey())
	equal(t, "text after a further sweep", s.goModTexts()["go.mod"], "module remembered")
	write(t, folder, "go.mod", "module b")
	s.readGoMods(t.Context(), survey())
	equal(t, "text after a change", s.goModTexts()["go.mod"], "module b")
}
