//go:build unix

package filecontext

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags prevent an open from waiting for the other end of a pipe, and from acquiring a controlling terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// list returns up to n entries of a folder at a path. The ReadDir of a folder that was opened in an os.Root looks at each
// entry, and a file that does not respond would keep the others away: a second handle of the folder has only names and types.
func list(folder *os.File, path string, n int) ([]fs.DirEntry, error) {
	fd, err := unix.FcntlInt(folder.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	names := os.NewFile(uintptr(fd), path)
	defer names.Close()
	return names.ReadDir(n)
}
