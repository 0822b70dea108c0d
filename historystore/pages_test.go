package historystore

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/history"
)

// pages returns the number of pages that the writer's connection has written to the write-ahead log since the last call.
func pages(t testing.TB, s *Store) (n int) {
	t.Helper()
	err := s.run(ctx, "test", &job{alone: true, apply: func(tx *writeTx) error {
		n = tx.written(true)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// typicalEnd returns the end of a turn with a reply of four kilobytes and what such a turn changes of the layout.
func typicalEnd(id string, n int64) history.Change {
	end := endTurn(id, n)
	end.Messages[0].Blocks[0].Text = strings.Repeat(fmt.Sprintf("a typical answer%d of four kilobytes ", n), 110)
	row := []byte(strings.Repeat("r", 150))
	end.Layout = &history.LayoutChange{Head: make([]byte, 300), Len: int(2*n + 2),
		Rows: []history.LayoutRow{{N: int(2 * n), Bytes: row}, {N: int(2*n + 1), Bytes: row}}}
	end.Blobs = nil
	return end
}

// A turn of a session in the middle of others writes few pages, and its index few more in the background. The limits are
// a tenth above the measured averages.
func TestPagesOfATurn(t *testing.T) {
	s := openTest(t, "", asked)
	for k := range 12 {
		id := fmt.Sprintf("sess_%026d", 2*k)
		commit(t, s, createSession(id))
		for n := range int64(10) {
			commit(t, s, beginTurn(id, n), typicalEnd(id, n))
		}
	}
	id := fmt.Sprintf("sess_%026d", 7)
	commit(t, s, createSession(id))
	catchUp(t, s)
	const turns = 40
	sums := map[string]int{}
	count := func(kind string, do func()) {
		pages(t, s)
		do()
		sums[kind] += pages(t, s)
	}
	for n := int64(100); n < 100+turns; n++ {
		count("begin", func() { commit(t, s, beginTurn(id, n)) })
		count("partial", func() { commit(t, s, savePartial(id, n, 0, strings.Repeat("piece ", 700))) })
		count("end", func() { commit(t, s, typicalEnd(id, n)) })
		count("index", func() { catchUp(t, s) })
	}
	for kind, limit := range map[string]float64{"begin": 12.3, "partial": 4.9, "end": 24.3, "index": 9} {
		each := float64(sums[kind]) / turns
		t.Logf("%s: %.1f pages", kind, each)
		if each > limit {
			t.Errorf("%s: %.1f pages, more than %v", kind, each, limit)
		}
	}
}

// A long log is moved into the database by the upkeep, so that commits need not do it.
func TestUpkeepMovesTheLog(t *testing.T) {
	s := openTest(t, "", asked)
	moved := func() (log, moved int) {
		t.Helper()
		var busy int
		if err := s.run(ctx, "test", &job{alone: true, apply: func(tx *writeTx) error {
			return tx.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &log, &moved)
		}}); err != nil {
			t.Fatal(err)
		}
		return log, moved
	}
	commit(t, s, createSession("sess_a"))
	catchUp(t, s)
	for n := int64(0); n < 15; n++ { // some 450 pages
		commit(t, s, beginTurn("sess_a", n), endTurn("sess_a", n))
	}
	if log, done := moved(); done != 0 || log < 200 {
		t.Fatalf("%d of %d pages are moved", done, log)
	}
	for n := int64(15); n < 25; n++ {
		commit(t, s, beginTurn("sess_a", n), endTurn("sess_a", n))
	}
	catchUp(t, s)
	if log, done := moved(); log != done || log < logPages {
		t.Fatalf("%d of %d pages are moved", done, log)
	}
	equal(t, "pages since", pages(t, s), 0)
}

// Lists read the rows of their page, not those of other sessions.
func TestListsUseTheirIndexes(t *testing.T) {
	s := openTest(t, "", Options{})
	for _, test := range []struct{ query, want string }{
		{callsAt("<", "DESC"), "SEARCH usage USING COVERING INDEX sqlite_autoindex_usage_1 (session=?)"},
		{newestTurns, "SEARCH turn USING INDEX sqlite_autoindex_turn_2 (session=?)"},
		{"SELECT id FROM session WHERE cwd IN (SELECT value FROM json_each(?))", "SEARCH session USING INDEX session_by_cwd (cwd=?)"},
		{"SELECT DISTINCT cwd FROM session WHERE hidden = 0 AND deleted_at IS NULL", "SCAN session USING INDEX session_by_cwd"},
	} {
		args := make([]any, strings.Count(test.query, "?"))
		plan, err := collect(ctx, s.read, func(row scanner) (detail string, err error) {
			var id, parent, unused int
			err = row.Scan(&id, &parent, &unused, &detail)
			return detail, err
		}, "EXPLAIN QUERY PLAN "+test.query, args...)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(plan, "\n"), test.want) {
			t.Errorf("%s:\n%s", test.query, strings.Join(plan, "\n"))
		}
	}
}

// A turn that was running in a database of version 8 is loaded with its chunks, and can end.
func TestRunningTurnOfADatabaseOfVersion8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	db := databaseOfVersion(t, path, 8)
	for _, statement := range []string{
		`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden, messages)
			VALUES ('sess_a', '/', '[]', '', 0, '{}', 1, 1, 0, 0)`,
		`INSERT INTO turn SELECT 'sess_a', 'turn_0', NULL, 'msg_1', 'msg_2', 'completed', '', NULL, 0, 0, 0, 0, 0, 1, 2`,
		`INSERT INTO turn SELECT 'sess_a', 'turn_1', NULL, 'msg_3', 'msg_4', 'running', '', NULL, 0, 0, 0, 0, 0, 3, 0`,
		`INSERT INTO partial VALUES ('sess_a', 'turn_1', 0, 'text', 'begun '), ('sess_a', 'turn_1', 1, 'text', 'well')`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Options{})
	l := load(t, s, "sess_a")
	if l.Unfinished == nil || l.Unfinished.ID != "turn_1" || len(l.Partials) != 2 || l.Partials[1].Text != "well" {
		t.Fatalf("unfinished %+v, chunks %+v", l.Unfinished, l.Partials)
	}
	commit(t, s, endTurn("sess_a", 1))
	for range 2 { // also a second end of the turn
		if l = load(t, s, "sess_a"); l.Unfinished != nil || len(l.Partials) != 0 {
			t.Fatalf("unfinished %+v, chunks %+v", l.Unfinished, l.Partials)
		}
		commit(t, s, history.Change{Session: "sess_a", End: endTurn("sess_a", 1).End})
	}
	commit(t, s, beginTurn("sess_a", 2))
	if l = load(t, s, "sess_a"); l.Unfinished == nil || l.Unfinished.ID != "turn_2" {
		t.Fatalf("unfinished %+v", l.Unfinished)
	}
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Purge(ctx, epoch.Add(time.Hour)); err != nil { // of a file without auto_vacuum
		t.Fatal(err)
	}
	equal(t, "database", dump(t, s), dumpOfCalibration(t, s))
}

// dumpOfCalibration is all that belongs to no session.
func dumpOfCalibration(t *testing.T, s *Store) string {
	t.Helper()
	all, err := s.Calibrations(ctx)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return fmt.Sprintf("calibration [%q,%v,%v]\n", all[0].Model, all[0].Ratio, all[0].Weight)
}
