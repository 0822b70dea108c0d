package restoring

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"strata/history"
)

func TestFilesArePutBackAndForward(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one\n", "b": "old\n", "m": "moved\n"})
	d.edits("a", "two\n")
	d.edits("a", "three\n")
	d.edits("b", "")
	d.edits("new", "n\n")
	d.commit(nil, d.move("m", "dir/m"))
	want := "a restored put_back; b restored created; dir/m to m restored moved; new restored deleted"
	preview := d.do(After(0), true)
	d.wantTold("preview", preview, want)
	d.want("a", "three\n")
	done := d.restore(After(0), "edit_1")
	equal(t, "restored", done.Files, preview.Files)
	for name, text := range map[string]string{"a": "one\n", "b": "old\n", "m": "moved\n", "new": "", "dir/m": ""} {
		d.want(name, text)
	}
	equal(t, "diff", *done.Files[0].Diff, history.Diff{
		Path: d.path("a"), Hunks: []history.TextHunk{{OldStart: 1, NewStart: 1, Old: "three\n", New: "one\n"}},
	})
	equal(t, "states", d.states(), "fc_1 restored edit_1; fc_2 restored edit_1; fc_3 restored edit_1; fc_4 restored edit_1; fc_5 restored edit_1")
	if done := d.do(After(0), false); len(done.Files) > 0 {
		t.Errorf("again: %s", d.told(done))
	}

	forward := d.restore(UndoOf("edit_1"), "edit_2")
	d.wantTold("forward", forward, "a restored put_back; b restored deleted; m to dir/m restored moved; new restored created")
	for name, text := range map[string]string{"a": "three\n", "b": "", "m": "", "new": "n\n", "dir/m": "moved\n"} {
		d.want(name, text)
	}
	equal(t, "states", d.states(), "fc_1 done; fc_2 done; fc_3 done; fc_4 done; fc_5 done")
	if done := d.do(UndoOf("edit_1"), false); done != nil {
		t.Errorf("undo again: %s", d.told(done))
	}
}

func TestARestoreLeavesWhatOthersWrote(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one", "b": "one", "gone": "one", "m": "moved", "same": "one"})
	for _, name := range []string{"a", "b", "gone", "same"} {
		d.edits(name, "two")
	}
	d.edits("new", "two")
	d.commit(nil, d.move("m", "n"))
	d.write("a", file{"foreign", 0o644})
	d.write("gone", file{})
	d.write("m", file{"foreign", 0o644})
	d.write("new", file{"foreign", 0o644})
	d.write("same", file{"one", 0o644})
	done := d.restore(After(0), "edit_1")
	d.wantTold("restored", done,
		"a conflict changed; gone conflict missing; m conflict exists; n conflict linked; new conflict changed; b restored put_back; same unchanged")
	for name, text := range map[string]string{"a": "foreign", "b": "one", "gone": "", "m": "foreign", "n": "moved", "new": "foreign", "same": "one"} {
		d.want(name, text)
	}
	equal(t, "states", d.states(), "fc_1 done; fc_2 restored edit_1; fc_3 done; fc_4 restored edit_1; fc_5 done; fc_6 done")
	equal(t, "sentence", done.Left(), "These files were not restored: "+strings.Join([]string{
		d.path("a"), d.path("gone"), d.path("m"), d.path("n"), d.path("new")}, ", ")+".")
}

func TestSingleChangesAreTakenBack(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one", "b": "one"})
	d.edits("a", "two")
	d.edits("a", "three")
	d.edits("b", "two")
	d.wantTold("the older", d.restore(Single([]string{"fc_1"}, false), ""), "a conflict later fc_2")
	d.want("a", "three")
	d.wantTold("the newer", d.restore(Single([]string{"fc_2"}, false), ""), "a restored put_back")
	d.want("a", "two")
	d.wantTold("both", d.restore(Single([]string{"fc_1", "fc_2"}, false), ""), "a restored put_back")
	d.want("a", "one")
	d.want("b", "two")
	equal(t, "states", d.states(), "fc_1 restored; fc_2 restored; fc_3 done")
	d.wantTold("the newer forward", d.restore(Single([]string{"fc_2"}, true), ""), "a conflict changed")
	d.wantTold("both forward", d.restore(Single([]string{"fc_2", "fc_1"}, true), ""), "a restored put_back")
	d.want("a", "three")
	d.wantTold("forward again", d.restore(Single([]string{"fc_2"}, true), ""), "")
	var unknown *UnknownError
	if _, err := d.files.Do(t.Context(), Single([]string{"fc_1", "fc_9"}, false), false); !errors.As(err, &unknown) || unknown.ID != "fc_9" {
		t.Error(err)
	}
	if done := d.do(Single(nil, false), false); len(done.Files) > 0 {
		t.Errorf("nothing: %s", d.told(done))
	}
}

// A later change that is put forward on top of others is a conflict, even if the contents fit.
func TestAnUndoBelowLaterChanges(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one"})
	d.edits("a", "two")
	d.restore(After(0), "edit_1")
	d.edits("a", "x")
	d.edits("a", "one")
	d.wantTold("undo", d.restore(UndoOf("edit_1"), "edit_2"), "a conflict later fc_2")
	d.want("a", "one")
}

func TestImagesThatAreNotStored(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one", "b": "one"})
	c, _ := d.tool("a", file{"two", 0o644})
	d.commit(nil, c)
	d.edits("c", "three")
	d.wantTold("restored", d.restore(After(0), "edit_1"), "a unavailable; c restored deleted")
	d.want("a", "two")
}

// What a restore replaces is stored before, even if the change has no image of it.
func TestWhatIsReplacedIsStored(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one", "m": "moved"})
	c, images := d.tool("a", file{"formatted", 0o644})
	d.commit(images[:1], c, d.move("m", "n"))
	d.wantTold("restored", d.restore(After(0), "edit_1"), "a restored put_back; n to m restored moved")
	d.wantTold("undone", d.restore(UndoOf("edit_1"), "edit_2"), "a restored put_back; m to n restored moved")
	d.want("a", "formatted")
	d.want("n", "moved")
}

// failing is a store that takes no changes.
type failing struct{}

var errDisk = errors.New("disk full")

func (failing) Commit(context.Context, history.Change) error { return errDisk }

func TestNothingIsWrittenThatCannotBeStored(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one"})
	c, images := d.tool("a", file{"two", 0o644})
	d.commit(images[:1], c)
	d.files.Saver = failing{}
	if _, err := d.files.Do(t.Context(), After(0), false); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	d.want("a", "two")
}

// full is a store that drops all its images when it gets one.
type full struct {
	Store
	saver interface {
		Commit(context.Context, history.Change) error
	}
	dropped bool
}

func (f *full) Commit(ctx context.Context, ch history.Change) error {
	f.dropped = f.dropped || len(ch.FileImages) > 0
	return f.saver.Commit(ctx, ch)
}

func (f *full) Images(ctx context.Context, session string, hashes []string) (map[string][]byte, error) {
	if f.dropped {
		return nil, nil
	}
	return f.Store.Images(ctx, session, hashes)
}

// What is put back is not lost because the store drops it for what is replaced.
func TestAStoreThatIsFull(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one", "m": "moved"})
	c, images := d.tool("a", file{"two", 0o644})
	d.commit(images[:1], c, d.move("m", "n"))
	store := &full{Store: d.files.Store, saver: d.files.Saver}
	d.files.Store, d.files.Saver = store, store
	d.wantTold("restored", d.restore(After(0), "edit_1"), "a restored put_back; n to m restored moved")
	d.want("a", "one")
	d.want("m", "moved")
	if !store.dropped {
		t.Error("nothing was stored")
	}
}

// racing is a store that calls a function before the nth look for an image.
type racing struct {
	Store
	n    int
	race func()
}

func (r *racing) Images(ctx context.Context, session string, hashes []string) (map[string][]byte, error) {
	if r.n--; r.n == 0 {
		r.race()
	}
	return r.Store.Images(ctx, session, hashes)
}

// Somebody writes a file after the plan was made: it stays, and so do the files that moves link to it.
func TestAFileWrittenDuringARestoreStays(t *testing.T) {
	for name, foreign := range map[string]string{
		"the one that is written": "m", "the one that is removed": "n",
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"a": "one", "m": "moved", "z": "one"})
			c, images := d.tool("a", file{"two", 0o644})
			d.commit(images, c)
			d.commit([]history.Blob{{Hash: file{"moved", 0o644}.hash(), Bytes: []byte("moved")}}, d.move("m", "n"))
			d.edits("z", "two")
			// Images are looked for once for each of the diffs of a and z, and then for each file that is written.
			d.files.Store = &racing{d.files.Store, 4, func() { d.write(foreign, file{"foreign", 0o644}) }}
			done := d.restore(After(0), "edit_1")
			d.wantTold("restored", done, "n conflict changed; a restored put_back; z restored put_back")
			d.want(foreign, "foreign")
			d.want("a", "one")
			d.want("z", "one")
			for _, other := range []string{"m", "n"} {
				if other != foreign {
					d.want(other, map[string]string{"m": "", "n": "moved"}[other])
				}
			}
			equal(t, "states", d.states(), "fc_1 restored edit_1; fc_2 done; fc_3 restored edit_1")
			d.wantNoTemps()
		})
	}
}

func TestARestoreThatEndsIsRepeated(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one", "b": "one too", "m": "moved"})
	d.edits("a", "two")
	d.edits("b", "two too")
	d.commit([]history.Blob{{Hash: file{"moved", 0o644}.hash(), Bytes: []byte("moved")}}, d.move("m", "n"))
	ctx, cancel := context.WithCancel(t.Context())
	store := d.files.Store
	d.files.Store = &racing{store, 4, cancel} // when b is written
	if _, err := d.files.Do(ctx, After(0), false); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	d.want("a", "one")
	d.want("b", "two too")
	d.files.Store = store
	d.wantTold("repeated", d.restore(After(0), "edit_1"), "a unchanged; b restored put_back; n to m restored moved")
	equal(t, "states", d.states(), "fc_1 restored edit_1; fc_2 restored edit_1; fc_3 restored edit_1")
}

func TestARestoreWithoutAFolder(t *testing.T) {
	d := newDesk(t, nil)
	d.files.Roots = nil
	if done := d.do(After(0), false); len(done.Files) > 0 {
		t.Error(done.Files)
	}
	d.edits("a", "two")
	if _, err := d.files.Do(t.Context(), After(0), false); !errors.Is(err, ErrNoFolder) {
		t.Error(err)
	}
}

func TestPathsThatARestoreLeaves(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one", "b": "one", "c": "one", "dir/d": "one", "readonly": "one"})
	for _, name := range []string{"a", "b", "c", "dir/d", "readonly"} {
		d.edits(name, "two")
	}
	outside := newDesk(t, map[string]string{"a": "two", "d": "two"})
	must(t, os.Remove(d.path("a")))
	must(t, os.Symlink("c", d.path("a")))
	must(t, os.Remove(d.path("b")))
	must(t, os.Mkdir(d.path("b"), 0o700))
	must(t, os.RemoveAll(d.path("dir")))
	must(t, os.Symlink(outside.folder, d.path("dir")))
	must(t, os.Chmod(d.path("readonly"), 0o444))
	far, _ := outside.tool("a", file{"three", 0o644})
	far.ID, far.Seq = "fc_far", 100
	d.commit(nil, far)
	done := d.restore(After(0), "edit_1")
	done.Files = slices.DeleteFunc(done.Files, func(f File) bool { return f.Path == outside.path("a") && f.Outcome == Conflict })
	d.wantTold("restored", done, "a conflict changed; b conflict changed; dir/d conflict changed; readonly conflict failed; c restored put_back")
	d.want("c", "one")
	d.want("readonly", "two")
	outside.want("a", "three")
	outside.want("d", "two")
}

func TestWhatARestoreTellsIsBounded(t *testing.T) {
	long := strings.Repeat("long/", 200)
	d := newDesk(t, nil)
	var changes []history.FileChange
	for range 1500 {
		c := d.change(long+string(rune('a'+d.n%26))+"/"+strings.Repeat("x", int(d.n)%100)+string(rune('a'+d.n/26%26))+string(rune('a'+d.n/676)), file{"x", 0o644})
		c.Kind, c.Before = history.FileDeleted, file{"x", 0o644}.hash()
		changes = append(changes, c)
	}
	d.commit(nil, changes...)
	done := d.do(After(0), true)
	if n := len(done.Files); n < 500 || n > 1000 || n+done.Omitted != 1500 {
		t.Errorf("%d files, %d omitted", n, done.Omitted)
	}
	if left := done.Left(); len(left) > 6000 || !strings.HasSuffix(left, " more.") {
		t.Errorf("%s", left)
	}
	p, err := Changes(t.Context(), d.files.Store, session, "turn_a")
	if n := len(p.Changes); err != nil || n < 500 || n > 1000 || n+p.Omitted != 1500 {
		t.Errorf("%d changes, %d omitted, %v", n, p.Omitted, err)
	}
}

func TestDiffsAreBounded(t *testing.T) {
	d := newDesk(t, nil)
	lines := strings.Repeat("some line\n", 10_000)
	for i := range 40 {
		d.edits("f"+string(rune('A'+i)), lines+string(rune('A'+i)))
	}
	done := d.do(After(0), true)
	size, without := 0, 0
	for _, f := range done.Files {
		if !f.Diff.Cut || !f.Diff.Deleted {
			t.Errorf("%s is not cut", f.Path)
		}
		if len(f.Diff.Hunks) == 0 {
			without++
		}
		for _, h := range f.Diff.Hunks {
			size += len(h.Old) + len(h.New)
		}
	}
	if len(done.Files) != 40 || without == 0 || size > maxDiffs || size < maxDiffs/3 {
		t.Errorf("%d files, %d without lines, %d bytes", len(done.Files), without, size)
	}
}

func TestChangesForReview(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "one\r\n", "binary": "a\x00b", "m": "moved"})
	d.edits("a", "two\r\n")
	d.edits("binary", "")
	d.commit(nil, d.move("m", "n"))
	c, _ := d.tool("n", file{"lost", 0o644})
	d.commit(nil, c)
	c, images := d.tool("new", file{"new", 0o644})
	c.Turn = "turn_b"
	d.commit(images, c)
	p, err := Changes(t.Context(), d.files.Store, session, "turn_a")
	must(t, err)
	if len(p.Changes) != 4 || p.Omitted != 0 {
		t.Fatalf("%+v", p)
	}
	equal(t, "edit", p.Changes[0].Diff, &history.Diff{
		Path: d.path("a"), Hunks: []history.TextHunk{{OldStart: 1, NewStart: 1, Old: "one\n", New: "two\n"}},
	})
	for _, c := range p.Changes[1:] {
		if c.Diff != nil {
			t.Errorf("%s of %s has a diff", c.Kind, c.Path)
		}
	}
	p, err = Latest(t.Context(), d.files.Store, session, 0, 1)
	must(t, err)
	if len(p.Changes) != 1 || p.Changes[0].ID != "fc_5" || !p.Changes[0].Diff.Created || p.Older == 0 {
		t.Fatalf("%+v", p)
	}
	p, err = Latest(t.Context(), d.files.Store, session, p.Older, 1)
	if must(t, err); len(p.Changes) != 4 || p.Older != 0 {
		t.Errorf("%+v", p)
	}
	if _, err := Changes(t.Context(), d.files.Store, "sess_x", "turn_a"); !errors.Is(err, history.ErrNotFound) {
		t.Error(err)
	}
}
