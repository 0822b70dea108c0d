// Package lock ensures that only one process has a database open.
//
// It must never remove a lock file, because then two processes could lock two files of the same name.
package lock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Acquire retries, because Holder has the lock briefly.
const (
	attempts = 5
	backoff  = 20 * time.Millisecond
)

// ErrLocked means that another process has the lock. The wrapping error contains its process id.
var ErrLocked = errors.New("database is in use")

// errHeld is returned by tryLock if another open file has the lock.
var errHeld = errors.New("held")

// Lock is the lock of a database: a separate file with a lock of the operating system, which is released when the process
// dies. The file contains the process id of the owner as text.
type Lock struct{ file *os.File }

// Path returns the path of the lock file of a database.
func Path(database string) string { return database + ".lock" }

// Acquire locks the database at path, or returns ErrLocked.
func Acquire(path string) (*Lock, error) {
	f, err := os.OpenFile(Path(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = tryLock(f)
	for n := 1; errors.Is(err, errHeld) && n < attempts; n++ {
		time.Sleep(backoff)
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
	return &Lock{f}, nil
}

// Release releases the lock. Closing the file releases it even if the process id cannot be erased.
func (l *Lock) Release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// Holder reports whether a process has locked the database at path, and its process id, or 0 if that is unknown.
func Holder(path string) (pid int, held bool) {
	f, err := os.OpenFile(Path(path), os.O_RDWR, 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if !errors.Is(tryLock(f), errHeld) {
		return 0, false
	}
	return readPID(f), true
}

// Since returns when the process that has locked the database at path got the lock, and reports whether there is one.
func Since(path string) (since time.Time, held bool, err error) {
	if _, held := Holder(path); !held {
		return since, false, nil
	}
	info, err := os.Stat(Path(path)) // the owner writes to it once
	if err != nil {
		return since, true, err
	}
	return info.ModTime(), true, nil
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
