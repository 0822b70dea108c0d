package tools

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"strata/filecontext"
	"strata/history"
	"strata/session/reads"
)

// numbered returns lines that contain their numbers.
func numbered(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestALongTextKeepsHeadAndTail(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"it fits", "a\nb\n", 4, "a\nb\n"},
		{"lines", numbered(1, 100), 500, numbered(1, 37) + "[45 lines omitted]\n" + numbered(83, 100)},
		{"one line", strings.Repeat("x", 1000), 464, strings.Repeat("x", 266) + "\n[600 bytes omitted]\n" + strings.Repeat("x", 134)},
		{"characters", strings.Repeat("ü", 500), 465, strings.Repeat("ü", 133) + "\n[600 bytes omitted]\n" + strings.Repeat("ü", 67)},
		{"little room", strings.Repeat("x", 1000), 30, "[1000 bytes omitted: no room]"},
		{"hardly any room", strings.Repeat("x", 1000), 7, "[1000 b"},
		{"no room", strings.Repeat("x", 1000), 0, ""},
	} {
		r := Cut(text("%s", tt.text), tt.limit)
		equal(t, tt.name, shownText(r), tt.want)
	}
}

func TestALongFileKeepsWholeLinesAndSaysHowToReadTheOthers(t *testing.T) {
	body := numbered(1, 2000)
	file := &history.FileLines{Path: "a.txt", Version: "v", Of: 2000}
	r := Result{Content: []history.Block{fileBlock(file, body, history.Lines{Start: 1, End: 2000})}}
	equal(t, "whole", *r.Content[0].File, history.FileLines{Path: "a.txt", Version: "v", Of: 2000, Lines: []history.Lines{{Start: 1, End: 2000}}})
	if !strings.HasPrefix(r.Content[0].Text, "a.txt\n```\nline 1\n") {
		t.Errorf("%.50q", r.Content[0].Text)
	}
	cut := Cut(r, 3000)
	if n := cut.Size(); n > 3000 || n < 2500 {
		t.Errorf("%d bytes", n)
	}
	head, note, tail := &cut.Content[0], &cut.Content[1], &cut.Content[2]
	to, from := head.File.Lines[0].End, tail.File.Lines[0].Start
	equal(t, "head", head.Text, fmt.Sprintf("a.txt (lines 1 to %d of 2000)\n```\n%s```\n", to, numbered(1, to)))
	equal(t, "note", note.Text, fmt.Sprintf("[lines %d to %d omitted; read them with start_line %d]\n", to+1, from-1, to+1))
	equal(t, "tail", tail.Text, fmt.Sprintf("a.txt (lines %d to 2000 of 2000)\n```\n%s```\n", from, numbered(from, 2000)))
	if note.File != nil || head.File.Whole() || len(r.Content) != 1 {
		t.Error("the wrong blocks are lines of a file, or the result was changed")
	}
	again := Cut(cut, 1500)
	if n := again.Size(); n > 1500 {
		t.Errorf("%d bytes after the second cut", n)
	}
	covered := reads.NewView(shownLines(again))
	if covered.Covers("a.txt", "v", history.Lines{Start: 1, End: to}) || !covered.Covers("a.txt", "v", history.Lines{Start: 1, End: 5}) {
		t.Errorf("the second cut shows %v", shownLines(again))
	}
}

func shownLines(r Result) []history.FileLines {
	return history.ShownLines([]history.Message{{Blocks: []history.Block{{Type: history.BlockToolResult, Content: r.Content}}}})
}

func TestALineThatIsTooLongIsNotShownAsLines(t *testing.T) {
	long := strings.Repeat("ü", 40_000)
	file := &history.FileLines{Path: "min.js", Version: "v", Of: 2}
	r := Cut(Result{Content: []history.Block{fileBlock(file, long+"\nend\n", history.Lines{Start: 1, End: 2})}}, MaxResult)
	if len(shownLines(r)) > 0 || r.Size() > MaxResult || !utf8.ValidString(shownText(r)) {
		t.Errorf("%d bytes, lines %v", r.Size(), shownLines(r))
	}
	hasAll(t, shownText(r), "min.js: line 1 has 80000 bytes, too many to show; read the lines after it with start_line 2. It starts with:\nüü")
}

func TestAResultOfManyTextsIsBounded(t *testing.T) {
	var r Result
	for range 1000 {
		r.Content = append(r.Content, textBlock(strings.Repeat("text ", 40)))
	}
	r.Content = append(r.Content, history.Block{Type: history.BlockImage, MIME: "image/png", Data: []byte{1}})
	cut := Cut(r, 10_000)
	if n := cut.Size(); n > 10_000 || n < 9000 || cut.Content[len(cut.Content)-1].Type != history.BlockImage {
		t.Errorf("%d bytes in %d blocks", n, len(cut.Content))
	}
}

// Whatever is cut, and however often: the result is within its limit and valid UTF-8, and the lines that it claims to show are
// those of the file.
func FuzzCut(f *testing.F) {
	f.Add("a\nb\nc\n", 500, 1, 3, false)
	f.Add(strings.Repeat("ü\n", 3000), 1000, 5, 2000, true)
	f.Add("```\n"+strings.Repeat("`", 900)+"\nx", 700, 0, 0, false)
	f.Add(strings.Repeat("long line ", 500)+"\n\n\n", 800, 1, 2, false)
	f.Fuzz(func(t *testing.T, body string, limit, from, to int, lossy bool) {
		body = strings.ReplaceAll(strings.ToValidUTF8(body, "?"), "\r", "")
		content := filecontext.Content{Path: "dir/ü.txt", Text: body, Lines: countLines(body), Lossy: lossy}
		in := readInput{Start: max(from, 0), End: max(to, 0)}
		checkCuts(t, &content, in.result(&content, nil), limit)
	})
}

func checkCuts(t *testing.T, content *filecontext.Content, r Result, limit int) {
	t.Helper()
	limit = max(limit, 0) % (MaxResult * 2)
	for range 3 {
		cut := Cut(r, limit)
		if cut.Size() > limit || !utf8.ValidString(shownText(cut)) {
			t.Fatalf("%d bytes, limit %d: %q", cut.Size(), limit, shownText(cut))
		}
		for i := range cut.Content {
			b := &cut.Content[i]
			if b.File == nil || content.Lines == 0 {
				continue
			}
			lines := filecontext.Range(b.File.Lines[0])
			if got, want := filecontext.RenderedLines(b.Text), filecontext.CutLines(content.Text, lines); got != want {
				t.Fatalf("lines %v are shown as %q, want %q", lines, got, want)
			}
		}
		if cut.Size() == r.Size() {
			return
		}
		r, limit = cut, limit*2/3
	}
}

func TestRandomFilesAreCutToTheirLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		for range random.IntN(200) {
			b.WriteString(strings.Repeat([]string{"a", "ü", "`", "", "words "}[random.IntN(5)], random.IntN(60)))
			b.WriteString([]string{"\n", "\n", "\n", ""}[random.IntN(4)])
		}
		content := filecontext.Content{Path: "dir/ü.txt", Text: b.String(), Lines: countLines(b.String()), Lossy: random.IntN(5) == 0}
		in := readInput{Start: random.IntN(50), End: random.IntN(300)}
		checkCuts(t, &content, in.result(&content, nil), 300+random.IntN(8000))
	}
}
