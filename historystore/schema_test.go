package historystore

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// emptyDatabase returns a SQLite file without tables.
func emptyDatabase(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(filepath.Join(t.TempDir(), "strata.db"), "rwc"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestMigrationsReachTheNewestSchema(t *testing.T) {
	all, err := migrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	migrated, fresh := emptyDatabase(t), emptyDatabase(t)
	if err := migrate(ctx, migrated, all); err != nil {
		t.Fatal(err)
	}
	if err := applySchema(ctx, fresh, newestSchema, len(all)); err != nil {
		t.Fatal(err)
	}
	equal(t, "schema", schemaOf(t, migrated), schemaOf(t, fresh))
	for _, name := range []string{"user_version", "application_id"} {
		a, errA := pragmaInt(ctx, migrated, name)
		b, errB := pragmaInt(ctx, fresh, name)
		if a != b || errA != nil || errB != nil {
			t.Errorf("%s: %d and %d", name, a, b)
		}
	}
}

var (
	comment = regexp.MustCompile(`--[^\n]*`)
	spaces  = regexp.MustCompile(`\s+`)
)

// schemaOf returns the statements of a database's schema, without comments and white space.
func schemaOf(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.Query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		statement, err := scanOne[string](rows)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, spaces.ReplaceAllString(comment.ReplaceAllString(statement, ""), " "))
	}
	return strings.Join(all, "\n")
}

func TestMigrateRunsMissingMigrations(t *testing.T) {
	db := emptyDatabase(t)
	first := []migration{{1, "CREATE TABLE a (x); INSERT INTO a VALUES (1)"}}
	second := append(first, migration{2, "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1"})
	broken := append(second, migration{3, "UPDATE a SET y = 7; CREATE TABLE a (x)"})
	for _, all := range [][]migration{first, first, second, second} {
		if err := migrate(ctx, db, all); err != nil {
			t.Fatal(err)
		}
	}
	if err := migrate(ctx, db, broken); err == nil {
		t.Fatal("a failing migration was accepted")
	}
	var y int
	if err := db.QueryRow("SELECT y FROM a").Scan(&y); err != nil || y != 2 {
		t.Fatal(y, err)
	}
	version, err := pragmaInt(ctx, db, "user_version")
	if version != 2 || err != nil {
		t.Fatal(version, err)
	}
}

func TestMigrationNumbersHaveNoGap(t *testing.T) {
	for name, files := range map[string][]string{
		"gap": {"0001_a.sql", "0003_b.sql"}, "twice": {"0001_a.sql", "0001_b.sql"}, "no number": {"first.sql"}, "from zero": {"0000_a.sql"},
	} {
		fs := fstest.MapFS{}
		for _, file := range files {
			fs["migrations/"+file] = &fstest.MapFile{}
		}
		if _, err := migrations(fs); err == nil {
			t.Errorf("%s: accepted %v", name, files)
		}
	}
}

// Heads are read from an index with all of their columns: 10,000 messages are loaded without reading their contents.
func TestHeadsAreReadFromTheirIndex(t *testing.T) {
	s := openTest(t, "", Options{})
	plan, err := first(ctx, s.writer.tx, func(row scanner) (detail string, err error) {
		var id, parent, unused int
		err = row.Scan(&id, &parent, &unused, &detail)
		return detail, err
	}, "EXPLAIN QUERY PLAN SELECT "+headColumns+" FROM message WHERE session = ? ORDER BY seq", "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "plan", plan, "SEARCH message USING COVERING INDEX message_head (session=?)")
}
