package reads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/filecontext"
	"strata/history"
)

// desk is a folder, the results of tools that read in it, and a look at both.
type desk struct {
	t       *testing.T
	folder  string
	src     Source
	reads   *Reads
	stored  []history.Message
	view    []history.Viewed
	fetched int // messages that were read from the store
}

func newDesk(t *testing.T, files map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, folder: t.TempDir(), reads: new(Reads)}
	for name, text := range files {
		d.write(name, text)
	}
	roots, err := filecontext.NewRoots(t.Context(), d.folder, nil, filecontext.Limits{FileBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	d.src = Source{Roots: roots, Count: words, Read: func(_ context.Context, seqs []int64) ([]history.Message, error) {
		d.fetched += len(seqs)
		return []history.Message{d.stored[seqs[0]-1]}, nil
	}}
	return d
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.folder, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) remove(name string) {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.folder, name)); err != nil {
		d.t.Fatal(err)
	}
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// blockOf returns the block of a read of lines of a file with a text; the zero Lines are all.
func blockOf(name, text string, shown history.Lines) history.Block {
	f := &history.FileLines{Path: name, Version: sha(text), Of: countLines(text)}
	all := filecontext.Range(shown)
	if all.IsWhole() && f.Of > 0 {
		shown = history.Lines{Start: 1, End: f.Of}
	}
	if f.Of > 0 {
		f.Lines = []history.Lines{shown}
	}
	return history.Block{Type: history.BlockText, Text: filecontext.RenderLines(name, filecontext.CutLines(text, all), all, f.Of, false), File: f}
}

// add adds a result with these texts.
func (d *desk) add(parts ...history.Block) {
	m := history.Message{ID: fmt.Sprint("m", len(d.stored)+1), Seq: int64(len(d.stored) + 1), Role: history.RoleTool,
		Blocks: []history.Block{{Type: history.BlockToolResult, CallID: "c", Content: parts}}}
	d.stored = append(d.stored, m)
	d.reads.Add(&m)
	d.view = append(d.view, history.Viewed{Head: m.Head(0)})
}

// read adds the result of reading a file as it is now.
func (d *desk) read(name string, shown ...history.Lines) {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.folder, name))
	if err != nil {
		d.t.Fatal(err)
	}
	d.add(blockOf(name, string(text), append(shown, history.Lines{})[0]))
}

func (d *desk) look() *Look {
	d.t.Helper()
	l, err := d.reads.Look(d.t.Context(), &d.src, d.view)
	if err != nil {
		d.t.Fatal(err)
	}
	return l
}

// wantStale checks the lines of all notes, and how many files have a diff.
func (d *desk) wantStale(diffs int, want ...string) {
	d.t.Helper()
	stale := d.look().Stale(d.view)
	var got []string
	for _, n := range stale {
		for _, line := range n.Lines {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
		if n.Diff != "" {
			diffs--
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || diffs != 0 {
		d.t.Errorf("%q, %d diffs missing; want %q", got, diffs, want)
	}
}

func (d *desk) wantFile(name string, state filecontext.State, reason string) {
	d.t.Helper()
	if f := d.look().File(name); f.State != state || f.Reason != reason {
		d.t.Errorf("%s: %s, %q; want %s, %q", name, f.State, f.Reason, state, reason)
	}
}

func TestAChangedFileIsToldWhileItsTextIsShown(t *testing.T) {
	long := numbered(1, 100)
	d := newDesk(t, map[string]string{"a": long, "b": "b\n"})
	d.read("a")
	d.read("b")
	d.wantStale(0)
	d.wantFile("a", filecontext.Full, ReasonRead)
	d.write("a", strings.Replace(long, "line 7\n", "seven\n", 1))
	d.wantStale(1, "a has changed since it was read: line 7.")
	d.wantFile("a", filecontext.NotAvailable, ReasonChanged)
	d.wantFile("b", filecontext.Full, ReasonRead)
	d.remove("b")
	d.wantStale(1, "a has changed since it was read: line 7.", "b has been deleted since it was read.")
	d.write("a", long)
	d.write("b", "b\n")
	d.wantStale(0)

	d.write("a", "new\n"+long)
	d.wantStale(1, "a has changed since it was read: line 1.")
	d.read("a", lines(1, 50)) // does not replace the whole
	d.wantStale(1, "a has changed since it was read: line 1.")
	d.read("a", lines(51, 101)) // together they do
	d.wantStale(0)
	d.wantFile("a", filecontext.Full, ReasonRead)

	d.view[0].Patches = []history.Patch{{Message: "m1", Text: "gone"}}
	d.view = d.view[:2]
	d.wantStale(0)
	d.wantFile("a", filecontext.NotAvailable, ReasonReadEarlier)
}

// Of parts of a file each is told as it is now, but not those that were read again.
func TestPartsOfAChangedFile(t *testing.T) {
	long := numbered(1, 100)
	d := newDesk(t, map[string]string{"a": long})
	d.read("a", lines(10, 20))
	d.read("a", lines(50, 60))
	d.wantFile("a", filecontext.Partial, ReasonRead)
	if f := d.look().File("a"); f.Lines != (history.Lines{}) {
		t.Errorf("lines in two places are told as %v", f.Lines)
	}
	d.write("a", "new\n"+strings.Replace(long, "line 12\n", "twelve\n", 1))
	d.wantStale(0, "a has changed since it was read, lines 10 to 20 too.",
		"a has changed since it was read: lines 50 to 60 are now lines 51 to 61, unchanged.")
	d.read("a", lines(10, 21))
	d.wantStale(0, "a has changed since it was read: lines 50 to 60 are now lines 51 to 61, unchanged.")
	if f := d.look().File("a"); f.State != filecontext.Partial || f.Lines != lines(10, 21) {
		t.Errorf("%+v", f)
	}
}

// A client's unsaved text is what the model should see: only a later change of the file on disk is one.
func TestUnsavedTextIsNoChange(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "disk\n"})
	unsaved, created := blockOf("a", "unsaved\n", history.Lines{}), blockOf("new", "text\n", history.Lines{})
	unsaved.File.Disk, created.File.Disk = sha("disk\n"), filecontext.NoFile
	d.add(unsaved, created)
	d.wantStale(0)
	d.wantFile("a", filecontext.Full, ReasonRead)
	d.wantFile("new", filecontext.Full, ReasonRead)
	d.write("a", "unsaved\n")
	d.write("new", "text\n")
	d.wantStale(0)
	d.wantFile("a", filecontext.Full, ReasonRead)
	d.write("a", "another\n")
	d.wantStale(0, "a has changed since it was read: line 1.")
}

// Requests contain the changes of a file that the user added whole. Of one that the user added in part, the diff is told
// whatever its length.
func TestFilesOfTheUser(t *testing.T) {
	long := numbered(1, 100)
	d := newDesk(t, map[string]string{"a": long})
	d.read("a")
	changed := strings.ReplaceAll(long, "line", "row")
	d.write("a", changed)
	d.wantStale(0, "a has changed since it was read: lines 1 to 100.")
	e := filecontext.Entry{Content: filecontext.Content{Path: "a", Text: changed, Hash: sha(changed), Lines: 100}, State: filecontext.Partial}
	d.src.Files = []filecontext.Entry{e}
	d.wantStale(1, "a has changed since it was read: lines 1 to 100.")
	e.State = filecontext.Full
	d.src.Files = []filecontext.Entry{e}
	d.wantStale(0)
}

// The text of a block is read once for a change, not for each request, and not at all without one.
func TestALookReadsWhatHasChanged(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "a\n", "b": "b\n"})
	d.read("a")
	d.read("b")
	for range 3 {
		d.look()
	}
	if d.fetched != 0 {
		t.Errorf("%d messages were read without a change", d.fetched)
	}
	d.write("a", "A\n")
	for range 3 {
		d.look()
	}
	if d.fetched != 1 {
		t.Errorf("%d messages were read for one change", d.fetched)
	}
}

func TestALookIsBounded(t *testing.T) {
	d := newDesk(t, nil)
	for i := range MaxFiles + 20 {
		d.write(fmt.Sprint(i), "old\n")
		d.read(fmt.Sprint(i))
		d.write(fmt.Sprint(i), "new\n")
	}
	l := d.look()
	if n := len(slices.Collect(l.Paths())); n != MaxFiles {
		t.Errorf("%d files were looked at", n)
	}
	if stale := l.Stale(d.view); stale["19"].Lines != nil || stale["20"].Lines == nil {
		t.Error("not the files that were read last")
	}
	many := newDesk(t, map[string]string{"a": numbered(1, 100)})
	for i := range 20 {
		many.read("a", lines(5*i+1, 5*i+5))
	}
	many.write("a", "")
	if n := len(many.look().Stale(many.view)["a"].Lines); n != maxPassages {
		t.Errorf("%d lines about one file", n)
	}
}

// What the store cannot give and what is gone is no error; what is no file of the folder neither.
func TestWhatCannotBeRead(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "a\n"})
	d.read("a")
	d.add(blockOf("../outside", "x\n", history.Lines{}))
	d.write("a", "A\n")
	d.src.Read = func(context.Context, []int64) ([]history.Message, error) { return []history.Message{{ID: "m1"}}, nil }
	d.wantStale(0)
	var none *Reads
	none.Add(&d.stored[0])
	l, err := none.Look(t.Context(), &d.src, d.view)
	if err != nil || len(none.Files()) > 0 || len(l.Stale(d.view)) > 0 {
		t.Errorf("%+v, %v", l, err)
	}
	if err := os.Mkdir(filepath.Join(d.folder, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.add(blockOf("dir", "x\n", history.Lines{}))
	d.wantFile("dir", filecontext.Full, ReasonRead) // nobody knows better
}

// The notes are those on what a request shows in the end, which can be less than the view of the look.
func TestNotesOnWhatARequestShows(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "a\n"})
	d.read("a")
	d.read("a")
	d.write("a", "A\n")
	l := d.look()
	patched := slices.Clone(d.view)
	for i := range patched {
		patched[i].Patches = []history.Patch{{Message: patched[i].ID, Text: "gone"}}
	}
	for name, tt := range map[string]struct {
		view []history.Viewed
		want int
	}{
		"all": {d.view, 1}, "the older one": {d.view[:1], 1}, "a newer one only": {[]history.Viewed{patched[0], d.view[1]}, 1},
		"both replaced": {patched, 0}, "none": {nil, 0},
	} {
		if n := len(l.Stale(tt.view)["a"].Lines); n != tt.want {
			t.Errorf("%s: %d lines", name, n)
		}
	}
}

// Requests are built on several goroutines while messages are added.
func TestReadsAreUsedConcurrently(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "a\n"})
	d.read("a")
	d.write("a", "A\n")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			l, err := d.reads.Look(t.Context(), &Source{Roots: d.src.Roots, Count: words, Read: func(context.Context, []int64) ([]history.Message, error) { return d.stored, nil }}, d.view)
			if err != nil || l.Stale(d.view)["a"].Lines == nil || d.reads.Files() == nil {
				t.Errorf("%+v, %v", l, err)
			}
		})
		all.Go(func() { d.reads.Add(&d.stored[0]) })
	}
	all.Wait()
}
