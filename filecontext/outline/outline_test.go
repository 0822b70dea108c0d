package outline

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/leak"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { leak.Main(cached{m}) }

// cached runs tests with a folder for compiled code, so that only the first parser compiles.
type cached struct{ *testing.M }

var cacheDir string

func (c cached) Run() int {
	var err error
	if cacheDir, err = os.MkdirTemp("", "outline"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(cacheDir)
	return c.M.Run()
}

func newParser(t testing.TB, o Options) *Parser {
	if o.CacheDir == "" {
		o.CacheDir = cacheDir
	}
	p := New(o)
	t.Cleanup(p.Close)
	return p
}

// sources returns the paths of the source files in testdata.
func sources(t testing.TB) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "fuzz" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() && LanguageOf(named(path)) != "" {
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// named returns the name that a file in testdata stands for: Go files have a suffix that hides them from gofmt.
func named(path string) string { return strings.TrimSuffix(path, ".src") }

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestOutlinesOfTestdata(t *testing.T) {
	p := newParser(t, Options{Timeout: patient})
	count := make(map[string]int)
	for _, path := range sources(t) {
		count[LanguageOf(named(path))]++
		o, err := p.Parse(t.Context(), named(path), read(t, path))
		if err != nil {
			t.Error(err)
			continue
		}
		golden := path + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(render(o)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := render(o), read(t, golden); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
		}
	}
	for _, language := range languages {
		if count[language] < 2 {
			t.Errorf("%d files in %s, want 2", count[language], language)
		}
	}
}

// render writes an outline as the golden files have it.
func render(o *Outline) string {
	var s strings.Builder
	fmt.Fprintf(&s, "language %s", o.Language)
	if o.Partial {
		s.WriteString(", partial")
	}
	s.WriteString("\n\n")
	for _, i := range o.Imports {
		fmt.Fprintf(&s, "%4d import %s", i.Line, i.Path)
		if len(i.Names) > 0 {
			fmt.Fprintf(&s, " names %s", strings.Join(i.Names, ", "))
		}
		s.WriteByte('\n')
	}
	s.WriteByte('\n')
	for _, y := range o.Symbols {
		fmt.Fprintf(&s, "%4d-%-4d %s%s %s: %s\n", y.Line, y.EndLine, strings.Repeat("    ", y.Depth), y.Kind, y.Name, y.Signature)
	}
	fmt.Fprintf(&s, "\nuses %s\n", strings.Join(o.Uses, " "))
	return s.String()
}
