package historystore

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

// applicationID identifies a SQLite file as ours ("Stra" in ASCII), so that another program's database is never
// migrated.
const applicationID = 0x53747261

//go:embed schema.sql
var newestSchema string

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration converts a database from the previous version to its own.
type migration struct {
	version int
	sql     string
}

// migrations reads the files NNNN_name.sql, which must be numbered consecutively from 1.
func migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []migration
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
		all = append(all, migration{version, string(text)})
	}
	return all, nil
}

// migrate runs the migrations that are newer than the database's version, each in its own transaction.
func migrate(ctx context.Context, db *sql.DB, all []migration) error {
	version, err := pragmaInt(ctx, db, "user_version")
	if err != nil {
		return err
	}
	for _, m := range all {
		if int64(m.version) <= version {
			continue
		}
		if err := applySchema(ctx, db, m.sql, m.version); err != nil {
			return fmt.Errorf("migration %d: %w", m.version, err)
		}
	}
	return nil
}

// applySchema runs text and sets the version, in one transaction.
func applySchema(ctx context.Context, db *sql.DB, text string, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return err
	}
	// Pragmas do not accept parameters.
	ids := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version)
	if _, err := tx.ExecContext(ctx, ids); err != nil {
		return err
	}
	return tx.Commit()
}

func pragmaInt(ctx context.Context, db *sql.DB, name string) (n int64, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&n)
	return n, err
}
