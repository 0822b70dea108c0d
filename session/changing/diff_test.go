package changing

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/history"
)

func content(text string) *filecontext.Content {
	return &filecontext.Content{Path: "a", Text: text, Lines: len(linesOf(text))}
}

func randomLines(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(30) {
		b.WriteString([]string{"a\n", "b\n", "c\n", "\n", "d\n"}[r.IntN(5)])
	}
	if r.IntN(3) == 0 {
		b.WriteString("end")
	}
	return b.String()
}

// patched returns a text with the hunks of a unified diff replaced.
func patched(t *testing.T, d history.Diff, before string) string {
	t.Helper()
	lines, at := linesOf(before), 0
	var b strings.Builder
	for _, h := range d.Hunks {
		b.WriteString(strings.Join(lines[at:h.OldStart-1], ""))
		old := linesOf(h.Old)
		if !slices.Equal(lines[h.OldStart-1:h.OldStart-1+len(old)], old) {
			t.Fatalf("%q is not at line %d of %q", h.Old, h.OldStart, before)
		}
		if n := strings.Count(b.String(), "\n"); n != h.NewStart-1 {
			t.Fatalf("a hunk at line %d begins at %d in %+v", n+1, h.NewStart, d)
		}
		b.WriteString(h.New)
		at = h.OldStart - 1 + len(old)
	}
	return b.String() + strings.Join(lines[at:], "")
}

func TestDiffsAreThoseOfTheTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		before, after := randomLines(r), randomLines(r)
		d := diffOf("a", content(before), content(after))
		if got := patched(t, d.shown(history.MaxDiff), before); got != after {
			t.Fatalf("%q became %q, want %q", before, got, after)
		}
		old, text := linesOf(before), linesOf(after)
		c := history.Derivation{Hunks: d.lineHunks()}
		for i := range old {
			for _, one := range c.Carried([]history.Lines{lines(i+1, i+1)}) {
				if text[one.Start-1] != old[i] {
					t.Fatalf("%q, %q: line %d is carried to %d", before, after, i+1, one.Start)
				}
			}
		}
		carried := c.Carried([]history.Lines{lines(1, len(old))})
		known := history.MergedLines(append(carried, d.newLines()...))
		if len(text) > 0 && !slices.Equal(known, []history.Lines{lines(1, len(text))}) {
			t.Fatalf("%q, %q: carried and shown are %v", before, after, known)
		}
	}
}

func TestHunksThatAreNearAreOne(t *testing.T) {
	d := diffOf("a", content(numbered(1, 30)), content(strings.NewReplacer("line 5\n", "5\n", "line 12\n", "12\n", "line 20\n", "20\n").Replace(numbered(1, 30))))
	equal(t, "unified", d.unified(), "@@ -2,14 +2,14 @@\n line 2\n line 3\n line 4\n-line 5\n+5\n line 6\n line 7\n line 8\n line 9\n line 10\n line 11\n-line 12\n+12\n"+
		" line 13\n line 14\n line 15\n@@ -17,7 +17,7 @@\n line 17\n line 18\n line 19\n-line 20\n+20\n line 21\n line 22\n line 23\n")
	equal(t, "new lines", d.newLines(), []history.Lines{lines(2, 15), lines(17, 23)})
	end := diffOf("a", content("a\nb"), content("a\nb\n"))
	equal(t, "line end", end.unified(), "@@ -1,2 +1,2 @@\n a\n-b\n\\ no line end at the end of the file\n+b\n")
}

func TestManyHunksAreRememberedAsOne(t *testing.T) {
	hunks := make([]history.LineHunk, maxHunks+1)
	for i := range hunks {
		hunks[i] = history.LineHunk{OldStart: 10 * (i + 1), OldLines: 1, NewStart: 11*i + 10, NewLines: 2}
	}
	equal(t, "all", merged(hunks[1:]), hunks[1:])
	equal(t, "one", merged(hunks), []history.LineHunk{{OldStart: 10, OldLines: 10*maxHunks + 1, NewStart: 10, NewLines: 11*maxHunks + 2}})
	many := diffOf("a", content(strings.Repeat("a\n1\n2\n3\n4\n5\n6\n7\n", 1500)), content(strings.Repeat("b\n1\n2\n3\n4\n5\n6\n7\n", 1500)))
	if shown := many.shown(1 << 30); len(shown.Hunks) != maxHunks || !shown.Cut {
		t.Errorf("%d hunks, cut: %v", len(shown.Hunks), shown.Cut)
	}
}
