package filecontext

import (
	"io/fs"
	"time"
)

// stamp identifies a version of a file by the result of stat. If two stamps are equal and settled, the file was not
// written in between.
type stamp struct {
	size     int64
	modified int64 // Unix time in nanoseconds
	changed  int64 // of the inode, like modified, but not settable by programs; 0 if the system has none
	device   uint64
	inode    uint64

	// settled is set if the last change was longer ago than grain. Until then, another write can leave the same times.
	settled bool
}

// grain is at least the timestamp resolution of all common file systems (2 s on FAT).
const grain = 2 * time.Second

func newStamp(info fs.FileInfo, now time.Time) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	s.identify(info)
	s.settled = s.changed != 0 && max(s.modified, s.changed) < now.Add(-grain).UnixNano()
	return s
}

// current reports whether a file that was read at stamp s is unchanged at stamp now. If it returns false, the file may or
// may not have changed.
func (s stamp) current(now stamp) bool { return s.settled && s == now }
