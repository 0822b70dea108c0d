package changing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
	"strata/session/reads"
	"strata/session/tools"
)

// bench is a workspace whose files tools read and change.
type bench struct {
	t      *testing.T
	folder string
	work   tools.Workspace
	view   *reads.View
	writer Writer
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	folder := folderOf(t, files)
	b := &bench{t: t, folder: folder, work: workspaceOf(t, folder), view: new(reads.View)}
	b.work.Shown, b.writer = b.view, DiskWriter{Roots: b.work.Roots}
	return b
}

// read reads lines of a file; 0 and 0 are all.
func (b *bench) read(path string, start, end int) {
	b.t.Helper()
	input := members{"path": path}
	if start > 0 {
		input["start_line"], input["end_line"] = start, end
	}
	r := call(b.t, b.work, "read_file", input)
	for _, lines := range shownLines(r) {
		b.view.Add(&lines)
	}
}

func (b *bench) prepare(name string, input any) *tools.Prepared {
	b.t.Helper()
	set, err := tools.NewSet(Tools(b.writer, b.view)...)
	must(b.t, err)
	args, err := json.Marshal(input)
	must(b.t, err)
	c, err := set.Check(name, string(args))
	must(b.t, err)
	if d := c.Describe(); d.Title == "" || len(d.Locations) == 0 || c.Tool.ReadOnly {
		b.t.Errorf("%s: %+v", name, d)
	}
	p, err := c.Prepare(b.t.Context(), tools.MaxResult)
	must(b.t, err)
	if make := p.Make; make != nil {
		p.Make = func(ctx context.Context) (tools.Result, error) {
			r, err := make(ctx)
			for _, lines := range shownLines(r) {
				b.view.Add(&lines)
			}
			return r, err
		}
	}
	return p
}

// made makes a change that must be possible and returns its result.
func (b *bench) made(name string, input any) tools.Result {
	b.t.Helper()
	p := b.prepare(name, input)
	if p.Refusal != nil {
		b.t.Fatalf("%s %v: %s", name, input, shownText(*p.Refusal))
	}
	r, err := p.Make(b.t.Context())
	must(b.t, err)
	if r.IsError {
		b.t.Errorf("%s %v: %s", name, input, shownText(r))
	}
	return r
}

// refused prepares a change that must not be possible and returns why.
func (b *bench) refused(name string, input any) string {
	b.t.Helper()
	p := b.prepare(name, input)
	if p.Refusal == nil || p.Make != nil || !p.Refusal.IsError {
		b.t.Fatalf("%s %v is prepared: %+v", name, input, p)
	}
	return shownText(*p.Refusal)
}

func (b *bench) want(path, text string) {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.folder, path))
	if err != nil {
		data = []byte("none")
	}
	equal(b.t, path, string(data), text)
}

func edit(path string, texts ...string) members {
	var edits []members
	for i := 0; i < len(texts); i += 2 {
		edits = append(edits, members{"old_text": texts[i], "new_text": texts[i+1]})
	}
	return members{"path": path, "edits": edits}
}

func TestEditFile(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": strings.ReplaceAll(numbered(1, 30), "\n", "\r\n")})
	b.read("a.txt", 0, 0)
	p := b.prepare("edit_file", edit("a.txt", "line 10\n", "ten\n10\n", "line 20", "twenty"))
	b.want("a.txt", strings.ReplaceAll(numbered(1, 30), "\n", "\r\n"))
	if string(p.Image) != strings.ReplaceAll(numbered(1, 30), "\n", "\r\n") || len(p.Effects) != 1 {
		t.Errorf("%q, %+v", p.Image, p.Effects)
	}
	diffs := []history.Diff{{Path: "a.txt", Hunks: []history.TextHunk{
		{OldStart: 7, NewStart: 7, Old: numbered(7, 13), New: numbered(7, 9) + "ten\n10\n" + numbered(11, 13)},
		{OldStart: 17, NewStart: 18, Old: numbered(17, 23), New: numbered(17, 19) + "twenty\n" + numbered(21, 23)},
	}}}
	equal(t, "diffs before", p.Diffs, diffs)
	r, err := p.Make(t.Context())
	must(t, err)
	equal(t, "diffs after", r.Diffs, diffs)
	equal(t, "result", shownText(r), "Edited a.txt, which has 31 lines now.\nChanges to a.txt\n```\n@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n+10\n"+
		" line 11\n line 12\n line 13\n@@ -17,7 +18,7 @@\n line 17\n line 18\n line 19\n-line 20\n+twenty\n line 21\n line 22\n line 23\n```\n")
	b.want("a.txt", strings.ReplaceAll(numbered(1, 9)+"ten\n10\n"+numbered(11, 19)+"twenty\n"+numbered(21, 30), "\n", "\r\n"))
}

// After an edit the model knows the file as well as before: it edits on, in the same step, without reading again.
func TestOwnChangesMoveTheVersionOn(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": numbered(1, 40)})
	b.read("a.txt", 1, 20)
	b.made("edit_file", edit("a.txt", "line 5\n", "five\n5\n"))
	b.made("edit_file", edit("a.txt", "line 20", "twenty"))
	b.made("edit_file", edit("a.txt", "five", "V"))
	hasAll(t, b.refused("edit_file", edit("a.txt", "line 25\nline 26", "x", "line 30\n", "y\n")),
		"lines 26 to 27, line 31 of a.txt, which you were not shown in their present version", "start_line 26")
	b.made("edit_file", edit("a.txt", "line 23", "23")) // line 24, which the diff showed
	hasAll(t, b.refused("write_file", members{"path": "a.txt", "content": "x"}), "a.txt exists, and you were not shown its present version whole")
	b.read("a.txt", 0, 0)
	b.made("write_file", members{"path": "a.txt", "content": numbered(1, 3)})
	b.made("edit_file", edit("a.txt", "line 3", "three"))
	b.made("move_file", members{"from": "a.txt", "to": "sub/b.txt"})
	b.made("edit_file", edit("sub/b.txt", "line 1", "one"))
	b.want("sub/b.txt", "one\nline 2\nthree\n")
	b.want("a.txt", "none")
}

func TestTheGuardRefusesWhatWasNotShown(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": numbered(1, 9), "empty": ""})
	hasAll(t, b.refused("edit_file", edit("a.txt", "line 2", "x")), "line 2 of a.txt")
	hasAll(t, b.refused("write_file", members{"path": "empty", "content": "x"}), "empty exists")
	b.read("empty", 0, 0)
	b.made("write_file", members{"path": "empty", "content": "x"})
	b.read("a.txt", 2, 4)
	write(t, filepath.Join(b.folder, "a.txt"), "new\n"+numbered(1, 9))
	hasAll(t, b.refused("edit_file", edit("a.txt", "line 2", "x")), "line 3 of a.txt", "start_line 3")
	found := call(t, b.work, "search", members{"pattern": "line 7"})
	for _, lines := range shownLines(found) {
		b.view.Add(&lines)
	}
	b.made("edit_file", edit("a.txt", "line 7", "seven"))
	b.want("a.txt", "new\n"+numbered(1, 6)+"seven\n"+numbered(8, 9))
}

// A line for which a result has room is shown whole, by the advice of the refusal. A longer one cannot be read, so that no advice
// is given that would not help.
func TestTheGuardOfLongLines(t *testing.T) {
	for _, size := range []int{30_000, 40_000, 50_600, 50_700, 60_000} {
		b := newBench(t, map[string]string{"a.txt": "first\n" + strings.Repeat("x", size) + "end\n" + strings.Repeat(numbered(1, 100), 60)})
		why := b.refused("edit_file", edit("a.txt", "first\nxx", "1"))
		if size > 50_600 {
			hasAll(t, why, fmt.Sprintf("old_text covers line 2 of a.txt, which has %d bytes", size+len("end\n")), "too many to be shown to you whole", "tell the user")
			hasAll(t, b.refused("write_file", members{"path": "a.txt", "content": ""}), "the file exists, with line 2 of a.txt, which has", "too many to be shown")
			continue
		}
		hasAll(t, why, "lines 1 to 2 of a.txt", "start_line 1")
		for _, start := range []int{1, 2} {
			for _, lines := range shownLines(call(t, b.work, "read_file", members{"path": "a.txt", "start_line": start})) {
				b.view.Add(&lines)
			}
		}
		b.made("edit_file", edit("a.txt", "first\nxx", "1"))
		b.made("edit_file", edit("a.txt", "xxend", "end"))
	}
}

func TestANewFile(t *testing.T) {
	b := newBench(t, nil)
	p := b.prepare("write_file", members{"path": "x/new.txt", "content": "a\r\nb"})
	equal(t, "diffs", p.Diffs, []history.Diff{{Path: "x/new.txt", Created: true, Hunks: []history.TextHunk{{OldStart: 1, NewStart: 1, New: "a\nb"}}}})
	if p.Image != nil || p.Effects[0].Before != filecontext.NoFile {
		t.Errorf("%+v", p)
	}
	r, err := p.Make(t.Context())
	must(t, err)
	equal(t, "result", shownText(r), "Made x/new.txt with 2 lines.\n")
	b.want("x/new.txt", "a\r\nb")
	b.made("edit_file", edit("x/new.txt", "b", "c"))
	b.want("x/new.txt", "a\r\nc")
	b.made("write_file", members{"path": "none.txt", "content": ""})
	b.want("none.txt", "")
	b.made("write_file", members{"path": "none.txt", "content": "x\n"})
}

func TestDeleteAndMove(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a\n", "b.bin": "\x00"})
	r := b.made("delete_file", members{"path": "a.txt"})
	equal(t, "result", shownText(r), "Deleted a.txt.\n")
	equal(t, "diffs", r.Diffs, []history.Diff{{Path: "a.txt", Deleted: true, Hunks: []history.TextHunk{{OldStart: 1, NewStart: 1, Old: "a\n"}}}})
	p := b.prepare("move_file", members{"from": "b.bin", "to": "c.bin"})
	if p.Diffs != nil || len(p.Effects) != 2 {
		t.Errorf("%+v", p)
	}
	r = b.made("move_file", members{"from": "b.bin", "to": "c.bin"})
	equal(t, "result", shownText(r), "Moved b.bin to c.bin.\n")
	b.want("c.bin", "\x00")
}

func TestChangesThatAreRefused(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a\n", "b.txt": "b\nb\n", "dir/x": "x", ".env": "x"})
	for _, tt := range []struct {
		name  string
		input members
		want  string
	}{
		{"edit_file", edit("a.txt", "x", "y"), "Nothing was changed in a.txt: edits[0]: old_text does not occur"},
		{"edit_file", edit("b.txt", "b", "y"), "old_text occurs 2 times, at lines 1, 2"},
		{"edit_file", edit("a.txt"), "edits: must be a list"},
		{"edit_file", edit("missing", "x", "y"), "missing does not exist; write_file makes new files"},
		{"edit_file", edit("../x", "x", "y"), "../x is outside the workspace; tools change only files in it"},
		{"write_file", members{"path": ".env", "content": "x"}, ".env looks like a secret, and cannot be changed"},
		{"write_file", members{"path": "x", "content": "a\x00"}, "x is not text"},
		{"write_file", members{"path": "dir", "content": "a"}, "dir is a folder"},
		{"write_file", members{"path": "a.txt", "content": "a\n"}, "a.txt is already like that"},
		{"delete_file", members{"path": "missing"}, "missing does not exist"},
		{"move_file", members{"from": "a.txt", "to": "b.txt"}, "b.txt exists already"},
		{"move_file", members{"from": "a.txt", "to": "../b.txt"}, "../b.txt is outside"},
		{"move_file", members{"from": "missing", "to": "c.txt"}, "missing does not exist"},
	} {
		if tt.name == "edit_file" && len(tt.input["edits"].([]members)) == 0 {
			tt.input["edits"], tt.want = []members{}, "a change has 1 to 100 edits"
		}
		hasAll(t, b.refused(tt.name, tt.input), tt.want)
	}
}

func TestAFileThatChangedWhileTheUserWasAsked(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a\n"})
	b.read("a.txt", 0, 0)
	p := b.prepare("edit_file", edit("a.txt", "a", "b"))
	write(t, filepath.Join(b.folder, "a.txt"), "else\n")
	r, err := p.Make(t.Context())
	must(t, err)
	if !r.IsError || len(r.Diffs) > 0 {
		t.Errorf("%+v", r)
	}
	hasAll(t, shownText(r), "Nothing was changed: a.txt has changed since the change was planned")
	b.want("a.txt", "else\n")
}

func TestACancelledCallChangesNothing(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a\n"})
	p := b.prepare("delete_file", members{"path": "a.txt"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Make(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	b.want("a.txt", "a\n")
}

// formatter is an editor as a writer that formats what it writes: it replaces texts.
type formatter struct {
	DiskWriter
	format *strings.Replacer
}

func (e formatter) Edit(ctx context.Context, path string, edits []change.Edit) (*Planned, error) {
	p, err := e.DiskWriter.Edit(ctx, path, edits)
	return e.formatting(p, err)
}

func (e formatter) Write(ctx context.Context, path, text string) (*Planned, error) {
	p, err := e.DiskWriter.Write(ctx, path, text)
	return e.formatting(p, err)
}

func (e formatter) formatting(p *Planned, err error) (*Planned, error) {
	if err != nil {
		return nil, err
	}
	p.Make = func(ctx context.Context) (*Made, error) {
		path := filepath.Join(e.Roots.Folder(), p.After.Path)
		if err := os.WriteFile(path, []byte(e.format.Replace(p.After.Text)), 0o600); err != nil {
			return nil, err
		}
		content, err := tools.Disk{Roots: e.Roots}.Read(ctx, p.After.Path)
		return &Made{Made: tools.Made{State: change.Done}, Content: &content}, err
	}
	return p, nil
}

// What an editor writes is the version; what it changed is told, and the next edit is not stale.
func TestAnEditorThatFormats(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a\n b\nc\n"})
	b.writer = formatter{DiskWriter{Roots: b.work.Roots}, strings.NewReplacer(" b", "b", "\t", "    ", "undo", "C")}
	b.read("a.txt", 0, 0)
	r := b.made("edit_file", edit("a.txt", "c", "C"))
	hasAll(t, shownText(r), "The editor has changed the text further", "- b\n-c\n+b\n+C\n")
	b.made("edit_file", edit("a.txt", "b\nC", "x\nC"))
	r = b.made("write_file", members{"path": "new.txt", "content": "if\n\tx\n"})
	equal(t, "result", shownText(r), "Made new.txt with 2 lines.\nThe editor has changed the text when it was saved:\nChanges to new.txt\n```\n@@ -1,2 +1,2 @@\n if\n-\tx\n+    x\n```\n")
	b.made("edit_file", edit("new.txt", "    x", "    y"))
	r = b.made("edit_file", edit("a.txt", "C", "undo"))
	hasAll(t, shownText(r), "the editor has undone them: a.txt is as it was")
}

func TestALargeDiffIsBounded(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": numbered(1, 20_000)})
	b.read("a.txt", 0, 0)
	b.view.Add(&history.FileLines{Path: "a.txt", Version: sha(numbered(1, 20_000)), Of: 20_000, Lines: []history.Lines{lines(1, 10_000)}})
	hasAll(t, b.refused("edit_file", members{"path": "a.txt", "edits": []members{{"old_text": "line", "new_text": "row", "replace_all": true}}}), "lines 1 to 20000")
	b.view.Add(&history.FileLines{Path: "a.txt", Version: sha(numbered(1, 20_000)), Of: 20_000, Lines: []history.Lines{lines(10_000, 20_000)}})
	p := b.prepare("edit_file", members{"path": "a.txt", "edits": []members{{"old_text": "line", "new_text": "row", "replace_all": true}}})
	size := 0
	for _, h := range p.Diffs[0].Hunks {
		size += len(h.Old) + len(h.New)
	}
	if !p.Diffs[0].Cut || size > history.MaxDiff || size < history.MaxDiff/2 {
		t.Errorf("%d bytes, cut: %v", size, p.Diffs[0].Cut)
	}
	r, err := p.Make(t.Context())
	must(t, err)
	if r.Size() > tools.MaxResult {
		t.Errorf("%d bytes", r.Size())
	}
	hasAll(t, shownText(r), "Edited a.txt, which has 20000 lines now.", "omitted]")
	b.made("edit_file", edit("a.txt", "row 10000\n", "x\n")) // the model's own text
}

// Of a diff that the result has no room for the model knows only what it wrote itself.
func TestLinesOfADiffThatIsCutAreNotShown(t *testing.T) {
	for _, format := range []*strings.Replacer{strings.NewReplacer(), strings.NewReplacer("five", "FIVE")} {
		b := newBench(t, map[string]string{"a.txt": strings.ReplaceAll(numbered(1, 9), "\n", strings.Repeat("-", 200)+"\n")})
		b.writer = formatter{DiskWriter{Roots: b.work.Roots}, format}
		b.read("a.txt", 5, 5)
		set, err := tools.NewSet(Tools(b.writer, b.view)...)
		must(t, err)
		c, err := set.Check("edit_file", `{"path": "a.txt", "edits": [{"old_text": "line 5", "new_text": "five"}]}`)
		must(t, err)
		p, err := c.Prepare(t.Context(), 600)
		must(t, err)
		r, err := p.Make(t.Context())
		must(t, err)
		for _, lines := range shownLines(r) {
			b.view.Add(&lines)
		}
		if r.Size() > 600 {
			t.Errorf("%d bytes: %s", r.Size(), shownText(r))
		}
		hasAll(t, b.refused("edit_file", edit("a.txt", "line 6", "x")), "line 6")
		if format.Replace("five") == "five" {
			b.made("edit_file", edit("a.txt", "five", "5"))
		} else {
			hasAll(t, b.refused("edit_file", edit("a.txt", "FIVE", "5")), "line 5")
		}
	}
}

// Of a text that an editor has changed, the model knows the lines that are as it wrote them, and those that the diff shows.
func TestLinesThatAnEditorHasChangedInANewFile(t *testing.T) {
	for _, limit := range []int{600, tools.MaxResult} {
		b := newBench(t, nil)
		b.writer = formatter{DiskWriter{Roots: b.work.Roots}, strings.NewReplacer("line 1", "LINE 1", "line 2", "LINE 2", "line 8", "LINE 8")}
		set, err := tools.NewSet(Tools(b.writer, b.view)...)
		must(t, err)
		long := strings.ReplaceAll(numbered(1, 9), "\n", strings.Repeat("-", 200)+"\n")
		args, err := json.Marshal(members{"path": "a.txt", "content": long})
		must(t, err)
		c, err := set.Check("write_file", string(args))
		must(t, err)
		p, err := c.Prepare(t.Context(), limit)
		must(t, err)
		r, err := p.Make(t.Context())
		must(t, err)
		for _, lines := range shownLines(r) {
			b.view.Add(&lines)
		}
		var own []history.Lines
		for _, shown := range r.Content[0].Shows {
			own = append(own, shown.Lines...)
		}
		equal(t, "own lines", own, []history.Lines{lines(3, 7), lines(9, 9)})
		if limit == tools.MaxResult {
			b.made("edit_file", edit("a.txt", "LINE 8", "8"))
		} else {
			hasAll(t, b.refused("edit_file", edit("a.txt", "LINE 8", "8")), "line 8 of a.txt")
		}
		b.made("edit_file", edit("a.txt", "line 5", "5"))
	}
}

func TestTheUserAllowsASecret(t *testing.T) {
	b := newBench(t, map[string]string{".env": "a\n"})
	b.writer = DiskWriter{Roots: b.work.Roots, Secrets: true}
	b.made("move_file", members{"from": ".env", "to": "sub/.env"})
	b.made("delete_file", members{"path": "sub/.env"})
}

// An address of the web is no path, although a folder could have its name.
func TestAddressesAreNoPaths(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a\n"})
	for name, input := range map[string]any{
		"write_file": members{"path": "https://example.com/a.txt", "content": "x"},
		"move_file":  members{"from": "a.txt", "to": "http://example.com/a.txt"},
	} {
		hasAll(t, b.refused(name, input), "example.com/a.txt is not a path")
	}
	b.made("write_file", members{"path": "a:b.txt", "content": "x\n"})
}
