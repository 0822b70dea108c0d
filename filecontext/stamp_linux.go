package filecontext

import (
	"io/fs"
	"syscall"
)

// identify sets the fields that require the system's stat structure.
func (s *stamp) identify(info fs.FileInfo) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed = stat.Ctim.Nano()
		s.device, s.inode = uint64(stat.Dev), stat.Ino
	}
}

// hasOneName reports whether a file has no hard links besides its name.
func hasOneName(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 1
}
