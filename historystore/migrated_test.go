package historystore

import (
	"database/sql"
	"path/filepath"
	"testing"

	"strata/history"
	"strata/historystore/database"
	"strata/historystore/heads"
	"strata/historystore/schema"
)

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
	db, err := sql.Open("sqlite", database.Name(path, "rwc"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	all, err := schema.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Migrate(ctx, db, all[:version], schema.Program{}); err != nil {
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
