//go:build unix

package change

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags prevent an open from waiting for the other end of a pipe, and from acquiring a controlling terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// own gives a file the owner and the group of another. It reports whether the file has them. Only the system's administrator
// can give files away; the group, through which others may have their access, is kept by its members, too.
func own(file *os.File, like fs.FileInfo) bool {
	stat, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if file.Chown(int(stat.Uid), int(stat.Gid)) == nil {
		return true
	}
	_ = file.Chown(-1, int(stat.Gid))
	return false
}

// isUnsupported reports whether the file system lacks the operation.
func isUnsupported(err error) bool {
	for _, one := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOTSUP, syscall.ENOSYS, syscall.EXDEV, syscall.EMLINK, syscall.EINVAL} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// syncFolder makes the names in a folder durable.
func syncFolder(folder *os.Root) error {
	file, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// link gives the file with a name in a folder a second name in another one.
func link(from *os.Root, name string, to *os.Root, second string) error {
	a, err := from.Open(".")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := to.Open(".")
	if err != nil {
		return err
	}
	defer b.Close()
	return unix.Linkat(int(a.Fd()), name, int(b.Fd()), second, 0)
}
