package mend

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"strata/historystore/database"
	"strata/historystore/lock"
	"strata/historystore/schema"
	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// newDatabase creates a database with a session and indexed messages.
func newDatabase(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "strata.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	change(t, path, func(db *sql.DB) error { return schema.Create(t.Context(), db, schema.Program{}) },
		`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden)
			VALUES ('sess_a', '/', '[]', '', 0, '{}', 1, 1, 0)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
			INSERT INTO message (session, seq, id, turn, role, status, tokens, bytes, blocks, has_calls, at, checksum, body, text)
			SELECT 'sess_a', i, 'msg_' || i, '', 'user', 'complete', 1, 1, 1, 0, i, 1, x'00', 'word number' || i FROM n`,
		"INSERT INTO message_fts (rowid, text) SELECT rowid, text FROM message WHERE rowid < 60") // the others are indexed later
	return path
}

// change opens a database as the server does, calls do, which may be nil, and runs statements.
func change(t *testing.T, path string, do func(db *sql.DB) error, statements ...string) {
	t.Helper()
	db, err := database.OpenWriter(path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if do != nil {
		if err := do(db); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// The damages of tests. An index without some of its rows is made by a table that has more: SQLite keeps the index of a
// table that was swapped in its schema.
var damages = map[string]struct {
	statements []string
	names      []string
}{
	"none":         {nil, nil},
	"search index": {[]string{"DELETE FROM message_fts_data WHERE id > 10"}, []string{SearchIndex}},
	"index": {[]string{
		"CREATE INDEX other ON message (at, seq) WHERE at > 50",
		"PRAGMA writable_schema = ON",
		"UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'other') WHERE name = 'message_by_time'",
		"DELETE FROM sqlite_schema WHERE name = 'other'",
		"PRAGMA writable_schema = RESET",
	}, []string{"message_by_time"}},
}

func TestDamagedIndexesAreRebuilt(t *testing.T) {
	for name, damage := range damages {
		if name == "index" {
			continue // leaves pages without use, which is another fault
		}
		t.Run(name, func(t *testing.T) {
			path := newDatabase(t)
			change(t, path, nil, damage.statements...)
			if err := database.Check(t.Context(), path); errors.Is(err, database.ErrDamaged) != (damage.names != nil) {
				t.Errorf("check: %v", err)
			}
			if names, err := Faults(t.Context(), path); err != nil || !slices.Equal(names, damage.names) {
				t.Fatalf("faults %q, %v", names, err)
			}
			if names, err := Indexes(t.Context(), path); err != nil || !slices.Equal(names, damage.names) {
				t.Fatalf("rebuilt %q, %v", names, err)
			}
			if err := database.Check(t.Context(), path); err != nil {
				t.Error(err)
			}
			if damage.names == nil {
				return
			}
			change(t, path, func(db *sql.DB) error {
				var hits int
				err := db.QueryRow("SELECT count(*) FROM message_fts WHERE message_fts MATCH 'word'").Scan(&hits)
				if err == nil && hits != 100 {
					err = fmt.Errorf("%d hits", hits)
				}
				return err
			})
		})
	}
}

// A rebuild that does not lead to an intact database changes nothing.
func TestARebuildWithAnotherFaultChangesNothing(t *testing.T) {
	path := newDatabase(t)
	change(t, path, nil, damages["index"].statements...)
	names, err := Indexes(t.Context(), path)
	if !errors.Is(err, database.ErrDamaged) || names != nil {
		t.Errorf("rebuilt %q, %v", names, err)
	}
	change(t, path, func(db *sql.DB) error {
		var n int
		err := db.QueryRow("SELECT count(*) FROM message NOT INDEXED").Scan(&n)
		if err == nil && n != 100 {
			err = fmt.Errorf("%d messages", n)
		}
		return err
	})
}

func TestFaultsOfIndexes(t *testing.T) {
	for fault, want := range map[string]string{
		"malformed inverted index for FTS5 table main.message_fts":                  SearchIndex,
		"malformed inverted index for FTS5 table main.other":                        "",
		`fts5: corruption found reading blob 137438953473 from table "message_fts"`: SearchIndex,
		`fts5: corruption found reading blob 137438953473 from table "other"`:       "",
		"row 7 missing from index message_head":                                     "message_head",
		"wrong # of entries in index sqlite_autoindex_message_1":                    "sqlite_autoindex_message_1",
		"non-unique entry in index session_by_time":                                 "session_by_time",
		"Tree 5 page 6: btreeInitPage() returns error code 11":                      "session_by_time",
		"Tree 6 page 6 cell 0: Offset 65535 out of range 4052..4092":                "",
		"NULL value in message.text":                                                "",
		"row 7 missing from index a\nrow 8 missing from index b":                    "",
		"ok": "",
	} {
		if got := damagedIndex(fault, map[string]string{"5": "session_by_time"}); got != want {
			t.Errorf("%q: %q, want %q", fault, got, want)
		}
	}
}

// Only the log of a database that no process has is written into it.
func TestTheNameOfAnIndexIsNoStatement(t *testing.T) {
	path, name := newDatabase(t), `a"; DELETE FROM message; --`
	change(t, path, func(db *sql.DB) error {
		if _, err := db.Exec(`CREATE INDEX "a""; DELETE FROM message; --" ON message (at)`); err != nil {
			return err
		}
		return rebuild(t.Context(), db, path, []string{name})
	})
	change(t, path, func(db *sql.DB) error {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM message").Scan(&n); err != nil || n != 100 {
			return fmt.Errorf("%d messages, %w", n, err)
		}
		return nil
	})
}

func TestTheLogIsEmptied(t *testing.T) {
	original, path := newDatabase(t), filepath.Join(t.TempDir(), "strata.db")
	change(t, original, func(db *sql.DB) error {
		if _, err := db.Exec("UPDATE session SET title = 'in the log'"); err != nil {
			return err
		}
		for _, suffix := range []string{"", "-wal"} { // as a crash leaves them
			data, err := os.ReadFile(original + suffix)
			if err == nil {
				err = os.WriteFile(path+suffix, data, 0o600)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if n, err := LogBytes(path); n == 0 || err != nil {
		t.Fatal(n, err)
	}
	held, err := lock.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := EmptyLog(t.Context(), path); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("a database in use: %v", err)
	}
	if _, err := Indexes(t.Context(), path); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("a database in use: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if err := EmptyLog(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if n, err := LogBytes(path); n != 0 || err != nil {
		t.Error(n, err)
	}
	change(t, path, func(db *sql.DB) error {
		var title string
		err := db.QueryRow("SELECT title FROM session").Scan(&title)
		if err == nil && title != "in the log" {
			err = fmt.Errorf("title %q", title)
		}
		return err
	})
	missing := filepath.Join(t.TempDir(), "missing.db")
	if err := EmptyLog(t.Context(), missing); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(lock.Path(missing)); err == nil {
		t.Error("a missing database has a lock")
	}
}

// An index whose page is overwritten is built again; a table is not.
func TestADamagedPageOfAnIndex(t *testing.T) {
	for _, tt := range []struct {
		name string
		want []string // nil: the damage is not only in indexes
	}{
		{"session_by_time", []string{"session_by_time"}},
		{"message_by_time", []string{"message_by_time"}},
		{"session", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := newDatabase(t)
			overwrite(t, path, tt.name)
			names, err := Indexes(t.Context(), path)
			if errors.Is(err, database.ErrDamaged) != (tt.want == nil) || !slices.Equal(names, tt.want) {
				t.Fatalf("rebuilt %q, %v", names, err)
			}
			if err := database.Check(t.Context(), path); errors.Is(err, database.ErrDamaged) != (tt.want == nil) {
				t.Errorf("check: %v", err)
			}
		})
	}
}

// overwrite damages the cell pointers in the first page of a table or an index.
func overwrite(t *testing.T, path, name string) {
	t.Helper()
	var page, size int64
	change(t, path, func(db *sql.DB) error {
		if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
		if err := db.QueryRow("PRAGMA page_size").Scan(&size); err != nil {
			return err
		}
		return db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", name).Scan(&page)
	})
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("\xff\xff\xff\xff"), (page-1)*size+8); err != nil { // behind the header of a leaf
		t.Fatal(err)
	}
}
