package changing

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sys "golang.org/x/sys/unix"

	"strata/filecontext/change"
	"strata/session/tools"
)

// small returns a bench on a disk of its own with 64 KB, of which the files leave little. It skips the test if it cannot be
// mounted.
func small(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := newBench(t, nil)
	if err := sys.Mount("strata-test", b.folder, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("a disk cannot be mounted: ", err)
	}
	t.Cleanup(func() { must(t, sys.Unmount(b.folder, sys.MNT_DETACH)) })
	for name, text := range files {
		write(t, filepath.Join(b.folder, name), text)
	}
	b.work = workspaceOf(t, b.folder) // the folder that is there now
	b.work.Shown, b.writer = b.view, DiskWriter{Roots: b.work.Roots}
	return b
}

// tree returns what is in a folder: names, modes, owners and texts.
func tree(t *testing.T, folder string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		var stat sys.Stat_t
		must(t, sys.Lstat(path, &stat))
		text := ""
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			must(t, err)
			text = string(data)
		}
		all = append(all, fmt.Sprintf("%s %o %d:%d %s", path, stat.Mode, stat.Uid, stat.Gid, text))
		return nil
	}))
	return all
}

// fails makes a call that the system does not let be made, and checks that it says why and leaves everything as it was.
func (b *bench) fails(name string, input members, why string) {
	b.t.Helper()
	before := tree(b.t, b.folder)
	var r tools.Result
	if p := b.prepare(name, input); p.Refusal != nil {
		r = *p.Refusal
	} else {
		var err error
		r, err = p.Make(b.t.Context())
		must(b.t, err)
		if r.Made == nil || r.Made.State != change.NotDone {
			b.t.Errorf("%s: %+v", name, r)
		}
	}
	if !r.IsError {
		b.t.Errorf("%s has no error", name)
	}
	hasAll(b.t, shownText(r), "Nothing was changed", why)
	equal(b.t, "files", tree(b.t, b.folder), before)
}

func TestAFullDisk(t *testing.T) {
	b := small(t, map[string]string{"a.txt": numbered(1, 2000), "fill": strings.Repeat("x", 40<<10)})
	b.read("a.txt", 1, 500)
	const full = "cannot be written: no space left on device"
	b.fails("edit_file", edit("a.txt", "line 10\n", "ten\n"), full)
	b.fails("write_file", members{"path": "deep/er/new.txt", "content": numbered(1, 2000)}, full)
	b.made("move_file", members{"from": "fill", "to": "deep/fill"})
	b.made("delete_file", members{"path": "deep/fill"})
	b.made("edit_file", edit("a.txt", "line 10\n", "ten\n"))
}

func TestAReadOnlyDisk(t *testing.T) {
	b := small(t, map[string]string{"a.txt": numbered(1, 20)})
	b.read("a.txt", 0, 0)
	must(t, sys.Mount("", b.folder, "", sys.MS_REMOUNT|sys.MS_RDONLY, ""))
	b.fails("edit_file", edit("a.txt", "line 10\n", "ten\n"), "a.txt is read-only")
	b.fails("write_file", members{"path": "a.txt", "content": ""}, "a.txt is read-only")
	b.fails("write_file", members{"path": "deep/new.txt", "content": "x"}, "deep/new.txt cannot be written: read-only file system")
	b.fails("delete_file", members{"path": "a.txt"}, "a.txt cannot be written: read-only file system")
	b.fails("move_file", members{"from": "a.txt", "to": "b.txt"}, "cannot be written: read-only file system")
}

// immutableFlag is FS_IMMUTABLE_FL.
const immutableFlag = 0x10

// immutable makes a file or a folder one that nobody can change, until the end of the test.
func immutable(t *testing.T, path string) {
	t.Helper()
	set := func(flags int) error {
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		return sys.IoctlSetPointerInt(int(f.Fd()), sys.FS_IOC_SETFLAGS, flags)
	}
	if err := set(immutableFlag); err != nil {
		t.Skip("there are no immutable files: ", err)
	}
	t.Cleanup(func() { must(t, set(0)) })
}

func TestAnImmutableFile(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": numbered(1, 20)})
	b.read("a.txt", 0, 0)
	immutable(t, filepath.Join(b.folder, "a.txt"))
	b.fails("edit_file", edit("a.txt", "line 10\n", "ten\n"), "a.txt is read-only")
	b.fails("write_file", members{"path": "a.txt", "content": ""}, "a.txt is read-only")
	b.fails("delete_file", members{"path": "a.txt"}, "a.txt cannot be written: operation not permitted")
	b.fails("move_file", members{"from": "a.txt", "to": "deep/b.txt"}, "a.txt cannot be written: operation not permitted")
}

func TestAnImmutableFolder(t *testing.T) {
	b := newBench(t, map[string]string{"dir/a.txt": numbered(1, 20), "b.txt": "b\n"})
	b.read("dir/a.txt", 0, 0)
	immutable(t, filepath.Join(b.folder, "dir"))
	const not = "cannot be written: operation not permitted"
	b.fails("edit_file", edit("dir/a.txt", "line 10\n", "ten\n"), not)
	b.fails("write_file", members{"path": "dir/new/x.txt", "content": ""}, not)
	b.fails("delete_file", members{"path": "dir/a.txt"}, not)
	b.fails("move_file", members{"from": "dir/a.txt", "to": "a.txt"}, not)
	b.fails("move_file", members{"from": "b.txt", "to": "dir/b.txt"}, not)
}

// A file of somebody else keeps its owner, its group, and the bits that these give meaning.
func TestAFileOfAnotherOwner(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": numbered(1, 20)})
	path := filepath.Join(b.folder, "a.txt")
	if err := os.Chown(path, 12345, 54321); err != nil {
		t.Skip("the owner of a file cannot be changed: ", err)
	}
	must(t, os.Chmod(path, 0o750|fs.ModeSetuid|fs.ModeSetgid))
	b.read("a.txt", 0, 0)
	b.made("edit_file", edit("a.txt", "line 10\n", "ten\n"))
	b.made("move_file", members{"from": "a.txt", "to": "deep/b.txt"})
	var stat sys.Stat_t
	must(t, sys.Stat(filepath.Join(b.folder, "deep/b.txt"), &stat))
	if stat.Uid != 12345 || stat.Gid != 54321 || stat.Mode != sys.S_IFREG|0o6750 {
		t.Errorf("owner %d, group %d, mode %o", stat.Uid, stat.Gid, stat.Mode)
	}
}
