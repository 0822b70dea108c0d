package changing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
	"strata/session/clients"
	"strata/session/tools"
)

// makes makes a change that must be prepared, and returns its result.
func (d *desk) makes(name string, input any) tools.Result {
	d.t.Helper()
	p := d.prepare(name, input)
	if p.Refusal != nil {
		d.t.Fatalf("%s %v: %s", name, input, shownText(*p.Refusal))
	}
	r, err := p.Make(d.t.Context())
	must(d.t, err)
	return r
}

func (d *desk) effect(name, before, after string) change.Effect {
	return change.Effect{Path: name, File: filepath.Join(d.folder, name), Before: before, After: after}
}

// wantMade checks what a result says about a file, compared with the disk.
func (d *desk) wantMade(r tools.Result, name string, state change.State, before string) {
	d.t.Helper()
	if r.Made == nil {
		d.t.Fatalf("%s", shownText(r))
	}
	equal(d.t, "state", r.Made.State, state)
	if r.IsError != (state != change.Done) {
		d.t.Errorf("%s is an error: %v", state, r.IsError)
	}
	if state != change.Done {
		equal(d.t, "made", r.Made, &tools.Made{State: state})
		return
	}
	if d.editor == nil { // made as prepared
		equal(d.t, "made", r.Made, &tools.Made{State: state})
		return
	}
	if r.Made.Effects == nil {
		d.t.Fatal("the effects are not told")
	}
	equal(d.t, "effects", r.Made.Effects, []change.Effect{d.effect(name, before, d.hash(name))})
	equal(d.t, "bytes", string(r.Made.Next), d.onDisk(name))
}

func TestAnEditThroughAnEditor(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "one\r\ntwo\r\nthree\r\n"}, &fakeEditor{keeps: true})
	d.read("a.txt", 0, 0)
	p := d.prepare("edit_file", edit("a.txt", "two", "2"))
	equal(t, "effects", p.Effects, []change.Effect{d.effect("a.txt", d.hash("a.txt"), sha("one\r\n2\r\nthree\r\n"))})
	equal(t, "image", string(p.Image), "one\r\ntwo\r\nthree\r\n")
	equal(t, "next", string(p.Next), "one\r\n2\r\nthree\r\n")
	equal(t, "names", p.Names, []string{"a.txt"})
	equal(t, "mode", p.Mode, uint32(0o600))
	before := d.hash("a.txt")
	r, err := p.Make(t.Context())
	must(t, err)
	hasAll(t, shownText(r), "Edited a.txt, which now has 3 lines.\n", "-two\n+2\n")
	d.want("a.txt", "one\r\n2\r\nthree\r\n")
	d.wantMade(r, "a.txt", change.Done, before)
	equal(t, "diffs", r.Diffs, p.Diffs)
	d.made("edit_file", edit("a.txt", "2", "II", "one", "I"))
	d.want("a.txt", "I\r\nII\r\nthree\r\n")
	if d.editor.wrote() != 2 {
		t.Errorf("%q", d.editor.asked)
	}
}

func TestWritingThroughAnEditor(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "a\n"}, &fakeEditor{})
	r := d.makes("write_file", members{"path": "x/new.txt", "content": "a\r\nb"})
	equal(t, "result", shownText(r), "Created x/new.txt with 2 lines.\n")
	d.want("x/new.txt", "a\r\nb")
	d.wantMade(r, "x/new.txt", change.Done, filecontext.NoFile)
	r = d.makes("write_file", members{"path": "empty", "content": ""})
	d.want("empty", "")
	d.wantMade(r, "empty", change.Done, filecontext.NoFile)
	d.made("write_file", members{"path": "empty", "content": "x\n"})
	hasAll(t, d.refused("write_file", members{"path": "a.txt", "content": "b\n"}), "a.txt exists, and you have not seen")
	d.read("a.txt", 0, 0)
	hasAll(t, d.refused("write_file", members{"path": "a.txt", "content": "a\n"}), "a.txt already has this content")
	hasAll(t, d.refused("edit_file", edit("missing", "a", "b")), "missing does not exist; write_file creates files")
	d.made("write_file", members{"path": "a.txt", "content": "b\n"})
	wrote := d.editor.wrote()
	d.made("move_file", members{"from": "a.txt", "to": "b.txt"})
	d.made("delete_file", members{"path": "b.txt"})
	if d.editor.wrote() != wrote {
		t.Errorf("%q", d.editor.asked)
	}
}

// An editor shows that there is no file as an empty text, or as an error.
func TestANewFileThatAnEditorShowsAsEmpty(t *testing.T) {
	d := newDesk(t, nil, &fakeEditor{})
	d.editor.buffers["new.txt"] = ""
	d.made("write_file", members{"path": "new.txt", "content": "a\n"})
	d.want("new.txt", "a\n")
	d.editor.buffers["other.txt"] = "not saved yet\n"
	hasAll(t, d.refused("write_file", members{"path": "other.txt", "content": "a\n"}), "other.txt exists, and you have not seen")
	d.read("other.txt", 0, 0)
	r := d.makes("edit_file", edit("other.txt", "not saved yet", "saved"))
	d.want("other.txt", "saved\n")
	d.wantMade(r, "other.txt", change.Done, sha("not saved yet\n"))
	equal(t, "image", string(r.Made.Image), "not saved yet\n")
	if r.Diffs[0].Created {
		t.Error("the diff is that of a new file, although the editor had a text")
	}
}

// The text in the editor is the present one, saved or not. It is also what comes back if the change is taken back.
func TestAnEditAppliesToTextThatIsNotSaved(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "one\r\ntwo\r\n"}, &fakeEditor{keeps: true})
	d.read("a.txt", 0, 0)
	d.editor.buffers["a.txt"] = "one\nzwei\n"
	hasAll(t, d.refused("edit_file", edit("a.txt", "two", "2")), "old_text does not occur")
	hasAll(t, d.refused("edit_file", edit("a.txt", "zwei", "2")), "line 2 of a.txt", "start_line 2")
	d.read("a.txt", 0, 0)
	r := d.makes("edit_file", edit("a.txt", "zwei", "2"))
	d.want("a.txt", "one\r\n2\r\n")
	d.wantMade(r, "a.txt", change.Done, sha("one\r\nzwei\r\n"))
	equal(t, "image", string(r.Made.Image), "one\r\nzwei\r\n")
}

// An editor that saves later has the text; the effects are what the file will be.
func TestAnEditorThatSavesLater(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "one\r\ntwo\r\n"}, &fakeEditor{keeps: true, lazy: true, format: func(text string) string { return text + "end\n" }})
	d.read("a.txt", 0, 0)
	before := d.hash("a.txt")
	r := d.makes("edit_file", edit("a.txt", "two", "2"))
	d.want("a.txt", "one\r\ntwo\r\n")
	hasAll(t, shownText(r), "The editor changed the text further", "The editor has not saved it yet.", "+end\n")
	if _, ok := d.texts.Get("a.txt"); !ok {
		t.Error("searches do not find the text")
	}
	must(t, d.editor.save("a.txt"))
	d.wantMade(r, "a.txt", change.Done, before)
	d.made("edit_file", edit("a.txt", "end", "END")) // the same text, although it is saved now
}

// Some editors leave out the last newline when they show a file. It stays in the file.
func TestAnEditorThatLeavesOutTheLastNewline(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", ""} {
		d := newDesk(t, map[string]string{"a.txt": strings.Join([]string{"one", "two", ""}, cmp.Or(end, "\n")) + "three" + end}, &fakeEditor{trims: true})
		d.read("a.txt", 0, 0)
		before := d.hash("a.txt")
		r := d.makes("edit_file", edit("a.txt", "two", "2"))
		d.want("a.txt", strings.Join([]string{"one", "2", ""}, cmp.Or(end, "\n"))+"three"+end)
		d.wantMade(r, "a.txt", change.Done, before)
		equal(t, "result", strings.Contains(shownText(r), "The editor"), false)
		d.made("edit_file", edit("a.txt", "three", "3"))
		d.want("a.txt", strings.Join([]string{"one", "2", ""}, cmp.Or(end, "\n"))+"3"+end)
	}
}

// What becomes of a change is told, whatever the editor says.
func TestWhatAnEditorDidIsTold(t *testing.T) {
	const before, after = "one\ntwo\n", "one\n2\n"
	refused := &clients.Refused{Code: -32603, Message: "disk\x1b[31m full\n" + strings.Repeat("x", 4000)}
	const quoted = `the editor responded with an error: "disk\x1b[31m full xxx`
	for name, tt := range map[string]struct {
		text, buffer string // of the file on disk and in the editor after the write; empty: as before
		said         error
		writeOnly    bool
		state        change.State
		want         string
	}{
		"refuses":                        {said: refused, state: change.NotDone, want: "Nothing was changed: " + quoted},
		"refuses, and writes":            {text: after, said: refused, state: change.Done, want: "The file has the new text, although " + quoted},
		"refuses, and does not save":     {buffer: after, said: refused, state: change.Done, want: "The editor has not saved it yet."},
		"refuses, and writes otherwise":  {text: "else\n", said: refused, state: change.Unknown, want: "It is unknown whether a.txt was changed: " + quoted},
		"ignores":                        {state: change.NotDone, want: "Nothing was changed: the editor reported success, but did not write the text; a.txt has not changed."},
		"writes otherwise":               {text: "else\n", state: change.Done, want: "+else\n"},
		"ends before":                    {said: clients.ErrGone, state: change.NotDone, want: "Nothing was changed: the editor's connection ended before its response; a.txt has not changed."},
		"ends after":                     {text: after, said: clients.ErrGone, state: change.Done, want: "The file has the new text, although the editor's connection ended"},
		"ends, and wrote otherwise":      {text: "else\n", said: clients.ErrGone, state: change.Unknown, want: "It is unknown whether a.txt was changed: the editor's connection ended"},
		"ends, and did not save":         {buffer: after, said: clients.ErrGone, state: change.NotDone, want: "a.txt has not changed"},
		"is late":                        {said: fmt.Errorf("%w: 10 s", clients.ErrLate), state: change.NotDone, want: "Nothing was changed so far: the editor did not respond in time; a.txt has not changed. The editor may still write the file"},
		"is late, and writes":            {text: after, said: clients.ErrLate, state: change.Done, want: "The file has the new text, although the editor did not respond in time."},
		"responds with nonsense":         {said: fmt.Errorf("%w: <evil>", clients.ErrInvalid), state: change.NotDone, want: "the editor's response is invalid; a.txt has not changed"},
		"deletes":                        {text: filecontext.NoFile, state: change.Unknown, want: "It is unknown whether a.txt was changed"},
		"ignores, and cannot read":       {writeOnly: true, state: change.Unknown, want: "the editor reported success, but did not write the text. Read it"},
		"writes, and cannot read":        {text: after, writeOnly: true, state: change.Done, want: "+2\n"},
		"formats, and cannot read":       {text: "else\n", writeOnly: true, state: change.Done, want: "+else\n"},
		"refuses, and cannot read":       {said: refused, writeOnly: true, state: change.NotDone, want: "Nothing was changed: " + quoted},
		"writes bytes, and cannot read":  {text: "\x00\x01", writeOnly: true, state: change.Unknown, want: "It is unknown"},
		"ends, and wrote bytes":          {text: "\x00\x01", said: clients.ErrGone, state: change.Unknown, want: "It is unknown"},
		"writes only other line ends":    {text: "one\r\ntwo\r\n", state: change.Done, want: "the editor undid them: a.txt has not changed"},
		"writes with other line ends":    {text: "one\r\n2\r\n", said: clients.ErrGone, state: change.Done, want: "+2\n"},
		"writes with a byte order mark":  {text: "\ufeffone\n2\n", state: change.Done, want: "Edited a.txt, which now has 2 lines.\n"},
		"writes the text and formats it": {text: after, buffer: "one\n2\n3\n", state: change.Done, want: "The editor changed the text further"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"a.txt": before}, &fakeEditor{writeOnly: tt.writeOnly})
			d.editor.writing = func(context.Context, string) error {
				switch tt.text {
				case "":
				case filecontext.NoFile:
					must(t, os.Remove(filepath.Join(d.folder, "a.txt")))
				default:
					write(t, filepath.Join(d.folder, "a.txt"), tt.text)
				}
				if tt.buffer != "" {
					d.editor.buffers["a.txt"] = tt.buffer
				}
				return tt.said
			}
			d.read("a.txt", 0, 0)
			r := d.makes("edit_file", edit("a.txt", "two", "2"))
			hasAll(t, shownText(r), tt.want)
			if strings.ContainsAny(shownText(r), "\x1b<>") || r.Size() > 2000 {
				t.Errorf("the result is %q", shownText(r))
			}
			if tt.buffer != "" && tt.text == "" && tt.state == change.Done {
				must(t, d.editor.save("a.txt"))
			}
			d.wantMade(r, "a.txt", tt.state, sha(before))
			if tt.state != change.Done && len(shownLines(r))+len(r.Diffs) > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestANewFileThatAnEditorDoesNotWrite(t *testing.T) {
	d := newDesk(t, nil, &fakeEditor{})
	d.editor.writing = func(context.Context, string) error { return &clients.Refused{Code: 1, Message: "outside the project"} }
	r := d.makes("write_file", members{"path": "new.txt", "content": "a\n"})
	equal(t, "result", shownText(r), "Nothing was changed: the editor responded with an error: outside the project (code 1); new.txt does not exist.")
	d.wantMade(r, "new.txt", change.NotDone, filecontext.NoFile)
	d.editor.writing = func(context.Context, string) error { return nil }
	r = d.makes("write_file", members{"path": "new.txt", "content": "a\n"})
	hasAll(t, shownText(r), "It is unknown whether new.txt was changed: the editor reported success, but did not write the text.")
	d.wantMade(r, "new.txt", change.Unknown, filecontext.NoFile)
}

// Nothing is planned in a text that is not known, and nothing written that was not sent.
func TestAnEditorThatCannotBeAsked(t *testing.T) {
	for _, said := range []error{clients.ErrLate, clients.ErrBusy, fmt.Errorf("%w: <evil>", clients.ErrInvalid)} {
		d := newDesk(t, map[string]string{"a.txt": "a\n"}, &fakeEditor{})
		d.read("a.txt", 0, 0)
		d.editor.reading = func(string) error { return said }
		why := d.refused("edit_file", edit("a.txt", "a", "b"))
		hasAll(t, why, "Nothing was changed in a.txt: ", " editor")
		if strings.Contains(why, "evil") {
			t.Errorf("%q", why)
		}
		d.editor.reading = nil
		p := d.prepare("edit_file", edit("a.txt", "a", "b"))
		d.editor.reading = func(string) error { return said }
		r, err := p.Make(t.Context())
		must(t, err)
		if !r.IsError || r.Made.State != change.NotDone || d.editor.wrote() > 0 {
			t.Errorf("%v: %+v", said, r)
		}
		d.editor.reading, d.editor.writing = nil, func(context.Context, string) error { return clients.ErrBusy }
		if r = d.makes("edit_file", edit("a.txt", "a", "b")); !r.IsError || r.Made.State != change.NotDone {
			t.Errorf("%+v", r)
		}
		hasAll(t, shownText(r), "Nothing was changed in a.txt: too many requests")
	}
}

func TestRefusedPathsAreNotSentToAnEditor(t *testing.T) {
	d := newDesk(t, map[string]string{"dir/x": "x", ".env": "x", "secret/.env": "x", "locked": "x\n"}, &fakeEditor{})
	must(t, os.Chmod(filepath.Join(d.folder, "locked"), 0o400))
	must(t, os.Symlink(t.TempDir(), filepath.Join(d.folder, "out")))
	must(t, os.Symlink("secret/.env", filepath.Join(d.folder, "plain.txt")))
	must(t, os.Symlink("nowhere", filepath.Join(d.folder, "dangling")))
	for path, want := range map[string]string{
		"../x": "is outside the workspace", "/etc/passwd": "is outside the workspace", "out/x": "is outside", ".env": "looks like a secret",
		"plain.txt": "looks like a secret", "new/.env": "looks like a secret", "dir": "is a folder", "locked": "is read-only", "dangling": "does not exist",
	} {
		hasAll(t, d.refused("write_file", members{"path": path, "content": "y"}), want)
		d.refused("edit_file", edit(path, "x", "y"))
	}
	if len(d.editor.asked) > 0 {
		t.Errorf("the editor was asked to %q", d.editor.asked)
	}
	d.writer = NewEditorWriter(DiskWriter{Roots: d.work.Roots, Secrets: true}, d.editors, d.texts)
	d.editor.reading = func(string) error { return &clients.Refused{} }
	d.made("write_file", members{"path": "new/.env", "content": "y"})
}

// Before the editor writes, everything must be as it was when the change was planned.
func TestWhatChangesWhileTheUserIsAskedIsNotWritten(t *testing.T) {
	for name, disturb := range map[string]func(d *desk){
		"the editor's text": func(d *desk) { d.editor.buffers["sub/a.txt"] = "typed\n" },
		"the file":          func(d *desk) { write(d.t, filepath.Join(d.folder, "sub/a.txt"), "else\n") },
		"the file's line ends, which the editor does not show": func(d *desk) {
			d.editor.buffers["sub/a.txt"] = "a\n"
			write(d.t, filepath.Join(d.folder, "sub/a.txt"), "a\r\n")
		},
		"the folder": func(d *desk) {
			must(d.t, os.Rename(filepath.Join(d.folder, "sub"), filepath.Join(d.folder, "other")))
			write(d.t, filepath.Join(d.folder, "sub/a.txt"), "a\n")
		},
		"the folder, which is a link now": func(d *desk) {
			out := d.t.TempDir()
			write(d.t, filepath.Join(out, "a.txt"), "a\n")
			must(d.t, os.Rename(filepath.Join(d.folder, "sub"), filepath.Join(d.folder, "other")))
			must(d.t, os.Symlink(out, filepath.Join(d.folder, "sub")))
		},
		"the mode":         func(d *desk) { must(d.t, os.Chmod(filepath.Join(d.folder, "sub/a.txt"), 0o400)) },
		"the file is gone": func(d *desk) { must(d.t, os.Remove(filepath.Join(d.folder, "sub/a.txt"))) },
		"the editor refuses": func(d *desk) {
			d.editor.reading = func(string) error { return &clients.Refused{} }
			write(d.t, filepath.Join(d.folder, "sub/a.txt"), "else\n")
		},
	} {
		d := newDesk(t, map[string]string{"sub/a.txt": "a\n"}, &fakeEditor{})
		d.read("sub/a.txt", 0, 0)
		p := d.prepare("edit_file", edit("sub/a.txt", "a", "b"))
		disturb(d)
		r, err := p.Make(t.Context())
		must(t, err)
		if d.editor.wrote() > 0 || !r.IsError || r.Made.State != change.NotDone {
			t.Errorf("%s: %q, %+v", name, d.editor.asked, r)
		}
		hasAll(t, shownText(r), "Nothing was changed: sub/a.txt ")
	}
	d := newDesk(t, nil, &fakeEditor{})
	p := d.prepare("write_file", members{"path": "new.txt", "content": "a\n"})
	equal(t, "mode", p.Mode, uint32(0))
	write(t, filepath.Join(d.folder, "new.txt"), "else\n")
	r, err := p.Make(t.Context())
	must(t, err)
	hasAll(t, shownText(r), "new.txt has changed since the change was planned")
	d.want("new.txt", "else\n")
}

func TestTheServerWritesWithoutAnEditor(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "a\r\nb\r\n"}, nil)
	d.read("a.txt", 0, 0)
	r := d.makes("edit_file", edit("a.txt", "a", "A"))
	d.want("a.txt", "A\r\nb\r\n")
	d.wantMade(r, "a.txt", change.Done, sha("a\r\nb\r\n"))
	d.made("write_file", members{"path": "new.txt", "content": "a\r\nb"})
	d.want("new.txt", "a\r\nb")
}

// An editor whose connection has ended before it was told to write is replaced, by the disk if there is no other.
func TestAnEditorThatIsGoneIsReplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		buffer, disk string
		want         string
		result       string
	}{
		"its text was saved":                        {"", "a\r\nb\r\n", "A\r\nb\r\n", "Edited a.txt"},
		"its text was not saved":                    {"a\nc\n", "a\r\nb\r\n", "a\r\nb\r\n", "a.txt has changed since the change was planned"},
		"its text is the disk's once it is changed": {"a\nb\n", "A\nb\n", "A\nb\n", "a.txt has changed since the change was planned"},
	} {
		gone := func(string) error { return clients.ErrGone }
		files := map[string]string{"a.txt": tt.disk}
		d := newDesk(t, files, &fakeEditor{})
		if tt.buffer != "" {
			d.editor.buffers["a.txt"] = tt.buffer
		}
		d.read("a.txt", 0, 0)
		p := d.prepare("edit_file", edit("a.txt", "a", "A"))
		before := d.hash("a.txt")
		d.editor.reading = gone
		r, err := p.Make(t.Context())
		must(t, err)
		hasAll(t, shownText(r), tt.result)
		d.want("a.txt", tt.want)
		if len(d.gone) != 1 {
			t.Errorf("%s: %d clients are gone", name, len(d.gone))
		}
		if tt.buffer == "" {
			d.wantMade(r, "a.txt", change.Done, before)
		}

		d = newDesk(t, files, &fakeEditor{reading: gone})
		d.read("a.txt", 0, 0)
		d.made("edit_file", edit("a.txt", "b", "B"))
		d.want("a.txt", strings.Replace(tt.disk, "b", "B", 1))
	}
	d := newDesk(t, nil, &fakeEditor{})
	p := d.prepare("write_file", members{"path": "x/new.txt", "content": "a\r\n"})
	d.editor.reading = func(string) error { return clients.ErrGone }
	r, err := p.Make(t.Context())
	must(t, err)
	d.want("x/new.txt", "a\r\n")
	d.wantMade(r, "x/new.txt", change.Done, filecontext.NoFile)
}

// A text that a client gave and has not saved is the present one for an editor that cannot read, until the file changes.
func TestATextThatAClientGaveIsEdited(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "old\n"}, &fakeEditor{writeOnly: true})
	ref, err := d.work.Roots.Locate("a.txt")
	must(t, err)
	given, err := d.work.Roots.Opened(t.Context(), ref, "given\n")
	must(t, err)
	d.texts.Put(&given)
	d.view.Add(&history.FileLines{Path: "a.txt", Version: given.Version(), Of: 1, Lines: []history.Lines{lines(1, 1)}})
	d.made("edit_file", edit("a.txt", "given", "edited"))
	d.want("a.txt", "edited\n")
	d.texts.Put(&given)
	hasAll(t, d.refused("edit_file", edit("a.txt", "given", "again")), "old_text does not occur")
}

// The editor decides how a file is encoded; bytes that it does not show are not lost.
func TestEncodingsThroughAnEditor(t *testing.T) {
	latin := &fakeEditor{writing: func(context.Context, string) error { return errDo }}
	d := newDesk(t, map[string]string{"a.txt": "gr\xfcn\nb\n"}, latin)
	d.editor.buffers["a.txt"] = "gr\ufffdn\nb\n"
	d.read("a.txt", 0, 0)
	hasAll(t, d.refused("edit_file", edit("a.txt", "b", "c")), "a.txt cannot be changed: it contains bytes that are not UTF-8, which would be lost")
	latin.buffers["a.txt"] = "grün\nb\n"
	latin.writing = func(context.Context, string) error {
		latin.buffers["a.txt"] = "grün\nc\n"
		write(t, filepath.Join(d.folder, "a.txt"), "gr\xfcn\nc\n")
		return nil
	}
	d.read("a.txt", 0, 0)
	before := d.hash("a.txt")
	r := d.makes("edit_file", edit("a.txt", "b", "c"))
	equal(t, "result", strings.Split(shownText(r), "\n")[0], "Edited a.txt, which now has 2 lines.")
	d.wantMade(r, "a.txt", change.Done, before)

	wide := "\xff\xfea\x00\r\x00\n\x00b\x00\r\x00\n\x00"
	d = newDesk(t, map[string]string{"w.txt": wide, "m.txt": "\ufeffa\r\nb\r\n"}, &fakeEditor{writeOnly: true})
	for _, name := range []string{"w.txt", "m.txt"} {
		d.read(name, 0, 0)
		d.made("edit_file", edit(name, "b", "c"))
	}
	d.want("w.txt", "a\r\nc\r\n")
	d.want("m.txt", "\ufeffa\r\nc\r\n")
}

// A cancelled call waits for no editor. If the editor was told to write, the disk says what it has done.
func TestACancelledCallDoesNotWaitForAnEditor(t *testing.T) {
	for _, tt := range []struct {
		during string
		writes bool
		state  change.State
		want   string
	}{
		{"read", false, change.NotDone, ""},
		{"write", false, change.NotDone, "Nothing was changed so far: the call was cancelled while the editor wrote the file; a.txt has not changed. The editor may still write the file"},
		{"write", true, change.Done, "The file has the new text, although the call was cancelled while the editor wrote the file."},
		{"read back", false, change.Done, "Edited a.txt"},
	} {
		d := newDesk(t, map[string]string{"a.txt": "a\n"}, &fakeEditor{})
		ctx, cancel := context.WithCancelCause(t.Context())
		waits := func() error {
			cancel(errors.New("the user"))
			<-ctx.Done()
			return context.Cause(ctx)
		}
		d.read("a.txt", 0, 0)
		p := d.prepare("edit_file", edit("a.txt", "a", "b"))
		asked := len(d.editor.asked)
		requests := map[string]int{"read": 1, "write": 2, "read back": 3}[tt.during]
		d.editor.reading = func(string) error {
			if len(d.editor.asked)-asked == requests {
				return waits()
			}
			return nil
		}
		d.editor.writing = func(context.Context, string) error {
			if tt.writes {
				write(t, filepath.Join(d.folder, "a.txt"), "b\n")
			}
			if tt.during == "write" {
				return waits()
			}
			return errDo
		}
		r, err := p.Make(ctx)
		if n := len(d.editor.asked) - asked; n != requests {
			t.Errorf("%s: %q", tt.during, d.editor.asked[asked:])
		}
		if tt.want == "" {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			continue
		}
		must(t, err)
		hasAll(t, shownText(r), tt.want)
		d.wantMade(r, "a.txt", tt.state, sha("a\n"))
	}
}

// Two changes of a file are made one after the other: the second one finds the text of the first, and is not made.
func TestChangesOfAFileWaitForAnEditor(t *testing.T) {
	for _, second := range []string{"an editor", "the disk"} {
		folder := folderOf(t, map[string]string{"a.txt": "a\n"})
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, nil, &fakeEditor{})
			d.folder, d.editor.folder, d.work = folder, folder, workspaceOf(t, folder)
			d.work.Shown, d.work.Reader = d.view, d
			d.writer = NewEditorWriter(DiskWriter{Roots: d.work.Roots}, d.editors, d.texts)
			d.read("a.txt", 0, 0)
			first := d.prepare("edit_file", edit("a.txt", "a", "first"))
			if second == "the disk" {
				d.writer = DiskWriter{Roots: d.work.Roots}
			}
			other := d.prepare("edit_file", edit("a.txt", "a", "second"))
			written := make(chan struct{})
			d.editor.writing = func(context.Context, string) error {
				<-written
				return errDo
			}
			run := func(p *tools.Prepared) <-chan tools.Result {
				result := make(chan tools.Result, 1)
				go func() {
					r, err := p.Make(t.Context())
					if err != nil {
						t.Error(err)
					}
					result <- r
				}()
				synctest.Wait()
				return result
			}
			made, waiting := run(first), run(other)
			d.want("a.txt", "a\n")
			close(written)
			hasAll(t, shownText(<-made), "Edited a.txt")
			hasAll(t, shownText(<-waiting), "Nothing was changed: a.txt has changed since the change was planned")
			d.want("a.txt", "first\n")
		})
	}
}

// Without an editor that writes, a file whose unsaved text a client has given stays as it is until the user saves it.
func TestAFileWithUnsavedTextIsNotChangedOnDisk(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\ntwo\n"})
	texts := make(shownTexts)
	b.writer = NewEditorWriter(DiskWriter{Roots: b.work.Roots}, func(clients.Client) (clients.Client, uint64) { return nil, 0 }, texts)
	ref, err := b.work.Roots.Locate("a.txt")
	must(t, err)
	unsaved, err := b.work.Roots.Opened(t.Context(), ref, "one\nmine\n")
	must(t, err)
	texts.Put(&unsaved)
	b.read("a.txt", 0, 0)
	for name, input := range map[string]any{"edit_file": edit("a.txt", "two", "2"), "write_file": members{"path": "a.txt", "content": "x"}} {
		hasAll(t, b.refused(name, input), "Nothing was changed: a.txt has unsaved changes in the user's editor")
	}
	write(t, filepath.Join(b.folder, "a.txt"), "one\nmine\n") // the user saves it
	b.read("a.txt", 0, 0)
	b.made("edit_file", edit("a.txt", "mine", "2"))
}
