package historystore

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"strata/history"
	"strata/historystore/heads"
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
		statement, err := scanOne[string](rows)
		if err != nil {
			t.Fatal(err)
		}
		statement = spaces.ReplaceAllString(comment.ReplaceAllString(statement, ""), " ")
		all = append(all, before.ReplaceAllString(statement, "$1"))
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
	}, "EXPLAIN QUERY PLAN SELECT "+heads.Columns+" FROM message WHERE session = ? AND seq > ? ORDER BY seq", "sess_a", 0)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "plan", plan, "SEARCH message USING COVERING INDEX message_head (session=? AND seq>?)")
}

// databaseOfVersion creates a database with an earlier schema.
func databaseOfVersion(t *testing.T, path string, version int) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, "rwc"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	all, err := migrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(ctx, db, all[:version]); err != nil {
		t.Fatal(err)
	}
	return db
}

// A database of version 6 gets the totals of its sessions from their calls; later calls are added.
func TestTotalsOfADatabaseWithoutThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	db := databaseOfVersion(t, path, 6)
	for _, id := range []string{"sess_a", "sess_b"} {
		if _, err := db.Exec(`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden, messages)
			VALUES (?, '/', '[]', '', 0, '{}', 1, 1, 0, 0)`, id); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range []string{"call_1", "call_2"} {
		if _, err := db.Exec(`INSERT INTO usage (session, id, turn, purpose, model, input, output, cache_read, cache_write, cost, expected, categories, at)
			VALUES ('sess_a', ?, '', 'turn', 'm', 1, 2, 3, 4, 0.25, 0, '{}', 1)`, call); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	s := openTest(t, path, Options{})
	used := history.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	two := used.Add(used)
	equal(t, "totals", load(t, s, "sess_a").Totals, history.Totals{Calls: 2, Usage: two, Cost: 0.5})
	equal(t, "totals without calls", load(t, s, "sess_b").Totals, history.Totals{})
	commit(t, s, history.Change{Session: "sess_a", Calls: []history.Call{{ID: "call_2", Usage: used, Cost: 0.25}}})
	equal(t, "totals after a call that was stored", load(t, s, "sess_a").Totals, history.Totals{Calls: 2, Usage: two, Cost: 0.5})
	commit(t, s, history.Change{Session: "sess_a", Calls: []history.Call{{ID: "call_3", Usage: used, Cost: 0.25}}})
	equal(t, "later totals", load(t, s, "sess_a").Totals, history.Totals{Calls: 3, Usage: two.Add(used), Cost: 0.75})
}
