// Package database is the file of a store: creating it, checking it before it is opened, its connections, and the errors of
// SQLite by their meaning.
//
// It must never replace a damaged database by a new one.
package database

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"modernc.org/sqlite"

	"strata/historystore/disk"
	"strata/historystore/schema"
	"strata/internal/clip"
)

// QuickCheckBytes is the maximum size of a database whose content is checked before it is changed, at about 0.1 GB per
// second.
const QuickCheckBytes = 64 << 20

// DefaultBusyTimeout is how long a connection waits for the lock of another process unless a caller says otherwise.
const DefaultBusyTimeout = 5 * time.Second

// walBytes is the size to which the write-ahead log is truncated after a checkpoint.
const walBytes = 64 << 20

var header = []byte("SQLite format 3\x00")

// Name returns the data source name for the file at path, which may contain any character, with pragmas for each
// connection. mode is SQLite's "rw" or "ro"; neither creates a file.
func Name(path, mode string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/folder
		path = "/" + path
	}
	query := url.Values{"mode": {mode}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// BusyPragma returns the pragma that limits how long a connection waits for the locks of other processes.
func BusyPragma(timeout time.Duration) string {
	return "busy_timeout(" + strconv.FormatInt(timeout.Milliseconds(), 10) + ")"
}

// OpenWriter returns a pool of one connection. It makes SQLite sync with fdatasync where that exists: the time of the last
// change, which fsync also writes, is not needed to read a file.
func OpenWriter(path string, busy time.Duration) (*sql.DB, error) {
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, err
	}
	db, err := sql.Open("sqlite", Name(path, "rw", BusyPragma(busy), "journal_mode(WAL)", "synchronous(FULL)",
		"foreign_keys(1)", "secure_delete(1)", "journal_size_limit("+strconv.Itoa(walBytes)+")"))
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// OpenReaders returns a pool of up to n read-only connections.
func OpenReaders(path string, busy time.Duration, n int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", Name(path, "ro", BusyPragma(busy)))
	if err == nil {
		db.SetMaxOpenConns(n)
		db.SetMaxIdleConns(n)
	}
	return db, err
}

// Contents is what is known of a database before it is opened for changes.
type Contents struct {
	Unchecked int64 // bytes whose content was not checked
	Schema    int   // version of an existing database
	Outdated  bool  // its schema has to be migrated
}

// Prepare creates the database at path as the program by, or checks the existing one.
func Prepare(ctx context.Context, path string, busy time.Duration, by schema.Program) (Contents, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Contents{}, create(ctx, path, by)
	case err != nil:
		return Contents{}, err
	}
	if err := checkHead(path); err != nil {
		return Contents{}, err
	}
	c := Contents{Unchecked: info.Size()}
	err = readOnly(path, busy, func(db *sql.DB) error {
		if c.Schema, err = CheckVersion(ctx, db, path); err != nil {
			return err
		}
		if c.Outdated = c.Schema < schema.Newest(); !c.Outdated || c.Unchecked > QuickCheckBytes {
			return nil
		}
		c.Unchecked = 0
		return QuickCheck(ctx, db, path)
	})
	return c, err
}

// Check reads the whole database at path through a read-only connection. It returns an error if Prepare would refuse the
// database, or if it is damaged, which Prepare does not detect in a large database. Another process may have the database
// open; this process must not, as SQLite's locks end when any file descriptor of the file is closed. The error
// for a missing file wraps os.ErrNotExist.
func Check(ctx context.Context, path string) error {
	path, err := disk.Resolve(path)
	if err != nil {
		return err
	}
	if err := checkHead(path); err != nil {
		return err
	}
	return readOnly(path, DefaultBusyTimeout, func(db *sql.DB) error {
		if _, err := CheckVersion(ctx, db, path); err != nil {
			return err
		}
		return QuickCheck(ctx, db, path)
	})
}

// readOnly runs fn with a read-only connection to the database.
func readOnly(path string, busy time.Duration, fn func(db *sql.DB) error) error {
	db, err := OpenReaders(path, busy, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	return Translate(path, fn(db))
}

// checkHead checks that the files can be written, and the first bytes of the database.
func checkHead(path string) error {
	if err := checkFile(path); err != nil {
		return err
	}
	if err := checkWritable(path); err != nil {
		return err
	}
	return CheckHeader(path)
}

// checkWritable returns ErrReadOnly with the name of a file that cannot be written. SQLite needs all three files, but its
// error names none, and a connection that cannot write the database would leave read-only -wal and -shm files.
func checkWritable(path string) error {
	name, err := disk.Unwritable(path, path+"-wal", path+"-shm")
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w: %s", ErrReadOnly, name)
	}
	return err
}

// Unfinished returns the name of a database that is being created.
func Unfinished(path string) string { return path + ".new" }

// create creates a complete database under a temporary name and renames it, so that path is never an unfinished one.
func create(ctx context.Context, path string, by schema.Program) error {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return Damaged(path, "the file is missing, but its log "+info.Name()+" exists and would be lost")
	}
	unfinished := Unfinished(path)
	for _, name := range []string{unfinished, unfinished + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := fill(ctx, unfinished, by); err != nil {
		return Translate(path, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

// fill writes the newest schema into an empty file. auto_vacuum must be set before the first table is created.
func fill(ctx context.Context, path string, by schema.Program) error {
	db, err := sql.Open("sqlite", Name(path, "rw", "auto_vacuum(INCREMENTAL)", "synchronous(FULL)"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(schema.Create(ctx, db, by), db.Close())
}

// checkFile returns an error if path is not a file: to open a named pipe would wait for another process.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return err
}

// CheckHeader checks the first bytes of the file. SQLite would accept an empty file as a new database.
func CheckHeader(path string) error {
	if err := checkFile(path); err != nil {
		return err
	}
	got, err := disk.Head(path, len(header))
	switch {
	case err != nil:
		return err
	case len(got) == 0:
		return Damaged(path, "the file is empty")
	case !bytes.Equal(got, header):
		return Damaged(path, "the file is not a SQLite database")
	}
	return nil
}

// CheckVersion returns the version of the database's schema. The error wraps ErrNewer if this program does not know it.
func CheckVersion(ctx context.Context, db *sql.DB, path string) (version int, err error) {
	id, err := schema.Pragma(ctx, db, "application_id")
	if err != nil {
		return 0, err
	}
	if id != schema.ApplicationID {
		return 0, Damaged(path, "the file belongs to another program or has lost its application id")
	}
	number, err := schema.Pragma(ctx, db, "user_version")
	if err != nil {
		return 0, err
	}
	if newest := schema.Newest(); number > int64(newest) {
		return 0, fmt.Errorf("%w: %s has schema %d%s, this program supports up to %d", ErrNewer, path, number, madeBy(ctx, db), newest)
	}
	return int(number), nil
}

// madeBy names the program that brought a database to its schema, if the database tells.
func madeBy(ctx context.Context, db *sql.DB) string {
	if version := schema.Maker(ctx, db); version != "" {
		return " of strata " + clip.Name(version)
	}
	return ""
}

// QuickCheck reads every page of the database and returns ErrDamaged with the first fault.
func QuickCheck(ctx context.Context, db *sql.DB, path string) error {
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return Damaged(path, result)
	}
	return nil
}
