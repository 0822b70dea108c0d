package historystore

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/history"
)

// asked keeps the index behind until a search asks for it.
var asked = Options{indexDelay: time.Hour}

// missing returns the number of messages that are not indexed.
func missing(t testing.TB, s *Store) (n int) {
	t.Helper()
	err := s.view(ctx, "test", func(tx *sql.Tx) (err error) {
		n, err = behind(ctx, tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Storing messages leaves the index as it is; it follows without a search, too.
func TestIndexFollows(t *testing.T) {
	s := openTest(t, "", asked)
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0), endTurn("sess_a", 0))
	equal(t, "missing", missing(t, s), 2)
	equal(t, "hits", len(search(t, s, SearchQuery{Query: "question"})), 1)
	equal(t, "missing", missing(t, s), 0)

	s = openTest(t, "", Options{indexDelay: time.Nanosecond})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0))
	for missing(t, s) > 0 {
		time.Sleep(time.Millisecond)
	}
}

// A store that was closed, or killed, before messages were indexed indexes them when it is opened again.
func TestIndexGoesOnAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, asked)
	commit(t, s, createSession("sess_a"), appendText("sess_a", 1, "early"))
	catchUp(t, s)
	commit(t, s, appendText("sess_a", 2, "late"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path, Options{indexDelay: time.Nanosecond})
	for missing(t, s) > 0 {
		time.Sleep(time.Millisecond)
	}
	equal(t, "hits", len(search(t, s, SearchQuery{Query: "early"})), 1)
	equal(t, "hits", len(search(t, s, SearchQuery{Query: "late"})), 1)
	checkIndex(t, s)
}

// step indexes messages once and returns their number.
func step(t testing.TB, s *Store) (n int) {
	t.Helper()
	before := missing(t, s)
	if err := s.write(ctx, "test", nil, func(tx *writeTx) error { _, err := indexSome(tx); return err }); err != nil {
		t.Fatal(err)
	}
	return before - missing(t, s)
}

// In any order of changes, steps and purges, exactly the messages up to the watermark are indexed, also where a purge has
// made row ids free.
func TestIndexIsAPrefixOfTheMessages(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 13))
			s := openTest(t, "", asked)
			var sessions []string
			reused, highest, seq := 0, int64(0), int64(0)
			for n := range 150 {
				switch k := random.IntN(10); {
				case k < 2 || len(sessions) == 0:
					sessions = append(sessions, fmt.Sprintf("sess_%d", n))
					commit(t, s, createSession(sessions[len(sessions)-1]))
				case k < 6:
					seq++
					commit(t, s, appendText(sessions[random.IntN(len(sessions))], seq, strings.Repeat("some text ", random.IntN(4000))))
				case k < 8:
					step(t, s)
				default:
					i := random.IntN(len(sessions))
					if random.IntN(2) == 0 {
						i = len(sessions) - 1
					}
					if err := s.Delete(ctx, sessions[i], epoch); err != nil {
						t.Fatal(err)
					}
					if err := purgeAll(s); err != nil {
						t.Fatal(err)
					}
					sessions = append(sessions[:i], sessions[i+1:]...)
				}
				wrong, top := indexState(t, s)
				if wrong != 0 {
					t.Fatalf("after step %d, %d messages are on the wrong side of the watermark", n, wrong)
				}
				if top < highest {
					reused++
				}
				highest = top
			}
			if reused == 0 {
				t.Error("no row id was ever free again")
			}
			checkIndex(t, s)
			equal(t, "missing", missing(t, s), 0)
		})
	}
}

// indexState returns the number of messages that are indexed although they are after the watermark, or not although they
// are before, and the highest row id.
func indexState(t *testing.T, s *Store) (wrong int, top int64) {
	t.Helper()
	err := s.view(ctx, "test", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM message
				WHERE (rowid <= `+watermark+`) <> (rowid IN (SELECT id FROM message_fts_docsize)))
			+ (SELECT count(*) FROM message_fts_docsize WHERE id NOT IN (SELECT rowid FROM message)),
			coalesce((SELECT max(rowid) FROM message), 0)`).Scan(&wrong, &top)
	})
	if err != nil {
		t.Fatal(err)
	}
	return wrong, top
}

// An import is indexed in steps that are bounded by messages and by bytes; a search becomes complete.
func TestImportIsIndexedInSteps(t *testing.T) {
	s := openTest(t, "", asked)
	fillSession(t, s, "sess_a", 10_000, 100)
	equal(t, "missing", missing(t, s), 10_000)
	equal(t, "messages of a step", step(t, s), indexMessages)
	catchUp(t, s)
	equal(t, "hits", len(search(t, s, SearchQuery{Query: "word9999"})), 1)
	equal(t, "missing", missing(t, s), 0)

	for seq, kib := range []int{200, 30, 30, 30, 1} {
		commit(t, s, appendText("sess_a", int64(10_001+seq), strings.Repeat("k", kib<<10)))
	}
	for _, want := range []int{1, 2, 2, 0} {
		equal(t, "messages of a step", step(t, s), want)
	}
	checkIndex(t, s)
}

// While changes wait, nothing is indexed.
func TestChangesGoBeforeTheIndex(t *testing.T) {
	s, open, commits := gatedStore(t)
	const callers = 2*groupLength + 10
	done := make(chan error, callers)
	for i := range callers {
		ch := createSession(fmt.Sprint("sess_", i))
		ch.Messages = appendText(ch.Session, 1, "words").Messages
		go func() { done <- s.Commit(ctx, ch) }()
	}
	awaitQueued(t, s, callers)
	go s.completeIndex(ctx, time.Minute) // waits for the writer
	last := &job{done: make(chan error, 1), apply: func(tx *writeTx) error {
		indexed, err := first(background, tx, scanOne[int], "SELECT "+watermark)
		if err == nil && indexed > 0 {
			err = fmt.Errorf("%d messages were indexed before a waiting change was stored", indexed)
		}
		return err
	}}
	s.writer.queue <- last
	open()
	if err := <-last.done; err != nil {
		t.Fatal(err)
	}
	for range callers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n := len(commits()); n < 4 {
		t.Errorf("%d commits", n)
	}
	checkIndex(t, s)
}

// If the disk is full, the index stays behind and searches say so; the fault is logged once. It goes on when there is room.
func TestIndexOnAFullDisk(t *testing.T) {
	var log bytes.Buffer
	s := openTest(t, "", Options{indexDelay: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
	commit(t, s, createSession("sess_a"))
	for seq := range int64(20) {
		var words strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&words, "word%dof%d ", i, seq)
		}
		commit(t, s, appendText("sess_a", seq+1, words.String()))
	}
	limit := func(pages string) {
		t.Helper()
		if err := s.write(ctx, "test", nil, func(tx *writeTx) error {
			_, err := tx.conn.ExecContext(background, "PRAGMA max_page_count = "+pages)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit("1") // the present number of pages
	for range 5 {
		found, err := s.Search(ctx, SearchQuery{Query: `"word1of1"`})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "behind", found.Behind, 20)
	}
	limit("1000000")
	catchUp(t, s)
	equal(t, "hits", len(search(t, s, SearchQuery{Query: `"word1of1"`})), 1)
	equal(t, "messages", len(load(t, s, "sess_a").Heads), 20)
	checkIndex(t, s)
	for _, line := range []string{"search index is behind", "search index is complete again"} {
		equal(t, line, strings.Count(log.String(), line), 1)
	}
}

// Changes are synced, steps of the index are not, in any order.
func TestOnlyTheIndexIsNotSynced(t *testing.T) {
	s := openTest(t, "", asked)
	mode := func() (level int) {
		t.Helper()
		if err := s.write(ctx, "test", nil, func(tx *writeTx) (err error) {
			level, err = first(background, tx, scanOne[int], "PRAGMA synchronous")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return level
	}
	const normal, full = 1, 2
	equal(t, "mode of a change", mode(), full)
	commit(t, s, createSession("sess_a"), appendText("sess_a", 1, "words"))
	catchUp(t, s)
	if err := s.run(ctx, "test", &job{alone: true, apply: func(tx *writeTx) error {
		level, err := first(background, tx, scanOne[int], "PRAGMA synchronous")
		equal(t, "mode after a step", level, normal)
		return err
	}}); err != nil {
		t.Fatal(err)
	}
	equal(t, "mode of a change", mode(), full)
}

// The messages of a database of version 8 are indexed already. Purging them and storing others leaves a valid index.
func TestIndexOfADatabaseOfVersion8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	db := databaseOfVersion(t, path, 8)
	for _, id := range []string{"sess_a", "sess_b"} {
		if _, err := db.Exec(`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden, messages)
			VALUES (?, '/', '[]', '', 0, '{}', 1, 1, 0, 1)`, id); err != nil {
			t.Fatal(err)
		}
		m, err := encodeMessage(textMessage(1, history.RoleUser, "words of "+id))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(`INSERT INTO message (session, seq, id, turn, role, status, tokens, bytes, blocks, has_calls, at, checksum, body, text)
			VALUES (?, 1, 'msg_1', '', 'user', 'complete', 3, ?, 1, 0, ?, ?, ?, ?)`,
			id, len(m.body), len(id)*1000, m.checksum, m.body, m.text+" "+id); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, asked)
	equal(t, "missing", missing(t, s), 0)
	if err := s.Delete(ctx, "sess_b", epoch); err != nil {
		t.Fatal(err)
	}
	if err := purgeAll(s); err != nil {
		t.Fatal(err)
	}
	commit(t, s, appendText("sess_a", 2, "words of now"))
	equal(t, "missing", missing(t, s), 1)
	equal(t, "hits", len(search(t, s, SearchQuery{Query: "words"})), 2)
	checkIndex(t, s)
}

// The emptying of the log, which waits for nobody, leaves each kind of transaction its own patience with locks.
func TestPatienceAfterTheLogIsEmptied(t *testing.T) {
	s := openTest(t, "", Options{})
	err := s.run(t.Context(), "test", &job{alone: true, apply: func(tx *writeTx) error {
		for durable, want := range map[bool]time.Duration{true: tx.busy, false: 50 * time.Millisecond} {
			if err := tx.begin(durable); err != nil {
				return err
			}
			if _, err := tx.exec("COMMIT"); err != nil {
				return err
			}
			if err := emptyLog(tx); err != nil {
				return err
			}
			waits, err := first(background, tx, scanOne[int64], "PRAGMA busy_timeout")
			if err != nil || waits != want.Milliseconds() {
				t.Errorf("durable %t: waits %d ms, want %v; %v", durable, waits, want, err)
			}
		}
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
}
