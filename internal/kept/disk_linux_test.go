package kept

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"strata/historystore/schema"
	"strata/internal/binary"
)

// A full disk during the copy or during the migration leaves the old database. With room, the next start goes on.
func TestAFullDiskLeavesTheOldDatabase(t *testing.T) {
	_, home := oldHome(t)
	enlarge(t, home.Database())
	info, err := os.Stat(home.Database())
	if err != nil {
		t.Fatal(err)
	}
	size := int(info.Size())
	disk := filepath.Dir(home.Database())
	large := read(t, home.Database())
	for name, room := range map[string]int{"the copy": size + size/2, "the migration": 2*size + 512<<10} {
		if err := syscall.Mount("strata-test", disk, "tmpfs", 0, "size="+strconv.Itoa(room)); err != nil {
			t.Skipf("cannot mount a file system: %v", err)
		}
		t.Cleanup(func() { // after the server has ended
			_ = syscall.Unmount(disk, 0) // fails if it was unmounted below
		})
		home.PutDatabase(t, large)
		out, err := home.Command(t.Context(), "serve").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "disk is full") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if told := strings.Contains(string(out), "nothing was changed"); told != (name == "the copy") {
			t.Errorf("%s: %s", name, out)
		}
		hasSchema(t, home.Database(), oldest)
		if left, err := filepath.Glob(filepath.Join(disk, ".*.tmp")); len(left) > 0 || err != nil {
			t.Errorf("%s: %q is left, %v", name, left, err)
		}
		if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size="+strconv.Itoa(8*size)); err != nil {
			t.Fatal(err)
		}
		server := binary.Start(t, home, binary.Options{})
		hasSchema(t, home.Database(), schema.Newest())
		server.Stop()
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Fatal(err)
		}
	}
}
