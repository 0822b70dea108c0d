package index

import (
	"fmt"
	"strings"
	"testing"

	"strata/tokens"
)

// words counts the words and indents of a text, a simple stand-in for tokens.
func words(text string) int { return len(strings.Fields(text)) + strings.Count(text, "  ") }

func TestP04StructureIsBounded(t *testing.T) {
	folder := workspace(t, map[string]string{
		"a-b/x.go": "", "a/x.go": "", "a/deep/y.go": "", "a/deep/z.go": "", "a/deep/deeper/q.go": "", "a.go": "", "b/one.go": "", "zz.md": "",
	})
	h := acquire(t, registry(t, Options{}), folder)
	for _, test := range []struct {
		bound int
		want  string
	}{
		{100, `a/
  deep/
    deeper/
      q.go
    y.go
    z.go
  x.go
a-b/
  x.go
a.go
b/
  one.go
zz.md
`},
		{16, `a/
  deep/ (3 files)
  x.go
a-b/
  x.go
a.go
b/
  one.go
zz.md
`},
		{11, `a/ (4 files)
a-b/
  x.go
a.go
b/
  one.go
zz.md
`},
		{9, "a/ (4 files)\n… (4 more here, 4 files)\n"},
		{0, "… (5 more here, 8 files)\n"},
	} {
		equal(t, fmt.Sprint(test.bound, " tokens"), h.Tree(test.bound, words), test.want)
	}
}

// The structure is renewed when files come or go, and only then; equal files give equal bytes.
func TestP04StructureIsRenewed(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "func a", "in/b.go": ""})
	h := acquire(t, registry(t, Options{}), folder)
	first := h.Tree(100, words)
	write(t, folder, "a.go", "func changed")
	refresh(t, h)
	equal(t, "after a change", h.Tree(100, words), first)
	write(t, folder, "in/c.go", "")
	refresh(t, h)
	equal(t, "after a file came", h.Tree(100, words), "a.go\nin/\n  b.go\n  c.go\n")
	other := acquire(t, registry(t, Options{}), workspace(t, map[string]string{"in/c.go": "x", "in/b.go": "", "a.go": ""}))
	equal(t, "of another folder", other.Tree(100, words), h.Tree(100, words))
	none := acquire(t, registry(t, Options{}), workspace(t, nil))
	equal(t, "of no files", none.Tree(100, words), "")
}

// The bound holds for real tokens, and more room shows no less.
func TestTreeKeepsItsBound(t *testing.T) {
	counter, err := tokens.New("o200k_base")
	must(t, err)
	files := make(map[string]string)
	for n := range 600 {
		files[fmt.Sprintf("some%d/nested-folder_%d/FileNumber%dÜ.go", n%7, n%41, n)] = ""
	}
	h := acquire(t, registry(t, Options{Files: 500}), workspace(t, files))
	last := 0
	for bound := 30; bound < 12_000; bound = bound*4/3 + 1 {
		text := h.Tree(bound, counter.Count)
		used := counter.Count(text)
		if used > bound {
			t.Errorf("%d tokens, at most %d", used, bound)
		}
		if used < last {
			t.Errorf("%d tokens of %d, %d with less room", used, bound, last)
		}
		last = used
		if !strings.HasSuffix(text, "(there are more files than the index holds)\n") {
			t.Errorf("%q does not say that files are missing", text[max(0, len(text)-100):])
		}
	}
	equal(t, "files in the last", strings.Count(h.Tree(12_000, counter.Count), ".go\n"), 500)
}
