package tools

import (
	"bytes"
	"context"
	"image"
	imagejpeg "image/jpeg"
	imagepng "image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/history"
	"strata/session/reads"
)

// editor is a client that has texts.
type editor map[string]string

func (e editor) Read(_ context.Context, path string) (filecontext.Content, error) {
	text, ok := e[path]
	if !ok {
		return filecontext.Content{}, &filecontext.RefusedError{Path: path, Reason: filecontext.ReasonMissing}
	}
	return filecontext.Content{Path: path, Text: text, Hash: "of the bytes", Lines: countLines(text)}, nil
}

func TestReadFileGivesTypedLines(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{"a.go": numbered(1, 5), "empty": "", "open": "x\ny", "ticks.md": "```\n"}))
	version := sha("line 1\nline 2\nline 3\nline 4\nline 5\n")
	for _, tt := range []struct {
		input members
		text  string
		file  history.FileLines
	}{
		{members{"path": "a.go"}, "a.go\n```\n" + numbered(1, 5) + "```\n",
			history.FileLines{Path: "a.go", Version: version, Lines: []history.Lines{lines(1, 5)}, Of: 5}},
		{members{"path": "./sub/../a.go", "start_line": 2, "end_line": 3}, "a.go (lines 2 to 3 of 5)\n```\nline 2\nline 3\n```\n",
			history.FileLines{Path: "a.go", Version: version, Lines: []history.Lines{lines(2, 3)}, Of: 5}},
		{members{"path": "a.go", "start_line": 4, "end_line": 900}, "a.go (lines 4 to 5 of 5)\n```\nline 4\nline 5\n```\n",
			history.FileLines{Path: "a.go", Version: version, Lines: []history.Lines{lines(4, 5)}, Of: 5}},
		{members{"path": "a.go", "end_line": 1, "start_line": nil}, "a.go (lines 1 to 1 of 5)\n```\nline 1\n```\n",
			history.FileLines{Path: "a.go", Version: version, Lines: []history.Lines{lines(1, 1)}, Of: 5}},
		{members{"path": "empty"}, "empty\n```\n```\n", history.FileLines{Path: "empty", Version: sha("")}},
		{members{"path": "open"}, "open (no line end at the end)\n```\nx\ny\n```\n",
			history.FileLines{Path: "open", Version: sha("x\ny"), Lines: []history.Lines{lines(1, 2)}, Of: 2}},
		{members{"path": "ticks.md"}, "ticks.md\n````\n```\n````\n",
			history.FileLines{Path: "ticks.md", Version: sha("```\n"), Lines: []history.Lines{lines(1, 1)}, Of: 1}},
	} {
		r := call(t, w, "read_file", tt.input)
		if len(r.Content) != 1 || r.IsError {
			t.Errorf("%v: %+v", tt.input, r)
			continue
		}
		equal(t, "text", r.Content[0].Text, tt.text)
		equal(t, "lines", *r.Content[0].File, tt.file)
	}
}

func TestReadFileExplainsWhyItCannotRead(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own")
	write(t, filepath.Join(own, "token"), "x")
	folder := folderOf(t, map[string]string{
		"a.go": "x\n", ".env": "KEY=1\n", "sub/b.go": "", "binary": "\x00\x01\x02", "latin": "\xe4\xe9\xfc\xf6\xe4", "large": strings.Repeat("x\n", 600_000),
	})
	must(t, os.Symlink("/etc/hostname", filepath.Join(folder, "outside")))
	must(t, os.Symlink("a.go", filepath.Join(folder, "link")))
	must(t, os.Symlink("loop", filepath.Join(folder, "loop")))
	must(t, os.Symlink(own, filepath.Join(folder, "own")))
	roots := rootsOf(t, guarded(t, own), folder, own+"/..")
	w := Workspace{Roots: roots, Reader: Disk{roots}}
	for _, tt := range []struct {
		input members
		want  string
	}{
		{members{"path": "missing.go"}, "missing.go does not exist; list_files shows the files that do"},
		{members{"path": "sub"}, "sub is a folder; list_files shows its files"},
		{members{"path": "../x"}, "../x is outside the workspace; tools read only files in it"},
		{members{"path": "/etc/passwd"}, "/etc/passwd is outside the workspace; tools read only files in it"},
		{members{"path": "outside"}, "outside is outside the workspace; tools read only files in it"},
		{members{"path": ".env"}, ".env looks like a secret, and cannot be read unless the user adds it"},
		{members{"path": "binary"}, "binary is binary (application/octet-stream, 3 bytes)"},
		{members{"path": "latin"}, "latin is not UTF-8; convert it first"},
		{members{"path": "large"}, "large is too large to read (1200000 bytes, limit 1048576)"},
		{members{"path": "loop"}, "loop cannot be read"},
		{members{"path": filepath.Join(own, "token")}, filepath.Join(own, "token") + " belongs to the program that runs the tools, and cannot be read"},
		{members{"path": "https://example.org/a"}, "https://example.org/a does not exist; list_files shows the files that do"},
		{members{"path": "a\x00b"}, `"a\x00b" is not a path`},
		{members{"path": ""}, "path: must not be empty"},
		{members{"path": "a.go", "start_line": 7}, "a.go has only 1 line; start_line is 7"},
		{members{"path": "sub/b.go", "start_line": 2}, "sub/b.go has only 0 lines; start_line is 2"},
		{members{"path": "a.go", "start_line": 3, "end_line": 2}, "end_line 2 is before start_line 3"},
		{members{"path": "a.go", "start_line": 1e17}, "start_line: must be a whole number from -9007199254740991 to 9007199254740991"},
	} {
		equal(t, "complaint", complained(t, w, "read_file", tt.input), tt.want)
	}
	hasAll(t, said(t, w, "read_file", members{"path": "link"}), "link\n```\nx\n")
}

func TestVersionsAreThoseOfTheText(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{
		"lf": "a\nb\n", "crlf": "a\r\nb\r\n", "bom": "\xef\xbb\xbfa\nb\n", "utf16": "\xff\xfea\x00\r\x00\n\x00b\x00\n\x00", "lossy": "a\nb\xff and much more text\n",
	}))
	for _, name := range []string{"lf", "crlf", "bom", "utf16"} {
		r := call(t, w, "read_file", members{"path": name})
		equal(t, name, shownText(r), name+"\n```\na\nb\n```\n")
		equal(t, "version of "+name, r.Content[0].File.Version, sha("a\nb\n"))
	}
	lossy := call(t, w, "read_file", members{"path": "lossy"})
	hasAll(t, shownText(lossy), "(bytes that are not UTF-8 are shown as U+FFFD; the file cannot be edited)")
	if f := lossy.Content[0].File; !f.Lossy || f.Version != sha("a\nb\xff and much more text\n") {
		t.Errorf("%+v", f)
	}
}

func TestReadFileShowsWhatTheEditorShows(t *testing.T) {
	w := Workspace{Roots: rootsOf(t, guarded(t), folderOf(t, map[string]string{"a.go": "saved\n"})), Reader: editor{"a.go": "unsaved\n"}}
	hasAll(t, said(t, w, "read_file", members{"path": "a.go"}), "unsaved\n")
	hasAll(t, complained(t, w, "read_file", members{"path": "b.go"}), "does not exist")
}

func TestLinesInTheViewAreNotRepeated(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{"a.go": numbered(1, 20), "empty": ""}))
	first := call(t, w, "read_file", members{"path": "a.go", "start_line": 5, "end_line": 10})
	w.Shown = reads.NewView(shownLines(first))
	for _, tt := range []struct {
		input members
		want  string
	}{
		{members{"path": "a.go", "start_line": 6, "end_line": 10}, "Lines 6 to 10 of a.go are already shown above in their current version."},
		{members{"path": "a.go", "start_line": 5, "end_line": 11}, "a.go (lines 5 to 11 of 20)\n"},
		{members{"path": "a.go"}, "a.go\n```\nline 1\n"},
		{members{"path": "empty"}, "empty\n```\n```\n"},
	} {
		hasAll(t, said(t, w, "read_file", tt.input), tt.want)
	}
	w.Shown = reads.NewView(shownLines(call(t, w, "read_file", members{"path": "a.go"})))
	again := call(t, w, "read_file", members{"path": "a.go"})
	equal(t, "whole", shownText(again), "a.go is already shown above, whole and in its current version.")
	if len(shownLines(again)) > 0 {
		t.Error("the line counts as the file")
	}
	write(t, filepath.Join(w.Roots.Folder(), "a.go"), numbered(1, 19))
	hasAll(t, said(t, w, "read_file", members{"path": "a.go", "start_line": 6, "end_line": 10}), "line 6\n")
}

func TestReadFileOfALongFile(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{"long.txt": numbered(1, 20_000)}))
	r := call(t, w, "read_file", members{"path": "long.txt"})
	if n := r.Size(); n < 49_000 || len(r.Content) != 3 {
		t.Fatalf("%d bytes in %d blocks", n, len(r.Content))
	}
	next := r.Content[0].File.Lines[0].End + 1
	rest := call(t, w, "read_file", members{"path": "long.txt", "start_line": next})
	hasAll(t, r.Content[1].Text, "read them with start_line "+strings.TrimSpace(strings.Fields(filecontext.RenderedLines(rest.Content[0].Text))[1]))
}

func TestPicturesAreShownAsPictures(t *testing.T) {
	var png, jpeg bytes.Buffer
	must(t, imagepng.Encode(&png, image.NewGray(image.Rect(0, 0, 40, 30))))
	must(t, imagejpeg.Encode(&jpeg, image.NewGray(image.Rect(0, 0, 8, 8)), nil))
	folder := folderOf(t, map[string]string{
		"a.png": png.String(), "b.JPEG": jpeg.String(), "text.png": "text\n", "empty.gif": "", "cut.png": png.String()[:20], "key.pem": png.String(),
	})
	must(t, os.WriteFile(filepath.Join(folder, "large.webp"), nil, 0o600))
	must(t, os.Truncate(filepath.Join(folder, "large.webp"), filecontext.MaxPicture+1))
	must(t, os.Symlink("key.pem", filepath.Join(folder, "key.png")))
	w := workspaceOf(t, folder)
	r := call(t, w, "read_file", members{"path": "a.png"})
	equal(t, "text", r.Content[0].Text, "a.png: image/png, 40 x 30 pixels\n")
	equal(t, "picture", r.Content[1], history.Block{Type: history.BlockImage, Data: png.Bytes(), MIME: "image/png", Width: 40, Height: 30})
	hasAll(t, said(t, w, "read_file", members{"path": "b.JPEG"}), "b.JPEG: image/jpeg, 8 x 8 pixels\n")
	for path, want := range map[string]string{
		"text.png": "text.png is no picture that can be shown", "empty.gif": "empty.gif is no picture that can be shown",
		"cut.png": "cut.png is no picture that can be shown", "large.webp": "large.webp is too large to read (5242881 bytes, limit 5242880)",
		"key.png": "key.png looks like a secret, and cannot be read unless the user adds it", "missing.png": "missing.png does not exist; list_files shows the files that do",
		"../a.png": "../a.png is outside the workspace; tools read only files in it",
	} {
		equal(t, path, complained(t, w, "read_file", members{"path": path}), want)
	}
}
