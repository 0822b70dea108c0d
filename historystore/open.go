package historystore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// quickCheckBytes is the size up to which a database is checked whole before it is opened, at about 0.3 GB a second.
// A larger one is checked in the background.
const quickCheckBytes = 64 << 20

// walBytes is the size to which the write-ahead log shrinks after it was larger.
const walBytes = 64 << 20

var header = []byte("SQLite format 3\x00")

// dsn names the file at path, which may hold any character, with pragmas that every connection of a pool runs.
// SQLite's mode is "rw" or "ro"; neither creates a file.
func dsn(path, mode string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/folder
		path = "/" + path
	}
	query := url.Values{"mode": {mode}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

func busyPragma(timeout time.Duration) string {
	return "busy_timeout(" + strconv.FormatInt(timeout.Milliseconds(), 10) + ")"
}

// openWriter returns a pool of one connection.
func openWriter(path string, busy time.Duration) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, "rw", busyPragma(busy), "journal_mode(WAL)", "synchronous(FULL)",
		"foreign_keys(1)", "secure_delete(1)", "journal_size_limit("+strconv.Itoa(walBytes)+")"))
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// openReaders returns a pool of at most n connections that cannot write.
func openReaders(path string, busy time.Duration, n int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, "ro", busyPragma(busy)))
	if err == nil {
		db.SetMaxOpenConns(n)
		db.SetMaxIdleConns(n)
	}
	return db, err
}

// prepareFile creates the database at path, or checks the one that is there. It returns its size in bytes.
func prepareFile(ctx context.Context, path string, busy time.Duration) (size int64, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, create(ctx, path)
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s is not a file", path)
	}
	if err := checkWritable(path); err != nil {
		return 0, err
	}
	if err := checkHeader(path); err != nil {
		return 0, err
	}
	return info.Size(), checkContent(ctx, path, info.Size() <= quickCheckBytes, busy)
}

// Check reads the whole database at path, without the right to change it, and says what is wrong with it: what Open
// refuses, and the damage that Open looks for later in a large one. It does no harm to another process that has the
// database open; to this one it would: SQLite's locks end when any file of that name is closed. The error of a
// missing file wraps os.ErrNotExist.
func Check(ctx context.Context, path string) error {
	path, err := resolve(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", path)
	}
	if err := checkWritable(path); err != nil {
		return err
	}
	if err := checkHeader(path); err != nil {
		return err
	}
	return checkContent(ctx, path, true, defaultBusyTimeout)
}

// checkWritable returns ErrReadOnly with the file that cannot be written. SQLite, which needs all three, would name
// none, and a reader that may not write the database would leave the other two behind, as read-only as it is.
func checkWritable(path string) error {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
			return fmt.Errorf("%w: %s", ErrReadOnly, name)
		case err != nil:
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// create makes a whole database under another name first, so that a file of this name is never an unfinished one.
func create(ctx context.Context, path string) error {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return damaged(path, "it is missing, but its log "+info.Name()+" is there and would be lost")
	}
	unfinished := path + ".new"
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
	if err := fill(ctx, unfinished); err != nil {
		return translate(path, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// fill writes the newest schema into an empty file. auto_vacuum counts only before the first table.
func fill(ctx context.Context, path string) error {
	all, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(path, "rw", "auto_vacuum(INCREMENTAL)", "synchronous(FULL)"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(applySchema(ctx, db, newestSchema, len(all)), db.Close())
}

// checkHeader looks at the first bytes without SQLite, which would take an empty file for a new database.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	got := make([]byte, len(header))
	_, err = io.ReadFull(f, got)
	switch {
	case err == io.EOF:
		return damaged(path, "the file is empty")
	case err != nil && err != io.ErrUnexpectedEOF:
		return err
	case !bytes.Equal(got, header):
		return damaged(path, "the file is not a SQLite database")
	}
	return nil
}

// checkContent opens the database without the right to write and refuses one that is foreign, newer or damaged.
// Damage is looked for if whole is set.
func checkContent(ctx context.Context, path string, whole bool, busy time.Duration) error {
	all, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	db, err := openReaders(path, busy, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := checkVersion(ctx, db, path, len(all)); err != nil {
		return translate(path, err)
	}
	if !whole {
		return nil
	}
	return translate(path, quickCheck(ctx, db, path))
}

func checkVersion(ctx context.Context, db *sql.DB, path string, newest int) error {
	id, err := pragmaInt(ctx, db, "application_id")
	if err != nil {
		return err
	}
	if id != applicationID {
		return damaged(path, "it belongs to another program or has lost its mark")
	}
	version, err := pragmaInt(ctx, db, "user_version")
	if err != nil {
		return err
	}
	if version > int64(newest) {
		return fmt.Errorf("%w: %s has version %d, this program reads up to %d", ErrNewer, path, version, newest)
	}
	return nil
}

// quickCheck reads every page of the database once and returns ErrDamaged with the first fault that it finds.
func quickCheck(ctx context.Context, db *sql.DB, path string) error {
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return damaged(path, strings.ReplaceAll(result, "\n", " "))
	}
	return nil
}
