package schema

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	_ "modernc.org/sqlite"
)

// emptyDatabase returns a SQLite file without tables.
func emptyDatabase(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "strata.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestMigrationsReachTheNewestSchema(t *testing.T) {
	all, err := Migrations()
	if err != nil {
		t.Fatal(err)
	}
	migrated, fresh := emptyDatabase(t), emptyDatabase(t)
	if err := Migrate(t.Context(), migrated, all, Program{}); err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), fresh, Program{}); err != nil {
		t.Fatal(err)
	}
	if got, want := schemaOf(t, migrated), schemaOf(t, fresh); got != want {
		t.Errorf("migrated to\n%s\nwant\n%s", got, want)
	}
	for _, name := range []string{"user_version", "application_id"} {
		a, errA := Pragma(t.Context(), migrated, name)
		b, errB := Pragma(t.Context(), fresh, name)
		if a != b || errA != nil || errB != nil {
			t.Errorf("%s: %d and %d", name, a, b)
		}
	}
}

var (
	comment = regexp.MustCompile(`--[^\n]*`)
	spaces  = regexp.MustCompile(`\s+`)
	before  = regexp.MustCompile(` ([,)])`) // ALTER TABLE adds a column behind the white space
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
		var statement string
		if err := rows.Scan(&statement); err != nil {
			t.Fatal(err)
		}
		statement = spaces.ReplaceAllString(comment.ReplaceAllString(statement, ""), " ")
		all = append(all, before.ReplaceAllString(statement, "$1"))
	}
	return strings.Join(all, "\n")
}

func TestMigrateRunsMissingMigrations(t *testing.T) {
	db := emptyDatabase(t)
	first := []Migration{{1, "CREATE TABLE a (x); INSERT INTO a VALUES (1)"}}
	second := append(first, Migration{2, "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1"})
	broken := append(second, Migration{3, "UPDATE a SET y = 7; CREATE TABLE a (x)"})
	for _, all := range [][]Migration{first, first, second, second} {
		if err := Migrate(t.Context(), db, all, Program{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Migrate(t.Context(), db, broken, Program{}); err == nil {
		t.Fatal("a failing migration was accepted")
	}
	old := emptyDatabase(t)
	if err := Migrate(t.Context(), old, first, Program{}); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(t.Context(), old, broken, Program{}); err == nil {
		t.Fatal("a failing migration was accepted")
	}
	if version, err := Pragma(t.Context(), old, "user_version"); version != 1 || err != nil {
		t.Errorf("a migration that failed at its second step left the version %d, %v", version, err)
	}
	var y int
	if err := db.QueryRow("SELECT y FROM a").Scan(&y); err != nil || y != 2 {
		t.Fatal(y, err)
	}
	version, err := Pragma(t.Context(), db, "user_version")
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
		if _, err := read(fs); err == nil {
			t.Errorf("%s: accepted %v", name, files)
		}
	}
}
