package change

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// A file that belongs to another user keeps the group that its new owner is in.
func TestAMemberOfAGroupKeepsIt(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("another user's file cannot be made")
	}
	const alice, bob, team = 12345, 12346, 54321
	folder := t.TempDir()
	path := filepath.Join(folder, "a.txt")
	must(t, os.WriteFile(path, nil, 0o660))
	must(t, os.Chown(path, alice, team))
	like, err := os.Stat(path)
	must(t, err)
	file, err := os.Create(filepath.Join(folder, "new"))
	must(t, err)
	defer file.Close()
	must(t, file.Chown(bob, bob))

	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // which ends with the goroutine: it is bob's
		become(t, bob, team)
		done <- own(file, like)
	}()
	if <-done {
		t.Error("the file is alice's, as if it were not bob who made it")
	}
	info, err := file.Stat()
	must(t, err)
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != bob || stat.Gid != team {
		t.Errorf("owner %d, group %d", stat.Uid, stat.Gid)
	}
}

// become makes the present thread one of a user who is in a group.
func become(t *testing.T, user, group uintptr) {
	groups := []uint32{uint32(group)}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
		t.Error("setgroups: ", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, user, user, user); errno != 0 {
		t.Error("setresgid: ", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, user, user, user); errno != 0 {
		t.Error("setresuid: ", errno)
	}
}
