package filecontext

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// refreshed refreshes f from disk and returns the reported changes as "kind path".
func refreshed(t *testing.T, r *Roots, f *FileContext) []string {
	t.Helper()
	changes, err := r.Refresh(t.Context(), f.List())
	must(t, err)
	var reported []string
	for _, c := range f.Apply(changes) {
		reported = append(reported, string(c.Kind)+" "+c.Path)
	}
	return reported
}

func wantReported(t *testing.T, r *Roots, f *FileContext, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, refreshed(t, r, f)); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

// K5-02: a change on disk is noticed however it is made.
func TestK5_02_ChangesOnDiskAreNoticed(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": "first version"})
	path := filepath.Join(cwd, "f")
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(path, long, long))
	r, f := openRoots(t, cwd), New()
	put(t, f, load(t, r, "f"), AddOptions{})
	f.MarkSent("f", f.List()[0].Hash, true)
	wantReported(t, r, f)

	change := func(name, body string, do func()) {
		do()
		wantReported(t, r, f, "changed f")
		if e, _ := f.Get("f"); e.Text != body {
			t.Errorf("%s: the text is %q", name, e.Text)
		}
		if f.CheckEdit("f", "") == nil {
			t.Errorf("%s: may be edited at a version that was not sent", name)
		}
		wantReported(t, r, f)
	}
	change("normally", "second", func() { write(t, path, "second") })
	change("same length, time set back", "2econd", func() {
		write(t, path, "2econd")
		must(t, os.Chtimes(path, long, long))
	})
	change("replaced by rename", "third!", func() {
		write(t, path+".new", "third!")
		must(t, os.Chtimes(path+".new", long, long))
		must(t, os.Rename(path+".new", path))
	})
	write(t, path, "third!")
	wantReported(t, r, f) // the same text again is not a change
}

func TestStampsAreTrustedOnlyWhenSettled(t *testing.T) {
	s := stamp{size: 1, modified: 10, changed: 20, device: 3, inode: 4, settled: true}
	if !s.current(s) {
		t.Error("a settled stamp is not current")
	}
	for name, touch := range map[string]func(*stamp){
		"size": func(s *stamp) { s.size++ }, "modified": func(s *stamp) { s.modified-- }, "changed": func(s *stamp) { s.changed++ },
		"device": func(s *stamp) { s.device++ }, "inode": func(s *stamp) { s.inode++ }, "settled": func(s *stamp) { s.settled = false },
	} {
		now := s
		touch(&now)
		if s.current(now) {
			t.Errorf("current although %s differs", name)
		}
	}
	s.settled = false
	if s.current(s) {
		t.Error("an unsettled stamp is current")
	}

	cwd := workspace(t, map[string]string{"f": ""})
	info, err := os.Stat(filepath.Join(cwd, "f"))
	must(t, err)
	written := info.ModTime()
	if newStamp(info, written.Add(grain)).settled {
		t.Error("a file that was just written is settled")
	}
	if settled := newStamp(info, written.Add(2*grain)); settled.settled != (settled.changed != 0) {
		t.Errorf("a file that was not touched: %+v", settled)
	}
	if newStamp(info, written.Add(-time.Hour)).settled {
		t.Error("a file from the future is settled")
	}
}

func TestASettledFileIsNotReadAgain(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": "on disk"})
	r, f := openRoots(t, cwd), New()
	info, err := os.Stat(filepath.Join(cwd, "f"))
	must(t, err)
	written := info.ModTime()
	r.now = func() time.Time { return written }
	look := func() bool {
		c := text("f", "remembered")
		c.stamp = load(t, r, "f").stamp
		_, found := r.look(t.Context(), put(t, f, c, AddOptions{}), nil)
		return found
	}
	if !look() {
		t.Error("a file that was just written was not read")
	}
	r.now = func() time.Time { return written.Add(time.Hour) }
	if settles := load(t, r, "f").stamp.changed != 0; look() == settles {
		t.Errorf("with change times of inodes (%v) an untouched file was read: %v", settles, !settles)
	}
}

// K5-04: deleted files are reported once and block nothing.
func TestK5_04_DeletedAndUnreadableFiles(t *testing.T) {
	cwd := workspace(t, map[string]string{"f1": "one", "f2": "two"})
	r, f := openRoots(t, cwd), New()
	put(t, f, load(t, r, "f1"), AddOptions{})
	put(t, f, load(t, r, "f2"), AddOptions{})

	must(t, os.Remove(filepath.Join(cwd, "f1")))
	wantReported(t, r, f, "deleted f1")
	wantReported(t, r, f)
	if f.Remove("f1") {
		t.Error("a deleted file is still in the set")
	}

	must(t, os.Rename(filepath.Join(cwd, "f2"), filepath.Join(cwd, "f3")))
	wantReported(t, r, f, "deleted f2")
	put(t, f, load(t, r, "f3"), AddOptions{})
	f.MarkSent("f3", f.List()[0].Hash, true)

	must(t, os.Rename(filepath.Join(cwd, "f3"), filepath.Join(cwd, "aside")))
	must(t, os.Mkdir(filepath.Join(cwd, "f3"), 0o700)) // unreadable, for root too
	wantReported(t, r, f, "unreadable f3")
	wantReported(t, r, f)
	e, _ := f.Get("f3")
	if state, reason := e.Availability(); state != NotAvailable || reason == "" || e.Text != "" || f.bytes != 0 {
		t.Errorf("unreadable file: %+v, %s for %q", e, state, reason)
	}
	if f.CheckEdit("f3", "") == nil {
		t.Error("an unreadable file may be edited")
	}

	f, err := Restore(stored(f))
	must(t, err)
	wantReported(t, r, f)
	must(t, os.Remove(filepath.Join(cwd, "f3")))
	must(t, os.Rename(filepath.Join(cwd, "aside"), filepath.Join(cwd, "f3")))
	wantReported(t, r, f, "created f3")
	if err := f.CheckEdit("f3", ""); err != nil {
		t.Errorf("after the sent version is back: %v", err)
	}
	if !f.Remove("f3") {
		t.Error("the file cannot be removed")
	}
}

func TestNoPermissionIsReportedOnce(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	cwd := workspace(t, map[string]string{"f": "text"})
	r, f := openRoots(t, cwd), New()
	put(t, f, load(t, r, "f"), AddOptions{})
	must(t, os.Chmod(filepath.Join(cwd, "f"), 0))
	wantReported(t, r, f, "unreadable f")
	wantReported(t, r, f)
}

func TestUnsavedTextsAreNotRefreshed(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": "on disk"})
	r, f := openRoots(t, cwd), New()
	put(t, f, text("f", "unsaved"), AddOptions{Unsaved: true})
	put(t, f, text("new", "not on disk yet"), AddOptions{Unsaved: true})
	wantReported(t, r, f)
	f.Saved("f")
	f.Saved("new")
	wantReported(t, r, f, "changed f", "deleted new")
}

func TestOutdatedChangesAreSkipped(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": "on disk", "g": "on disk"})
	r, f := openRoots(t, cwd), New()
	put(t, f, text("f", "old"), AddOptions{})
	put(t, f, text("g", "old"), AddOptions{})
	changes, err := r.Refresh(t.Context(), f.List())
	must(t, err)
	put(t, f, text("f", "typed meanwhile"), AddOptions{Unsaved: true})
	f.Remove("g")
	if reported := f.Apply(changes); reported != nil {
		t.Errorf("reported %+v", reported)
	}
	if e, _ := f.Get("f"); e.Text != "typed meanwhile" || len(f.List()) != 1 {
		t.Errorf("f is %+v of %d", e, len(f.List()))
	}
}

func TestMarkingAsSentDoesNotLoseAChange(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": "new"})
	r, f := openRoots(t, cwd), New()
	old := put(t, f, text("f", "old"), AddOptions{})
	changes, err := r.Refresh(t.Context(), f.List())
	must(t, err)
	f.MarkSent("f", old.Hash, true)
	if reported := f.Apply(changes); len(reported) != 1 {
		t.Errorf("reported %+v", reported)
	}
}

func TestARestoredFileIsReadAgain(t *testing.T) {
	cwd := workspace(t, map[string]string{"same": "same", "other": "old"})
	r, f := openRoots(t, cwd), New()
	put(t, f, load(t, r, "same"), AddOptions{})
	put(t, f, load(t, r, "other"), AddOptions{})
	f, err := Restore(stored(f))
	must(t, err)
	write(t, filepath.Join(cwd, "other"), "new")
	wantReported(t, r, f, "changed other")
	for path, want := range map[string]string{"same": "same", "other": "new"} {
		if e, _ := f.Get(path); e.Text != want {
			t.Errorf("%s is %q", path, e.Text)
		}
	}
}

func TestGrowthBeyondTheBoundIsUnreadable(t *testing.T) {
	f := New()
	f.bytes = MaxBytes - 2 // as if other files used the rest
	e := put(t, f, text("f", "12"), AddOptions{})
	reported := f.Apply([]Change{{Path: "f", Kind: Changed, Content: text("f", "123"), version: e.version}})
	if len(reported) != 1 || reported[0].Kind != Unreadable || reported[0].Reason != ReasonFull {
		t.Errorf("reported %+v", reported)
	}
	if f.bytes != MaxBytes-2 {
		t.Errorf("%d bytes", f.bytes)
	}
}

func TestRefreshEndsWithItsContext(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": ""})
	r, f := openRoots(t, cwd), New()
	put(t, f, text("f", "x"), AddOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if changes, err := r.Refresh(ctx, f.List()); !errors.Is(err, context.Canceled) || changes != nil {
		t.Errorf("Refresh = %v, %v", changes, err)
	}
}
