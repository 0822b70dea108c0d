// Package schema is the tables of a database: the newest schema for a new one, and the numbered migrations that lead an
// older one there. Tests compare both.
//
// It must never change the schema of a database that belongs to another program.
package schema

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"strata/internal/failpoint"
)

// ApplicationID identifies a SQLite file as ours ("Stra" in ASCII), so that another program's database is never
// migrated.
const ApplicationID = 0x53747261

//go:embed schema.sql
var newest string

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration converts a database from the previous version to its own.
type Migration struct {
	version int
	sql     string
}

// Migrations returns all migrations, oldest first. Their number is the newest version.
func Migrations() ([]Migration, error) { return read(migrationFiles) }

// Newest returns the version of the newest schema, 0 if the program contains none.
func Newest() int {
	all, err := Migrations()
	if err != nil {
		return 0 // a test reports it
	}
	return len(all)
}

// read reads the files NNNN_name.sql, which must be numbered consecutively from 1.
func read(files fs.FS) ([]Migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []Migration
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: number must be %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, Migration{version, string(text)})
	}
	return all, nil
}

// recorded is the first version whose databases record the program that made them.
const recorded = 17

// Program is the program that creates or migrates a database.
type Program struct {
	Version string // as the user knows it
	At      time.Time
}

// Create runs the newest schema in an empty database.
func Create(ctx context.Context, db *sql.DB, by Program) error {
	all, err := Migrations()
	if err != nil {
		return err
	}
	return apply(ctx, db, []Migration{{len(all), newest}}, by)
}

// Migrate runs those of the migrations that are newer than the database's version, in one transaction: the database has the
// old schema until it has the newest one, whenever the process or the disk fails.
func Migrate(ctx context.Context, db *sql.DB, all []Migration, by Program) error {
	version, err := Pragma(ctx, db, "user_version")
	if err != nil {
		return err
	}
	missing := all[min(int(max(version, 0)), len(all)):]
	if len(missing) == 0 {
		return nil
	}
	return apply(ctx, db, missing, by)
}

// apply runs migrations, and sets the version to that of the last one, in one transaction. Tests can end the process before
// each migration and before the commit ("migrate").
func apply(ctx context.Context, db *sql.DB, missing []Migration, by Program) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, m := range missing {
		failpoint.Hit("migrate")
		if _, err := tx.ExecContext(ctx, m.sql); err != nil {
			return fmt.Errorf("migration %d: %w", m.version, err)
		}
	}
	version := missing[len(missing)-1].version
	if version >= recorded {
		if _, err := tx.ExecContext(ctx, "INSERT INTO program VALUES (?, ?, ?)", version, by.Version, by.At.UnixMicro()); err != nil {
			return err
		}
	}
	// Pragmas do not accept parameters.
	ids := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", ApplicationID, version)
	if _, err := tx.ExecContext(ctx, ids); err != nil {
		return err
	}
	failpoint.Hit("migrate")
	return tx.Commit()
}

// Maker returns the version of the program that brought a database to its schema; empty if the database does not tell.
// The schema may be newer than this program's.
func Maker(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version string) {
	if err := db.QueryRowContext(ctx, "SELECT version FROM program ORDER BY schema DESC LIMIT 1").Scan(&version); err != nil {
		return "" // before version 17, or after the table has changed
	}
	return version
}

// Pragma returns the value of a pragma that is a number: application_id, or user_version, which is the schema's version.
func Pragma(ctx context.Context, db *sql.DB, name string) (n int64, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&n)
	return n, err
}
