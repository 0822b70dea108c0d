package database

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"strata/history"
)

// The errors of a database, wrapped with their subject.
var (
	// ErrDamaged means that the database is damaged. The wrapping error contains the path and the remedy.
	ErrDamaged = errors.New("database is damaged")

	// ErrNewer means that a newer version of the program wrote the database.
	ErrNewer = errors.New("database was written by a newer version")

	// ErrBusy means that another process held a lock on the database for longer than the busy timeout.
	// Nothing was stored; a retry may succeed.
	ErrBusy error = Refusal("database is busy")

	// ErrFull means that the disk is full. Nothing was stored.
	ErrFull error = Refusal("disk is full")

	// ErrReadOnly means that the database cannot be written. Nothing was stored.
	ErrReadOnly error = Refusal("database is read-only")

	// ErrDuplicate means that another row with the same key exists. Nothing was stored.
	ErrDuplicate error = Refusal("already stored")
)

// Translate converts an error of SQLite to one of this package or history.ErrNotFound, by its code. It keeps the text but not
// the type.
func Translate(path string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return history.ErrNotFound
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_TRIGGER:
		return fmt.Errorf("%w: %s", ErrDuplicate, e)
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return history.ErrNotFound
	}
	switch e.Code() & 0xff { // the primary code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %s", ErrBusy, path)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %s", ErrFull, path)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: %s", ErrReadOnly, path)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return Damaged(path, e.Error())
	}
	return errors.New(e.Error())
}

// Damaged returns ErrDamaged with a database, a fault and the remedy, in one line.
func Damaged(path, detail string) error {
	detail = strings.ReplaceAll(detail, "\n", " ")
	return fmt.Errorf("%w: %s: %s; nothing was deleted: restore a backup with `strata restore FILE`, or move the file away "+
		"to start with a new one (sqlite3's .recover may save its content)", ErrDamaged, path, detail)
}

// A Refusal is an error after which nothing is stored, so that a caller needs no further attempt to know.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// Is reports whether target is history.ErrUnchanged.
func (r Refusal) Is(target error) bool { return target == history.ErrUnchanged }
