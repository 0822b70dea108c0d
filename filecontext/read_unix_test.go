//go:build unix

package filecontext

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// K5-05: pipes, devices and sockets are refused without waiting, also if one replaces a file just before it is opened.
func TestK5_05_NothingBlocks(t *testing.T) {
	cwd := workspace(t, nil)
	must(t, syscall.Mkfifo(filepath.Join(cwd, "pipe"), 0o600))
	socket, err := net.Listen("unix", filepath.Join(cwd, "sock"))
	must(t, err)
	defer socket.Close()
	r := openRoots(t, cwd, "/dev")
	for path, reason := range map[string]Reason{
		"pipe": ReasonNotRegular, "sock": ReasonNotRegular,
		"/dev/zero": ReasonNotRegular, "/dev/null": ReasonNotRegular, "/dev/tty": ReasonNotRegular,
	} {
		_, err := read(t, r, path)
		wantReason(t, path, err, reason)
		wantReason(t, "buffer for "+path, buffer(r, path), reason)
	}
	folder, err := os.OpenRoot(cwd)
	must(t, err)
	defer folder.Close()
	if pipe, err := folder.OpenFile("pipe", os.O_RDONLY|openFlags, 0); err == nil { // must not wait for a writer
		pipe.Close()
	}
}

func TestNoPermissionIsUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	cwd := workspace(t, map[string]string{"a": "a"})
	must(t, os.Chmod(filepath.Join(cwd, "a"), 0))
	_, err := read(t, openRoots(t, cwd), "a")
	wantReason(t, "a", err, ReasonUnreadable)
}
