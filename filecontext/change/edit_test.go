package change

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"strata/filecontext"
)

func textOf(t testing.TB, text string) *Text {
	t.Helper()
	decoded, err := Decode([]byte(text))
	must(t, err)
	return &decoded
}

// refusal returns why edits of a text are not made.
func refusal(t testing.TB, text string, edits ...Edit) string {
	t.Helper()
	_, _, err := textOf(t, text).Edited(edits)
	var refused *EditError
	if !errors.As(err, &refused) {
		t.Fatalf("%+v: %v", edits, err)
	}
	return err.Error()
}

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		edits            []Edit
	}{
		{"one", "a b c", "a x c", []Edit{{OldText: "b", NewText: "x"}}},
		{"removed", "a b c", "a c", []Edit{{OldText: "b "}}},
		{"all", "a a a", "b b b", []Edit{{OldText: "a", NewText: "b", ReplaceAll: true}}},
		{"all of one", "a", "b", []Edit{{OldText: "a", NewText: "b", ReplaceAll: true}}},
		{"the text of the edit before", "a", "c", []Edit{{OldText: "a", NewText: "b"}, {OldText: "b", NewText: "c"}}},
		{"overlapping places are replaced from the start", "aaa", "ba", []Edit{{OldText: "aa", NewText: "b", ReplaceAll: true}}},
		{"with other line ends", "a\r\nb", "x\r\ny", []Edit{{OldText: "a\nb", NewText: "x\ny"}}},
		{"with CRLF in the call", "a\nb", "x\ny", []Edit{{OldText: "a\r\nb", NewText: "x\r\ny"}}},
	} {
		after, _, err := textOf(t, tt.text).Edited(tt.edits)
		must(t, err)
		equal(t, tt.name, string(after.Bytes()), tt.want)
	}
}

func TestEditsThatAreNotMade(t *testing.T) {
	many := make([]Edit, MaxEdits+1)
	for _, tt := range []struct {
		name, text, want string
		edits            []Edit
	}{
		{"none", "a", "1 to 100 edits", nil},
		{"too many", "a", "1 to 100 edits", many},
		{"empty", "a", "edits[0]: old_text is empty; write_file", []Edit{{NewText: "x"}}},
		{"same", "a", "old_text and new_text are the same", []Edit{{OldText: "a\r\n", NewText: "a\n"}}},
		{"twice", "a\nb\na\n", "old_text occurs 2 times, at lines 1, 3;", []Edit{{OldText: "a", NewText: "x"}}},
		{"overlapping", "aaa", "old_text occurs 2 times, at lines 1, 1;", []Edit{{OldText: "aa", NewText: "x"}}},
		{"often", strings.Repeat("a\n", 20), "occurs 20 times, at lines 1, 2, 3, 4, 5, 6, 7, 8 and more;", []Edit{{OldText: "a", NewText: "x"}}},
		{"back again", "a", "edits[1]: the edits leave the file as it is", []Edit{{OldText: "a", NewText: "b"}, {OldText: "b", NewText: "a"}}},
		{"the second", "a\nb", "edits[1]: old_text does not occur in the file, nor anything like it; read the file again (line numbers are those after",
			[]Edit{{OldText: "a", NewText: "x"}, {OldText: "a", NewText: "y"}}},
		{"not UTF-8", "a", "new_text is not UTF-8", []Edit{{OldText: "a", NewText: "\xff"}}},
	} {
		if got := refusal(t, tt.text, tt.edits...); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAMissNamesTheNearestPlace(t *testing.T) {
	const text = "package a\n\nfunc One() int {\n\treturn 1\n}\n\nfunc Two() int {\n\treturn 2\n}\n\nfunc Three(name string) int {\n\treturn 3\n}\n"
	for _, tt := range []struct{ name, old, want string }{
		{"other white space", "func Two() int {\n    return 2\n}", "lines 7 to 9, which differ only in white space:\n```\nfunc Two() int {\n\treturn 2\n}\n```\n"},
		{"one line differs", "func Two() int {\n\treturn 22\n}\n", "lines 7 to 9:\n```\nfunc Two() int {\n\treturn 2\n}\n```\n"},
		{"a similar line", "func Three(names string) int64 {", "line 11:\n```\nfunc Three(name string) int {\n```\n"},
	} {
		if got := refusal(t, text, Edit{OldText: tt.old, NewText: "x"}); !strings.HasSuffix(got, "The nearest place is "+tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	if got := refusal(t, text, Edit{OldText: "zzz qqq", NewText: "x"}); !strings.Contains(got, "nor anything like it") {
		t.Error(got)
	}
	long := strings.Repeat("x", 3000)
	if got := refusal(t, "start\n"+long+"\nend\n", Edit{OldText: "start\n" + long + "\nENDE", NewText: "x"}); len(got) > maxQuote+300 || !strings.Contains(got, "lines 1 to 3") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestCoveredLines(t *testing.T) {
	r := func(start, end int) filecontext.Range { return filecontext.Range{Start: start, End: end} }
	for _, tt := range []struct {
		name, text string
		edits      []Edit
		want       []filecontext.Range
	}{
		{"within a line", "a\nb\nc\n", []Edit{{OldText: "b", NewText: "x"}}, []filecontext.Range{r(2, 2)}},
		{"with its end", "a\nb\nc\n", []Edit{{OldText: "b\n", NewText: "x\n"}}, []filecontext.Range{r(2, 2)}},
		{"over an end", "a\nb\nc\n", []Edit{{OldText: "b\nc", NewText: "x"}}, []filecontext.Range{r(2, 3)}},
		{"all", "a\nb\na\n", []Edit{{OldText: "a", NewText: "x", ReplaceAll: true}}, []filecontext.Range{r(1, 1), r(3, 3)}},
		{"behind new lines", "a\nb\nc\n", []Edit{{OldText: "a\n", NewText: "x\ny\nz\n"}, {OldText: "c", NewText: "d"}}, []filecontext.Range{r(1, 1), r(3, 3)}},
		{"new lines", "a\nb\nc\n", []Edit{{OldText: "a\n", NewText: "x\ny\nz\n"}, {OldText: "y", NewText: "d"}}, []filecontext.Range{r(1, 1)}},
		{"a line joined to one that was edited", "a\nb\nc\n", []Edit{{OldText: "a\n", NewText: "x"}, {OldText: "xb", NewText: "d"}}, []filecontext.Range{r(1, 2)}},
		{"a lone CR is within a line", "a\rb\nc\n", []Edit{{OldText: "c", NewText: "x"}}, []filecontext.Range{r(2, 2)}},
		{"there is no line after the last line end", "a\n", []Edit{{OldText: "a\n", NewText: "xy"}, {OldText: "y", NewText: "z"}}, []filecontext.Range{r(1, 1)}},
		{"CRLF", "a\r\nb\r\nc", []Edit{{OldText: "b\nc", NewText: "x"}}, []filecontext.Range{r(2, 3)}},
	} {
		_, covered, err := textOf(t, tt.text).Edited(tt.edits)
		must(t, err)
		equal(t, tt.name, covered, tt.want)
	}
}

func TestOnlySoManyLinesAreSearchedForTheNearestPlace(t *testing.T) {
	const place = "func Nearest() int {\n"
	for _, tt := range []struct {
		before int
		want   bool
	}{{maxLines - 1, true}, {maxLines, false}} {
		_, _, found := nearest(strings.Repeat("\n", tt.before)+place, "func Nearest() int64 {")
		if found != tt.want {
			t.Errorf("behind %d lines: %v", tt.before, found)
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	for name, line := range map[string]string{
		"equal": "abc\n", "short": "a\n", "one": "abcdefgh ", "code": "func f(a int) int {\n\treturn a\n}\n",
	} {
		text := strings.Repeat(line, 1<<20/len(line))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				nearest(text, strings.Repeat(line, 50)+"and something else that is not there\n")
			}
		})
	}
}

func TestHunks(t *testing.T) {
	for _, tt := range []struct {
		before, after string
		want          []Hunk
	}{
		{"a\nb\nc\n", "a\nb\nc\n", nil},
		{"a\nb\nc\n", "a\nx\nc\n", []Hunk{{2, 1, 2, 1}}},
		{"a\nb\nc\n", "a\nc\n", []Hunk{{2, 1, 2, 0}}},
		{"a\nc\n", "a\nb\nc\n", []Hunk{{2, 0, 2, 1}}},
		{"a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\nF\n", []Hunk{{1, 1, 1, 1}, {5, 1, 5, 2}}},
		{"a", "a\n", []Hunk{{1, 1, 1, 1}}},
		{"", "a\nb", []Hunk{{1, 0, 1, 2}}},
		{"a\nb", "", []Hunk{{1, 2, 1, 0}}},
		{"xa\n", "ya\n", []Hunk{{1, 1, 1, 1}}},
	} {
		equal(t, fmt.Sprintf("%q %q", tt.before, tt.after), Hunks(tt.before, tt.after), tt.want)
	}
	var a, b strings.Builder
	var want []Hunk
	for i := range 3000 {
		a.WriteString("old\nold\nsame\n")
		b.WriteString("new\nnew\nsame\n")
		want = append(want, Hunk{3*i + 1, 2, 3*i + 1, 2})
	}
	equal(t, "many", Hunks(a.String(), b.String()), want)
}
