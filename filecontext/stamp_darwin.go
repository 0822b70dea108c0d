package filecontext

import (
	"io/fs"
	"syscall"
)

// identify adds what only the system's own stat tells.
func (s *stamp) identify(info fs.FileInfo) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed = stat.Ctimespec.Nano()
		s.device, s.inode = uint64(stat.Dev), stat.Ino
	}
}
