package filecontext

import (
	"io/fs"
	"time"
)

// stamp is what stat says of a file's version. Two equal settled stamps mean that nothing was written in between.
type stamp struct {
	size     int64
	modified int64 // in nanoseconds since 1970, as is changed
	changed  int64 // of the inode, which no program can set back; 0 where the system has none
	device   uint64
	inode    uint64

	// settled says that the file had not been touched for a while when it was looked at. A version that was written within
	// the grain of the disk's clock can be followed by another one with the same times.
	settled bool
}

// grain is longer than the resolution of any common disk's clock (2 s on FAT).
const grain = 2 * time.Second

func newStamp(info fs.FileInfo, now time.Time) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	s.identify(info)
	s.settled = s.changed != 0 && max(s.modified, s.changed) < now.Add(-grain).UnixNano()
	return s
}

// current reports whether a file that had the stamp s when it was read, and has the stamp now, still has the content that was read.
// False means only that it must be read to know.
func (s stamp) current(now stamp) bool { return s.settled && s == now }
