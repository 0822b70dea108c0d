package historystore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Open retries to get the lock, because Holder holds it briefly.
const (
	lockAttempts = 5
	lockBackoff  = 20 * time.Millisecond
)

// errHeld is returned by tryLock if another open file has the lock.
var errHeld = errors.New("held")

// fileLock is the lock of a database: a separate file with a lock of the operating system, which is released when the
// process dies. The file contains the process id of the owner as text. It is never removed, because then two processes
// could lock two files of the same name.
type fileLock struct{ file *os.File }

func lockPath(database string) string { return database + ".lock" }

// acquireLock locks the database at path, or returns ErrLocked.
func acquireLock(path string) (*fileLock, error) {
	f, err := os.OpenFile(lockPath(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = tryLock(f)
	for n := 1; errors.Is(err, errHeld) && n < lockAttempts; n++ {
		time.Sleep(lockBackoff)
		err = tryLock(f)
	}
	if errors.Is(err, errHeld) {
		err = fmt.Errorf("%w: %s, by process %d", ErrLocked, path, readPID(f))
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &fileLock{f}, nil
}

// release releases the lock. Closing the file releases it even if the process id cannot be erased.
func (l *fileLock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// Holder reports whether a process has the database at path open, and its process id, or 0 if that is unknown.
func Holder(path string) (pid int, held bool) {
	path, err := resolve(path)
	if err != nil {
		return 0, false
	}
	f, err := os.OpenFile(lockPath(path), os.O_RDWR, 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if !errors.Is(tryLock(f), errHeld) {
		return 0, false
	}
	return readPID(f), true
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID returns 0 if the owner has not written its process id yet.
func readPID(f *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// resolve returns the canonical path by which a database is opened and locked, with links resolved.
// The folder must exist; the file need not.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		return target, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}
