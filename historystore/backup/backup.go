// Package backup copies databases: a backup of one that may be in use, its restore, and the copy that is kept before the
// schema of a database is migrated.
//
// It must never overwrite or remove a database of which it has not kept a copy.
package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"strata/historystore/database"
	"strata/historystore/disk"
	"strata/historystore/lock"
	"strata/historystore/schema"
)

// The errors of this package, wrapped with their subject.
var (
	// ErrExists means that the file of a backup exists already.
	ErrExists = errors.New("file exists")

	// ErrCopy means that a copy differs from its original. It was removed.
	ErrCopy = errors.New("copy is not equal to the database")
)

// Content is a summary of a database.
type Content struct {
	Schema   int    `json:"schema"`
	Program  string `json:"program,omitempty"` // that brought the database to its schema; empty before schema 17
	Bytes    int64  `json:"bytes"`
	Sessions int64  `json:"sessions"` // also deleted ones that are not purged yet
	Messages int64  `json:"messages"`
}

// Progress receives how many of all bytes were copied. It may be nil.
type Progress func(copied, all int64)

// Options configure Create.
type Options struct {
	Replace  bool // an existing file
	Progress Progress
}

// stepPages is the number of pages that are copied between two looks at the context.
const stepPages = 512

// Create copies a database, which may be in use by this or another process, to a file that only this user can read. The
// file contains the state of one moment, and appears when it is complete, checked and on disk. The error wraps ErrExists if
// the file exists and is not to be replaced.
func Create(ctx context.Context, path, file string, opt Options) (Content, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return Content{}, err
	}
	if err := database.CheckHeader(path); err != nil {
		return Content{}, err
	}
	if file, err = disk.Resolve(file); err != nil {
		return Content{}, err
	}
	if err := checkTarget(path, file, opt.Replace); err != nil {
		return Content{}, err
	}
	return place(ctx, path, file, opt.Replace, true, opt.Progress)
}

// checkTarget refuses a file that must not be replaced, and a name that the database or its next start uses.
func checkTarget(path, file string, replace bool) error {
	info, err := os.Lstat(file)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return err
	}
	if !isNew && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", file)
	}
	belongs := strings.HasPrefix(file, path+copyName)
	for _, own := range []string{path, path + "-wal", path + "-shm", path + "-journal", lock.Path(path), path + ready, database.Unfinished(path)} {
		ownInfo, err := os.Stat(own)
		belongs = belongs || file == own || err == nil && !isNew && os.SameFile(info, ownInfo)
	}
	if belongs {
		return fmt.Errorf("%s belongs to the database itself", file)
	}
	if !isNew && !replace {
		return fmt.Errorf("%w: %s", ErrExists, file)
	}
	return nil
}

// place copies a database to a new file in the folder of file, checks the copy if check is set, and renames it to file.
func place(ctx context.Context, path, file string, replace, check bool, progress Progress) (c Content, err error) {
	staged, err := stage(file)
	if err != nil {
		return c, err
	}
	defer func() {
		for _, name := range []string{staged, staged + "-journal"} {
			os.Remove(name) // fails harmlessly after a rename
		}
	}()
	if c, err = duplicate(ctx, path, staged, check, progress); err != nil {
		if errors.Is(err, database.ErrFull) { // nothing is written to the database
			err = fmt.Errorf("%w: %s", database.ErrFull, filepath.Dir(file))
		}
		return c, err
	}
	if replace {
		err = os.Rename(staged, file)
	} else {
		err = name(staged, file)
	}
	if err != nil {
		return c, err
	}
	return c, disk.SyncDir(filepath.Dir(file))
}

// stage creates an empty private file in the folder of file.
func stage(file string) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*.tmp") // has mode 0600
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// name renames staged to file. The error wraps ErrExists if file exists.
func name(staged, file string) error {
	err := os.Link(staged, file)
	switch {
	case err == nil:
		return os.Remove(staged)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: %s", ErrExists, file)
	}
	// The file system has no hard links.
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%w: %s", ErrExists, file)
	}
	return os.Rename(staged, file)
}

// duplicate copies a database into an empty file, in the state of one moment.
func duplicate(ctx context.Context, path, file string, check bool, progress Progress) (Content, error) {
	source, err := database.OpenReaders(path, database.DefaultBusyTimeout, 1)
	if err != nil {
		return Content{}, err
	}
	defer source.Close()
	// An older program can copy a newer database, but no program copies another's.
	if _, err := database.CheckVersion(ctx, source, path); err != nil && !errors.Is(err, database.ErrNewer) {
		return Content{}, database.Translate(path, err)
	}
	conn, err := source.Conn(ctx)
	if err != nil {
		return Content{}, database.Translate(path, err)
	}
	defer conn.Close()
	// The transaction holds the state until the copy is complete: otherwise each change of another process would start the
	// copy again.
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return Content{}, database.Translate(path, err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	original, err := contentOf(ctx, conn)
	if err == nil {
		err = conn.Raw(func(c any) error { return copyPages(ctx, c, file, progress) })
	}
	if err != nil {
		return Content{}, database.Translate(path, err)
	}
	got, err := verify(ctx, file, path, check)
	if err == nil && (got.Schema != original.Schema || got.Sessions != original.Sessions || got.Messages != original.Messages) {
		err = fmt.Errorf("%w %s", ErrCopy, path)
	}
	return got, err
}

// copyPages copies all pages of the database of a connection into a file.
func copyPages(ctx context.Context, conn any, file string, progress Progress) (err error) {
	source, ok := conn.(interface {
		NewBackup(name string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("the SQLite driver has no backup")
	}
	b, err := source.NewBackup(database.Name(file, "rw", "synchronous(FULL)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Finish()) }()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = b.Step(stepPages); err != nil {
			return err
		}
		if progress != nil {
			all := int64(b.PageCount())
			progress((all-int64(b.Remaining()))*pageBytes, all*pageBytes)
		}
	}
	return nil
}

// pageBytes is the size of a database's pages.
const pageBytes = 4096

// verify makes a new copy of a database a single file, without a write-ahead log, reads it, and returns its content. Errors
// name the database, as the copy has no name yet.
func verify(ctx context.Context, file, path string, check bool) (Content, error) {
	db, err := sql.Open("sqlite", database.Name(file, "rw", "synchronous(FULL)", "journal_mode(DELETE)"))
	if err != nil {
		return Content{}, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	c, err := contentOf(ctx, db)
	if err == nil && check {
		err = integrity(ctx, db, path)
	}
	return c, database.Translate(path, err)
}

// integrity checks each page of a copy, its indexes, and the search index.
func integrity(ctx context.Context, db *sql.DB, path string) error {
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return database.Damaged(path, result)
	}
	return nil
}

// querier is a database or one of its connections.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// contentOf counts what a database contains. It knows all schemas up to the newest.
func contentOf(ctx context.Context, q querier) (c Content, err error) {
	var pages, size int64
	for _, one := range []struct {
		query string
		into  any
	}{
		{"PRAGMA user_version", &c.Schema}, {"PRAGMA page_count", &pages}, {"PRAGMA page_size", &size},
		{"SELECT count(*) FROM session", &c.Sessions}, {"SELECT count(*) FROM message", &c.Messages},
	} {
		if err := q.QueryRowContext(ctx, one.query).Scan(one.into); err != nil {
			return c, err
		}
	}
	c.Bytes, c.Program = pages*size, schema.Maker(ctx, q)
	return c, nil
}

// Inspect checks a backup, or any database that is not in use: that this program can read its schema, and each page. It
// does not change the file. Errors are those of historystore.Check.
func Inspect(ctx context.Context, file string) (Content, error) {
	file, err := disk.Resolve(file)
	if err != nil {
		return Content{}, err
	}
	if err := database.CheckHeader(file); err != nil {
		return Content{}, err
	}
	db, err := database.OpenReaders(file, database.DefaultBusyTimeout, 1)
	if err != nil {
		return Content{}, err
	}
	defer db.Close()
	if _, err := database.CheckVersion(ctx, db, file); err != nil {
		return Content{}, database.Translate(file, err)
	}
	c, err := contentOf(ctx, db)
	if err == nil {
		err = integrity(ctx, db, file)
	}
	return c, database.Translate(file, err)
}

// Version is what VersionOf returns.
type Version struct {
	Schema  int
	Program string // that brought the database to its schema; empty if the database does not tell
	Bytes   int64
}

// VersionOf returns the version of a database, which may be in use, damaged, or newer than this program.
func VersionOf(ctx context.Context, path string) (v Version, err error) {
	if path, err = disk.Resolve(path); err != nil {
		return v, err
	}
	if v.Bytes, err = bytesOf(path); err != nil {
		return v, err
	}
	err = read(ctx, path, func(db *sql.DB) error {
		number, err := schema.Pragma(ctx, db, "user_version")
		v.Schema, v.Program = int(number), schema.Maker(ctx, db)
		return err
	})
	return v, err
}

// RunningTurns returns how many turns the process that has the lock of a database is running. A turn that an earlier
// process did not end does not count.
func RunningTurns(ctx context.Context, path string) (count int, err error) {
	if path, err = disk.Resolve(path); err != nil {
		return 0, err
	}
	since, held, err := lock.Since(path)
	if err != nil || !held {
		return 0, err
	}
	err = read(ctx, path, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT count(*) FROM turn WHERE status = 'running' AND started_at >= ?", since.UnixMicro()).Scan(&count)
	})
	return count, err
}

// read runs do on a database of any version, which may be in use.
func read(ctx context.Context, path string, do func(*sql.DB) error) error {
	if err := database.CheckHeader(path); err != nil {
		return err
	}
	db, err := database.OpenReaders(path, database.DefaultBusyTimeout, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := database.CheckVersion(ctx, db, path); err != nil && !errors.Is(err, database.ErrNewer) {
		return database.Translate(path, err)
	}
	return database.Translate(path, do(db))
}
