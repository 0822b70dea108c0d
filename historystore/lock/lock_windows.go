package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is the offset of the locked byte. It is far after the process id, which other processes must be able to
// read.
const lockOffset = 1 << 30

// tryLock locks f exclusively for this open file, or returns errHeld.
func tryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}
