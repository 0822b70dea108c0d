package filecontext

import "testing"

// A change that was found before the files were cleared must not reach a file that was added since, and files that are
// added later are newer than all before.
func TestClearForgetsNoVersion(t *testing.T) {
	f := New()
	first := put(t, f, text("a", "old"), AddOptions{})
	found := []Change{{Path: "a", Kind: Changed, Content: text("a", "found before"), version: first.version}}
	f.Clear()
	again := put(t, f, text("a", "added since"), AddOptions{})
	if reported := f.Apply(found); len(reported) != 0 {
		t.Errorf("%d changes of the cleared file are reported", len(reported))
	}
	if e, _ := f.Get("a"); e.Text != "added since" {
		t.Errorf("the file holds %q", e.Text)
	}
	if again.Since <= first.Since {
		t.Errorf("the file added later has the place %d, the earlier one %d", again.Since, first.Since)
	}
}

// Clear leaves no bytes behind: the set takes as many as a new one.
func TestClearFreesTheBuffers(t *testing.T) {
	f := New()
	put(t, f, text("a", "unsaved"), AddOptions{Unsaved: true})
	f.Clear()
	if f.bytes != 0 || f.buffers != 0 || f.Len() != 0 {
		t.Errorf("%d bytes, %d of buffers, %d files are left", f.bytes, f.buffers, f.Len())
	}
}
