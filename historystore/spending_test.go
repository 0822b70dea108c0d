package historystore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"strata/history"
	"strata/historystore/spending"
)

// spent stores n calls of a session with random usage between two times, and returns them.
func spent(t testing.TB, s *Store, session string, n int, since, until time.Time, random *rand.Rand) []history.Call {
	t.Helper()
	return spentBy(t, s, session, "", n, since, until, random)
}

// spentBy is spent for a part of a session, which it names.
func spentBy(t testing.TB, s *Store, session, part string, n int, since, until time.Time, random *rand.Rand) []history.Call {
	t.Helper()
	calls := make([]history.Call, n)
	for i := range calls {
		calls[i] = history.Call{
			ID: fmt.Sprintf("call_%s_%s_%06d", session, part, i), Purpose: history.PurposeTurn, Model: fmt.Sprintf("maker/model%d", random.IntN(3)),
			Usage:      history.Usage{Input: random.IntN(1000), Output: random.IntN(500), CacheRead: random.IntN(9000), CacheWrite: random.IntN(2000)},
			Cost:       float64(random.IntN(3)) / 8, // exact sums in any order
			Expected:   random.IntN(9000),
			At:         since.Add(time.Duration(random.Int64N(int64(until.Sub(since))))).Truncate(time.Microsecond),
			Status:     []history.CallStatus{history.CallComplete, history.CallComplete, history.CallFailed, history.CallStopped}[random.IntN(4)],
			Categories: map[string]int{"files": random.IntN(1000), "history": random.IntN(1000), "system": 40},
		}
	}
	commit(t, s, history.Change{Session: session, Calls: calls})
	return calls
}

func TestSpendingIsTheSumOfTheCalls(t *testing.T) {
	s := openTest(t, "", asked)
	random := rand.New(rand.NewPCG(1, 17))
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	since, until := start.Add(6*time.Hour+45*time.Minute), start.Add(40*time.Hour)
	want := map[string]spending.Sum{}
	for i := range 5 {
		id := fmt.Sprintf("sess_%026d", i)
		commit(t, s, createSession(id))
		deleted := i == 3
		for _, c := range spent(t, s, id, 300, start, start.Add(48*time.Hour), random) {
			if c.At.Before(since) || !c.At.Before(until) {
				continue
			}
			at := c.At.Truncate(spending.Grain)
			key := fmt.Sprint(at, id, c.Model)
			sum := want[key]
			sum.At, sum.Session, sum.Model, sum.Deleted = at, id, c.Model, deleted
			sum.Calls, sum.Usage, sum.Cost, sum.Expected = sum.Calls+1, sum.Usage.Add(c.Usage), sum.Cost+c.Cost, sum.Expected+c.Expected
			if c.Cost == 0 {
				sum.Free++
			}
			switch c.Status {
			case history.CallFailed:
				sum.Failed++
			case history.CallStopped:
				sum.Stopped++
			}
			want[key] = sum
		}
		if deleted {
			if err := s.Delete(ctx, id, start); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := Spending(ctx, s, since, until, func(got spending.Sum) {
		key := fmt.Sprint(got.At, got.Session, got.Model)
		if got.CWD == "" {
			t.Errorf("%s has no folder", key)
		}
		got.CWD, got.Title = "", ""
		if got != want[key] {
			t.Errorf("%s is %+v, want %+v", key, got, want[key])
		}
		delete(want, key)
	}); err != nil {
		t.Fatal(err)
	}
	for key := range want {
		t.Errorf("%s is missing", key)
	}
}

// A purged session, and one whose import is not complete, spends nothing. No sum of a purged session remains.
func TestSpendingOfHiddenSessions(t *testing.T) {
	s := openTest(t, "", asked)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	purged, imported := "sess_purged", createSession("sess_imported")
	imported.Create.Hidden = true
	commit(t, s, createSession(purged), imported)
	for _, id := range []string{purged, imported.Session} {
		spent(t, s, id, 10, start, start.Add(time.Hour), rand.New(rand.NewPCG(1, 1)))
	}
	if err := s.Delete(ctx, purged, start); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Purge(ctx, start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := Spending(ctx, s, start, start.Add(time.Hour), func(sum spending.Sum) { t.Errorf("there is %+v", sum) }); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := s.read.QueryRow("SELECT count(*) FROM spending WHERE session = ?", purged).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d sums of a purged session, error %v", rows, err)
	}
}

// The calls of a database without sums are added up when it is migrated.
func TestSpendingOfAnOlderDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	db := databaseOfVersion(t, path, 14)
	if _, err := db.Exec(`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden)
		VALUES ('sess_a', '/', '[]', '', 0, '{}', 1, 1, 0)`); err != nil {
		t.Fatal(err)
	}
	for i, at := range []int64{0, 1, 899_999_999, 900_000_000} {
		if _, err := db.Exec(`INSERT INTO usage (session, id, turn, purpose, model, input, output, cache_read, cache_write, cost, expected, categories, at, status)
			VALUES ('sess_a', ?, '', 'turn', 'maker/model', 1, 2, 3, 4, ?, 6, '{}', ?, ?)`, fmt.Sprint("call", i), i, at, []string{"failed", "stopped", "complete", "complete"}[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var sums []spending.Sum
	s := openTest(t, path, Options{})
	if err := Spending(ctx, s, time.UnixMicro(0), time.UnixMicro(1<<40), func(sum spending.Sum) { sums = append(sums, sum) }); err != nil {
		t.Fatal(err)
	}
	used := history.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	equal(t, "sums", sums, []spending.Sum{{
		At: time.UnixMicro(0).UTC(), Session: "sess_a", CWD: "/", Model: "maker/model",
		Totals: history.Totals{Calls: 3, Usage: used.Add(used).Add(used), Cost: 3}, Expected: 18, Free: 1, Failed: 1, Stopped: 1,
	}, {
		At: time.UnixMicro(900_000_000).UTC(), Session: "sess_a", CWD: "/", Model: "maker/model",
		Totals: history.Totals{Calls: 1, Usage: used, Cost: 3}, Expected: 6,
	}})
}

// BenchmarkSpending100000 adds up 100,000 calls of 30 days in 100 sessions. Turns with tools have 40 calls in ten minutes.
func BenchmarkSpending100000(b *testing.B) {
	s := openTest(b, "", Options{})
	random := rand.New(rand.NewPCG(1, 17))
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range 100 {
		id := fmt.Sprintf("sess_%026d", i)
		commit(b, s, createSession(id))
		for turn := range 25 {
			begun := start.Add(time.Duration(i*25+turn) * 17 * time.Minute)
			spentBy(b, s, id, fmt.Sprint(turn), 40, begun, begun.Add(10*time.Minute), random)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		calls := 0
		if err := Spending(ctx, s, start, start.AddDate(0, 0, 30), func(sum spending.Sum) { calls += sum.Calls }); err != nil || calls != 100_000 {
			b.Fatal(calls, err)
		}
	}
}
