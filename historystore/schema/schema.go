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

// Create runs the newest schema in an empty database.
func Create(ctx context.Context, db *sql.DB) error {
	all, err := Migrations()
	if err != nil {
		return err
	}
	return apply(ctx, db, newest, len(all))
}

// Migrate runs those of the migrations that are newer than the database's version, each in its own transaction.
func Migrate(ctx context.Context, db *sql.DB, all []Migration) error {
	version, err := Pragma(ctx, db, "user_version")
	if err != nil {
		return err
	}
	for _, m := range all {
		if int64(m.version) <= version {
			continue
		}
		if err := apply(ctx, db, m.sql, m.version); err != nil {
			return fmt.Errorf("migration %d: %w", m.version, err)
		}
	}
	return nil
}

// apply runs text and sets the version, in one transaction.
func apply(ctx context.Context, db *sql.DB, text string, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return err
	}
	// Pragmas do not accept parameters.
	ids := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", ApplicationID, version)
	if _, err := tx.ExecContext(ctx, ids); err != nil {
		return err
	}
	return tx.Commit()
}

// Pragma returns the value of a pragma that is a number: application_id, or user_version, which is the schema's version.
func Pragma(ctx context.Context, db *sql.DB, name string) (n int64, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&n)
	return n, err
}
