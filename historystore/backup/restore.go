package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"strata/historystore/database"
	"strata/historystore/disk"
	"strata/historystore/lock"
	"strata/internal/failpoint"
)

// ready is the suffix of a checked copy that is to become the database. From the moment that it exists, each start of the
// program completes the restore.
const ready = ".restoring"

// Restored describes a restore.
type Restored struct {
	Content
	Replaced string `json:"replaced,omitempty"` // path at which the previous database is kept; empty if there was none
}

// Restore makes a copy of a backup the database at path, and keeps the previous database beside it. It fails with
// lock.ErrLocked if a process has the database. Until the copy is complete and checked, nothing changes; after that, the
// next start completes the restore, whenever this process dies.
func Restore(ctx context.Context, file, path string, progress Progress) (r Restored, err error) {
	if file, err = disk.Resolve(file); err != nil {
		return r, err
	}
	if err := database.CheckHeader(file); err != nil { // before a folder is created
		return r, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return r, err
	}
	if path, err = disk.Resolve(path); err != nil {
		return r, err
	}
	l, err := lock.Acquire(path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	if _, err := Finish(path); err != nil { // of an earlier restore
		return r, err
	}
	if same(file, path) {
		return r, fmt.Errorf("%s is the database itself", file)
	}
	if r.Content, err = Inspect(ctx, file); err != nil {
		return r, err
	}
	if _, err = place(ctx, file, path+ready, true, true, progress); err != nil {
		return r, err
	}
	failpoint.Hit("restore")
	r.Replaced, err = Finish(path)
	return r, err
}

func same(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Finish completes a restore that was interrupted, and returns the path at which the previous database is kept, empty if
// there was none. Each step can be repeated. The caller has the lock of the database.
func Finish(path string) (replaced string, err error) {
	info, err := os.Lstat(path + ready)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file: remove it", path+ready)
	}
	if replaced, err = exchange(path, info.ModTime()); err != nil {
		return "", fmt.Errorf("%w; the next start completes the restore", err)
	}
	return replaced, nil
}

// exchange replaces a database by the copy that was complete at a time.
func exchange(path string, at time.Time) (replaced string, err error) {
	kept, err := nameOfReplaced(path, at)
	if err != nil {
		return "", err
	}
	// SQLite finds the log of a database by its name.
	for _, suffix := range []string{"", "-wal", "-journal"} {
		failpoint.Hit("restore")
		if err := os.Rename(path+suffix, kept+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	failpoint.Hit("restore")
	// The disk must not learn of the new database before it knows where the previous one is.
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := os.Rename(path+ready, path); err != nil {
		return "", err
	}
	if exists(kept) {
		replaced = kept
	}
	return replaced, disk.SyncDir(filepath.Dir(path))
}

// nameOfReplaced returns where the previous database is kept. The name must be the same if the restore is interrupted and
// completed later, so it is the time of the copy. Where the times of files are coarse, an earlier restore can have that name:
// then the copy gets a later time.
func nameOfReplaced(path string, at time.Time) (string, error) {
	for {
		kept := path + ".replaced-" + at.UTC().Format("20060102T150405.000000000Z")
		if !exists(path) || !exists(kept) {
			return kept, nil
		}
		at = at.Truncate(time.Second).Add(2 * time.Second) // which each file system can store
		if err := os.Chtimes(path+ready, at, at); err != nil {
			return "", err
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Unfinished reports whether a restore was interrupted after its backup was copied.
func Unfinished(path string) bool {
	path, err := disk.Resolve(path)
	if err != nil {
		return false
	}
	return exists(path + ready)
}

// Complete is Finish for a caller without the lock. The error wraps lock.ErrLocked if a process has the database.
func Complete(path string) (replaced string, err error) {
	if path, err = disk.Resolve(path); err != nil {
		return "", err
	}
	l, err := lock.Acquire(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	return Finish(path)
}
