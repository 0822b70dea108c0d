// Package mend rebuilds the indexes of a database, including the search index, from its tables. It also writes the
// write-ahead log of a database into it.
//
// It must never change a table with the only copy of something, or a database with another fault.
package mend

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"strata/historystore/database"
	"strata/historystore/disk"
	"strata/historystore/lock"
	"strata/internal/lazy"
)

// SearchIndex is the name of the search index in the results of Faults.
const SearchIndex = "message_fts"

// maxFaults is the number of faults that are looked at.
const maxFaults = 1000

var (
	// The results of SQLite's integrity_check that concern only the search index, or an index of a table.
	searchFault = lazy.Regexp(`^(?:malformed inverted index for FTS5 table main\.` + SearchIndex + `$` +
		`|unable to validate the inverted index for FTS5 table main\.` + SearchIndex + `:` +
		`|fts5: corruption .* (?:from|in) table "` + SearchIndex + `"$)`)
	indexFault = lazy.Regexp(`^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index) (\w+)$`)
	// A fault in the pages of a table or an index, which it names by its first page.
	treeFault = lazy.Regexp(`^Tree (\d+) page \d+`)
)

// treeFaults is before the faults in pages of tables and indexes, which are one result.
const treeFaults = "*** in database main ***\n"

// Faults returns the damaged indexes of a database. The error wraps database.ErrDamaged if the database has another fault,
// which Indexes cannot repair; a damaged index can hide such a fault.
func Faults(ctx context.Context, path string) ([]string, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	if err := database.CheckHeader(path); err != nil {
		return nil, err
	}
	db, err := database.OpenReaders(path, database.DefaultBusyTimeout, 1)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if _, err := database.CheckVersion(ctx, db, path); err != nil {
		return nil, database.Translate(path, err)
	}
	names, err := faults(ctx, db, path)
	return names, database.Translate(path, err)
}

func faults(ctx context.Context, db *sql.DB, path string) (names []string, err error) {
	byPage, err := indexesByPage(ctx, db)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", maxFaults))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var result string
		if err := rows.Scan(&result); err != nil {
			return nil, err
		}
		for line := range strings.SplitSeq(strings.TrimPrefix(result, treeFaults), "\n") {
			name := damagedIndex(line, byPage)
			switch {
			case line == "ok":
			case name == "":
				return nil, database.Damaged(path, result)
			case !slices.Contains(names, name):
				names = append(names, name)
			}
		}
	}
	if err := database.Translate(path, rows.Err()); err != nil && (len(names) == 0 || !errors.Is(err, database.ErrDamaged)) {
		return nil, err
	}
	return names, nil // the check reads also the damaged indexes, and may end at one
}

// indexesByPage returns the names of all indexes by their first pages.
func indexesByPage(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT rootpage, name FROM sqlite_schema WHERE type = 'index'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := make(map[string]string)
	for rows.Next() {
		var page, name string
		if err := rows.Scan(&page, &name); err != nil {
			return nil, err
		}
		names[page] = name
	}
	return names, rows.Err()
}

// damagedIndex returns the index that a fault is about; empty for another fault.
func damagedIndex(fault string, byPage map[string]string) string {
	if match := treeFault().FindStringSubmatch(fault); match != nil {
		return byPage[match[1]]
	}
	if searchFault().MatchString(fault) {
		return SearchIndex
	}
	if match := indexFault().FindStringSubmatch(fault); match != nil {
		return match[1]
	}
	return ""
}

// Indexes builds the damaged indexes of a database again, and returns their names. The error is that of Faults, or wraps
// lock.ErrLocked if a process has the database. After an error nothing has changed.
func Indexes(ctx context.Context, path string) (names []string, err error) {
	path, err = disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	l, err := lock.Acquire(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	names, err = Faults(ctx, path)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	db, err := database.OpenWriter(path, database.DefaultBusyTimeout)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := rebuild(ctx, db, path, names); err != nil {
		return nil, database.Translate(path, err)
	}
	return names, nil
}

// rebuild builds indexes again in one transaction, which is committed if no fault is left.
func rebuild(ctx context.Context, db *sql.DB, path string, names []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, name := range names {
		statement := `REINDEX "` + strings.ReplaceAll(name, `"`, `""`) + `"`
		if name == SearchIndex {
			statement = "INSERT INTO message_fts (message_fts) VALUES ('rebuild')"
		}
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("rebuild index %s: %w", name, err)
		}
	}
	var result string
	if err := tx.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return database.Damaged(path, result)
	}
	return tx.Commit()
}

// LogBytes returns the size of a database's write-ahead log.
func LogBytes(path string) (int64, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return 0, err
	}
	return disk.Size(path + "-wal")
}

// EmptyLog writes the log of a database into it. The error wraps lock.ErrLocked if a process has the database. The database
// must be intact.
func EmptyLog(ctx context.Context, path string) (err error) {
	path, err = disk.Resolve(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	l, err := lock.Acquire(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	db, err := database.OpenWriter(path, database.DefaultBusyTimeout)
	if err != nil {
		return err
	}
	defer db.Close()
	var busy, pages, written int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &written); err != nil {
		return database.Translate(path, err)
	}
	if busy != 0 {
		return fmt.Errorf("%w: %s", database.ErrBusy, path)
	}
	return nil
}
