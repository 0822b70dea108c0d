package outline

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func FuzzC(f *testing.F)          { fuzz(f, "c") }
func FuzzCPP(f *testing.F)        { fuzz(f, "cpp") }
func FuzzCSharp(f *testing.F)     { fuzz(f, "csharp") }
func FuzzGo(f *testing.F)         { fuzz(f, "go") }
func FuzzJava(f *testing.F)       { fuzz(f, "java") }
func FuzzJavaScript(f *testing.F) { fuzz(f, "javascript") }
func FuzzMarkdown(f *testing.F)   { fuzz(f, "markdown") }
func FuzzPHP(f *testing.F)        { fuzz(f, "php") }
func FuzzPython(f *testing.F)     { fuzz(f, "python") }
func FuzzRuby(f *testing.F)       { fuzz(f, "ruby") }
func FuzzRust(f *testing.F)       { fuzz(f, "rust") }
func FuzzTSX(f *testing.F)        { fuzz(f, "tsx") }
func FuzzTypeScript(f *testing.F) { fuzz(f, "typescript") }

// fuzz parses texts of a language twice: any text has a well-formed outline, always the same.
func fuzz(f *testing.F, language string) {
	name := examples()[language]
	for _, path := range sources(f) {
		if LanguageOf(named(path)) == language {
			f.Add(read(f, path))
		}
	}
	texts := hostile(200)
	for _, kind := range slices.Sorted(maps.Keys(texts)) {
		f.Add(texts[kind])
	}
	p := newParser(f, Options{Timeout: 5 * time.Minute, Parallel: 1})
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			t.Skip("too long to tell slow from hanging")
		}
		first, err := p.Parse(t.Context(), name, text)
		if err != nil {
			t.Fatal(err)
		}
		if err := wellFormed(first, text); err != nil {
			t.Error(err)
		}
		second, err := p.Parse(t.Context(), name, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("second outline (-first +second):\n%s", diff)
		}
	})
}
