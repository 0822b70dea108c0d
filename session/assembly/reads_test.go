package assembly

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
	"strata/session/fit"
	"strata/session/profile"
	"strata/session/reads"
	"strata/stability"
	"strata/tokens"
)

// readDesk is a state whose tools read files of a folder.
type readDesk struct {
	State
	t      *testing.T
	stored *talk
	folder string
}

func newReadDesk(t *testing.T, layout string) *readDesk {
	t.Helper()
	d := &readDesk{t: t, stored: begun("look at the files"), folder: t.TempDir()}
	d.State = stateOf(t, d.stored, stability.Options{Layout: layout})
	roots, err := filecontext.NewRoots(t.Context(), d.folder, nil, filecontext.Limits{FileBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	d.Roots, d.Reads = roots, new(reads.Reads)
	return d
}

func (d *readDesk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// read adds a step in which a tool reads a file whole.
func (d *readDesk) read(name string) {
	d.t.Helper()
	ref, err := d.Roots.Locate(name)
	if err != nil {
		d.t.Fatal(err)
	}
	c, err := d.Roots.Read(d.t.Context(), ref)
	if err != nil {
		d.t.Fatal(err)
	}
	f := &history.FileLines{Path: c.Path, Version: c.Version(), Of: c.Lines, Lines: []history.Lines{{Start: 1, End: c.Lines}}}
	d.stored.say(history.RoleAssistant, "I read "+name)
	d.stored.say(history.RoleTool, "")
	m := &d.stored.messages[len(d.stored.messages)-1]
	call := &d.stored.messages[len(d.stored.messages)-2]
	call.Blocks = append(call.Blocks, history.Block{Type: history.BlockToolCall, CallID: m.ID, Name: "read_file", Args: `{}`})
	m.Blocks = []history.Block{{Type: history.BlockToolResult, CallID: m.ID, Content: []history.Block{
		{Type: history.BlockText, Text: filecontext.RenderLines(c.Path, c.Text, filecontext.Range{}, c.Lines, false), File: f},
	}}}
	m.Tokens = content.Tokens(d.t.Context(), tokens.For(""), m.Blocks)
	d.View = d.stored.view()
}

// texts returns the texts of a request that is built and answered, and what is to be stored of its layout.
func (d *readDesk) texts() ([]string, history.Layout) {
	d.t.Helper()
	b, layout, _ := asked(d.t, &d.State, d.stored)
	var all []string
	for _, e := range b.Request.Entries {
		m := history.Message{Blocks: e.Blocks}
		all = append(all, m.PlainText())
	}
	return all, layout
}

// In both layouts a change of a file that a tool read is told behind everything that is cached, once, also after a restart.
func TestAChangeOfAReadFileIsToldOnce(t *testing.T) {
	for _, layout := range []string{"log", "ripple"} {
		d := newReadDesk(t, layout)
		d.write("a.go", words(30))
		d.read("a.go")
		before, _ := d.texts()
		d.write("a.go", words(31))
		replied(&d.State, d.stored, "go on")
		after, stored := d.texts()
		kept := before
		if layout == "ripple" {
			kept = before[:1] // the notes of this layout stand before the messages that are in no cache
		}
		if !slices.Equal(kept, after[:min(len(kept), len(after))]) {
			t.Errorf("%s: what was sent has changed:\n%q\n%q", layout, before, after)
		}
		if !strings.Contains(strings.Join(after[min(len(kept), len(after)):], "\n"), "a.go has changed since it was read: line 1.\n") {
			t.Errorf("%s: %q", layout, after)
		}
		var err error
		if d.Layout, err = NewLayout(stability.Options{Layout: layout}, stored, func(string) *stability.Mirror { return d.Mirrors.Of("x", d.Now()) }); err != nil {
			t.Fatal(err)
		}
		d.Reads, d.Pictures = new(reads.Reads), new(content.Gallery)
		replied(&d.State, d.stored, "go on")
		again, _ := d.texts()
		if n := strings.Count(strings.Join(again, "\n"), "a.go has changed"); n != 1 {
			t.Errorf("%s: told %d times after a restart", layout, n)
		}

		// The note leaves with its message; it is told again.
		d.View = slices.Delete(slices.Clone(d.View), 3, 6)
		again, _ = d.texts()
		if n := strings.Count(strings.Join(again, "\n"), "a.go has changed"); n != 1 || strings.Contains(strings.Join(again, "\n"), noFiles) {
			t.Errorf("%s: told %d times after an eviction: %q", layout, n, again)
		}
		// Nothing is told of a text that is no longer shown.
		d.stored.say(history.RoleUser, "something else")
		d.View = d.stored.view()[len(d.stored.messages)-1:]
		again, _ = d.texts()
		if live := d.liveNotes(); live != 0 {
			t.Errorf("%s: %d notes on a text that is not shown: %q", layout, live, again)
		}
	}
}

// liveNotes returns the number of notes that the newest request needs.
func (d *readDesk) liveNotes() (n int) {
	for _, e := range d.Layout.entries() {
		if e.Kind == stability.Note && !e.Dead {
			n++
		}
	}
	return n
}

// The diffs of one note are bounded together; the lines remain.
func TestTheDiffsOfANoteAreBounded(t *testing.T) {
	d := newReadDesk(t, "log")
	lines := func(word string) string {
		return strings.Repeat(words(30)+"\n", 260) + strings.Repeat(word+" "+words(30)+"\n", 25)
	}
	for _, name := range []string{"a", "b", "c"} {
		d.write(name, lines("before"))
		d.read(name)
		d.write(name, lines("after"))
	}
	all, _ := d.texts()
	note := all[slices.IndexFunc(all, func(text string) bool { return strings.HasPrefix(text, "Changes to files") })]
	if n, diffs := strings.Count(note, "has changed"), strings.Count(note, "+++ "); n != 3 || diffs != 2 {
		t.Errorf("%d files and %d diffs in a note of %d tokens", n, diffs, d.Counter.Count(note))
	}
	if size := d.Counter.Count(note); size > diffsTold+200 {
		t.Errorf("a note of %d tokens", size)
	}
}

// In the view of a loop only the newest exchange is shown as it is.
func TestALoopShowsReadsOfTheNewestExchange(t *testing.T) {
	d := newReadDesk(t, "log")
	d.write("a.go", "package a\n")
	d.read("a.go")
	state := func() string {
		files, err := d.State.Read(t.Context())
		if err != nil || len(files) != 1 {
			t.Fatalf("%+v, %v", files, err)
		}
		return string(files[0].State)
	}
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	loop := all["loop"]
	d.Profile = &loop
	if s := state(); s != "full" {
		t.Errorf("in the running exchange: %s", s)
	}
	d.stored.say(history.RoleAssistant, "done")
	replied(&d.State, d.stored, "next")
	if s := state(); s != "not_available" {
		t.Errorf("in a finished exchange: %s", s)
	}
	v, err := d.ShownLines(t.Context())
	if err != nil || v.Covers("a.go", fit.Hash("package a\n"), history.Lines{Start: 1, End: 1}) {
		t.Errorf("a finished exchange counts as shown (%v)", err)
	}
}
