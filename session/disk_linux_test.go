package session

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"strata/llm/reply"
)

// A change for which the disk has no room is recorded as not made, and the model is told why.
func TestAFullDiskIsTold(t *testing.T) {
	a, _ := editing(t, "edits")
	folder := a.folder
	if err := syscall.Mount("strata-test", folder, "tmpfs", 0, "size=16k"); err != nil {
		t.Skip("a disk cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	put(t, filepath.Join(folder, "a.go"), "package a\n\nfunc Alpha() {}\n")
	put(t, filepath.Join(folder, "fill"), strings.Repeat("x", 12<<10))
	before := contents(t, folder)
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
	a.asked().act(reply.StopToolUse, callsOf(2, editA, `write_file{"path":"deep/new.txt","content":"x"}`)...)
	a.asked().end("done")
	<-result
	got := a.results()
	if now := contents(t, folder); len(now) != len(before) || now[0] != before[0] {
		t.Errorf("the files are %q", now)
	}
	wants(t, "stored", a.fileChanges(), "edit a.go planned", "edit a.go not_done with its result", "create new.txt planned", "create new.txt not_done with its result")
	if len(got) != 1 || got[0] != "Nothing was changed: deep/new.txt cannot be written: no space left on device" {
		t.Errorf("the newest result is %q", got)
	}
}
