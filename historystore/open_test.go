package historystore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore/database"
	"strata/historystore/schema"
)

func TestNewDatabaseIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	path := filepath.Join(dir, "strata.db")
	s := openTest(t, path, Options{})
	commit(t, s, createSession("sess_a"))
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + "-wal": 0o600, path + ".lock": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name, info.Mode().Perm(), want)
	}
}

func TestPragmas(t *testing.T) {
	s := openTest(t, "", Options{})
	for name, want := range map[string]any{"auto_vacuum": int64(2), "journal_mode": "wal", "synchronous": int64(2),
		"foreign_keys": int64(1), "secure_delete": int64(1), "busy_timeout": int64(5000), "application_id": int64(schema.ApplicationID)} {
		got, err := first(ctx, s.writer.tx, scanOne[any], "PRAGMA "+name)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name, got, want)
	}
}

func TestOddPaths(t *testing.T) {
	names := []string{"a#b", "a%20b", "a b", "ünïcødé 漢字 👍", "a&b=c;d", "a'b", "mode=memory", "%zz"}
	if runtime.GOOS != "windows" {
		names = append(names, "a?b", `a\b`, `a"b`, ":memory:", "new\nline", "file:x?mode=ro")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			path := filepath.Join(dir, name)
			s := openTest(t, path, Options{})
			commit(t, s, createSession("sess_a"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openTest(t, path, Options{})
			load(t, s, "sess_a")
			for _, file := range listFiles(t, dir) {
				if !strings.HasPrefix(file, name) {
					t.Errorf("unexpected file %q", file)
				}
			}
		})
	}
}

func listFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestK4_03_SecondServerIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	if _, held := Holder(path); held {
		t.Fatal("held before the database was opened")
	}
	pid, stop := startChild(t, childOpens, path)
	_, err := Open(ctx, path, Options{})
	wantError(t, err, ErrLocked)
	if !strings.Contains(err.Error(), fmt.Sprint("process ", pid)) {
		t.Fatalf("%v does not contain process id %d", err, pid)
	}
	if holder, held := Holder(path); !held || holder != pid {
		t.Fatalf("holder %d %v, want %d", holder, held, pid)
	}
	stop()
	if _, held := Holder(path); held {
		t.Fatal("held after the database was closed")
	}
	openTest(t, path, Options{})
}

func TestSecondOpenInOneProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	openTest(t, path, Options{})
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, link} {
		_, err := Open(ctx, name, Options{})
		wantError(t, err, ErrLocked)
		if pid, held := Holder(name); !held || pid != os.Getpid() {
			t.Fatal(pid, held)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "short": "SQLite", "text": strings.Repeat("plain text\n", 1000),
		"header only": "SQLite format 3\x00", "header and rubbish": "SQLite format 3\x00" + strings.Repeat("rubbish ", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "strata.db")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, path, ErrDamaged)
		})
	}
}

// opened opens and closes a database and returns the error of Open or of its check.
func opened(path string) error {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	return checked(s)
}

// refused checks that the database at path cannot be changed because of want, that the error contains the path, that the
// file is not changed, and that the lock is not kept.
func refused(t *testing.T, path string, want error) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	err = opened(path)
	wantError(t, err, want)
	if !strings.Contains(err.Error(), path) {
		t.Fatalf("%v does not contain %s", err, path)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Fatal("the file was changed", err)
	}
	if _, held := Holder(path); held {
		t.Fatal("the lock was kept")
	}
}

// closedDatabase creates and closes a database, runs statements on the file, and returns its path.
func closedDatabase(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, Options{})
	fillSession(t, s, "sess_a", 60, 9<<10)
	for _, statement := range statements {
		if _, err := s.writer.tx.conn.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	refused(t, closedDatabase(t, "PRAGMA user_version = 1000"), ErrNewer)
}

func TestForeignDatabaseIsRefused(t *testing.T) {
	refused(t, closedDatabase(t, "PRAGMA application_id = 7"), ErrDamaged)
}

func TestFolderInPlaceOfDatabase(t *testing.T) {
	if _, err := Open(ctx, t.TempDir(), Options{}); err == nil {
		t.Fatal("a folder was opened")
	}
}

// A write-ahead log without its database contains data that a new database would destroy.
func TestLogWithoutDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	if err := os.WriteFile(path+"-wal", []byte("log"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(ctx, path, Options{})
	wantError(t, err, ErrDamaged)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("a database was created")
	}
}

func TestUnfinishedCreationIsRestarted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	if err := os.WriteFile(path+".new", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	commit(t, openTest(t, path, Options{}), createSession("sess_a"))
}

// A copy of a database and its log, made while the server was running, can be opened.
func TestCopyOfLiveDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, Options{})
	commit(t, s, createSession("sess_a"), appendText("sess_a", 1, "text"))
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "messages", len(load(t, openTest(t, copied, Options{}), "sess_a").Heads), 1)
}

// Wherever 4 KB are overwritten, either Open fails with an explanation, or all messages are unchanged or marked as
// damaged.
func TestK4_02_OverwrittenPage(t *testing.T) {
	whole, err := os.ReadFile(closedDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	fills := map[string]func([]byte){
		"zero":   func(b []byte) { clear(b) },
		"random": func(b []byte) { rand.NewChaCha8([32]byte{1}).Read(b) },
	}
	for name, overwrite := range fills {
		t.Run(name, func(t *testing.T) {
			found := 0
			for at := 0; at+page <= len(whole); at += 7 * page {
				data := bytes.Clone(whole)
				overwrite(data[at : at+page])
				found += startOnDamaged(t, data)
			}
			if found == 0 {
				t.Fatal("no damage was detected")
			}
		})
	}
	t.Run("middle", func(t *testing.T) {
		data := bytes.Clone(whole)
		fills["random"](data[len(data)/2 : len(data)/2+page])
		equal(t, "damages found", startOnDamaged(t, data), 1)
	})
}

// startOnDamaged returns 1 if the start was refused.
func startOnDamaged(t *testing.T, data []byte) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := opened(path); err != nil {
		wantError(t, err, ErrDamaged)
		refused(t, path, ErrDamaged)
		return 1
	}
	s := openTest(t, path, Options{})
	l := load(t, s, "sess_a")
	equal(t, "heads", len(l.Heads), 60)
	for _, h := range l.Heads {
		got, err := s.Messages(ctx, "sess_a", []int64{h.Seq})
		if err != nil {
			t.Fatal(err)
		}
		if m := got[0]; m.Status != history.StatusDamaged && !strings.HasPrefix(m.Blocks[0].Text, fmt.Sprintf("word%d ", h.Seq)) {
			t.Fatalf("message %d changed", h.Seq)
		}
	}
	return 0
}

func TestK4_02_DamagedMessage(t *testing.T) {
	for name, statement := range map[string]string{
		"not JSON":            `UPDATE message SET body = CAST('rubbish' AS BLOB) WHERE session = 'sess_a' AND seq = 2`,
		"wrong checksum":      `UPDATE message SET body = CAST(replace(body, 'answer', 'ANSWER') AS BLOB) WHERE session = 'sess_a' AND seq = 2`,
		"of another message":  `UPDATE message SET (body, checksum) = (SELECT body, checksum FROM message WHERE seq = 1) WHERE session = 'sess_a' AND seq = 2`,
		"empty":               `UPDATE message SET body = x'' WHERE session = 'sess_a' AND seq = 2`,
		"valid JSON, bad sum": `UPDATE message SET checksum = 1 WHERE session = 'sess_a' AND seq = 2`,
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := openTest(t, "", Options{CacheBytes: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
			commit(t, s, createSession("sess_a"), createSession("sess_b"), beginTurn("sess_a", 0), endTurn("sess_a", 0))
			if _, err := s.writer.tx.conn.ExecContext(ctx, statement); err != nil {
				t.Fatal(err)
			}
			l := load(t, s, "sess_a")
			got, err := s.Messages(ctx, "sess_a", []int64{1, 2})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "undamaged message", got[0], beginTurn("sess_a", 0).Messages[0])
			h := l.Heads[1]
			equal(t, "damaged message", got[1], history.Message{ID: h.ID, Seq: h.Seq, Turn: h.Turn, Role: h.Role, Tokens: h.Tokens, At: h.At,
				Status: history.StatusDamaged})
			if !strings.Contains(log.String(), "damaged message") {
				t.Error("nothing was logged")
			}
			list, _, err := s.Sessions(ctx, SessionQuery{})
			if err != nil || len(list) != 2 {
				t.Fatal(list, err)
			}
		})
	}
}

func TestDamagedColumnsLeaveTheRestReadable(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0))
	for _, statement := range []string{"UPDATE session SET config = '{', roots = 'x'", "UPDATE turn SET failure = '{'"} {
		if _, err := s.writer.tx.conn.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	l := load(t, s, "sess_a")
	equal(t, "title", l.Session.Title, "Title of sess_a")
	equal(t, "turn", l.Unfinished.ID, turnID(0))
}

// The numbers of damaged rows can be any. They are read as the nearest that JSON can represent.
func TestDamagedNumbersLeaveTheRestReadable(t *testing.T) {
	const largest, smallest = "9000000000000000000", "-9000000000000000000"
	for _, n := range []string{largest, smallest} {
		s := openTest(t, "", Options{})
		commit(t, s, createSession("sess_a"), createSession("sess_b"), beginTurn("sess_a", 0))
		for _, id := range []string{"call_1", "call_2"} {
			commit(t, s, history.Change{Session: "sess_a", Calls: []history.Call{{ID: id, Turn: turnID(0), Purpose: history.PurposeTurn, Model: "m", At: epoch}}})
		}
		if _, err := s.writer.tx.conn.ExecContext(ctx, strings.ReplaceAll(`UPDATE session SET created_at = N, updated_at = N WHERE id = 'sess_a';
			UPDATE turn SET started_at = N; UPDATE usage SET at = N, input = N, cache_read = N, expected = N`, "N", n)); err != nil {
			t.Fatal(err)
		}
		list, _, err := s.Sessions(ctx, SessionQuery{})
		if err != nil || len(list) != 2 {
			t.Fatal(list, err)
		}
		calls, _, err := s.Calls(ctx, "sess_a", "", 10)
		if err != nil || len(calls) != 2 {
			t.Fatal(calls, err)
		}
		sums, err := s.CallTotals(ctx, "sess_a")
		if err != nil || len(sums) != 1 || sums[0].Calls != 2 {
			t.Fatal(sums, err)
		}
		for _, v := range []any{list, calls, sums, load(t, s, "sess_a").Unfinished} {
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("%s: %v", n, err)
			}
		}
	}
}

// An edit or a document with a damaged body is loaded without content; the rest of the session is unchanged.
func TestDamagedBodies(t *testing.T) {
	for _, body := range []string{"", "{", "rubbish", "null", "{}", "[]", `"text"`, `{"id":"edit_8","seq":9,"kind":"compact","name":"b"}`,
		`{"id":"edit_9","seq":8,"kind":"compact"}`, `{"id":"edit_9","seq":9,"kind":"clear"}`,
		`{"id":"edit_9","seq":9,"kind":"compact","name":"a","messages":["msg_1"],"text":"half","at":7}`} {
		var log bytes.Buffer
		s := openTest(t, "", Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		commit(t, s, createSession("sess_a"), compactEdit("sess_a", 9, "msg_1"), compactEdit("sess_a", 10, "msg_2"),
			putDocuments("sess_a", document("a", "one"), document("b", "two")))
		want := load(t, s, "sess_a")
		want.Edits[0] = history.Edit{ID: "edit_9", Seq: 9, Kind: history.EditCompact, At: epoch}
		want.Documents[0] = history.Document{Name: "a"}
		if _, err := s.writer.tx.conn.ExecContext(ctx, "UPDATE edit SET body = ?1 WHERE seq = 9; UPDATE document SET body = ?1 WHERE name = 'a'", body); err != nil {
			t.Fatal(err)
		}
		equal(t, "session with body "+body, load(t, s, "sess_a"), want)
		equal(t, "log lines with body "+body, strings.Count(log.String(), "damaged record"), 2)
	}
}

// A change that was queued before the check of the content has ended waits for it, and fails if the database is damaged.
// Reads do not wait. Neither the database nor the log of a killed process changes.
func TestNoChangeBeforeTheCheck(t *testing.T) {
	dir := t.TempDir()
	live := openTest(t, filepath.Join(dir, "live.db"), Options{})
	fillSession(t, live, "sess_a", 60, 9<<10)
	moveLog(t, live)
	commit(t, live, appendText("sess_a", 200, "only in the log"))
	path := filepath.Join(dir, "damaged.db")
	before := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(live.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix == "" {
			rand.NewChaCha8([32]byte{1}).Read(data[len(data)/2 : len(data)/2+4096])
		}
		if err := os.WriteFile(path+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before[suffix] = data
	}
	damage := make(chan error, 2)
	s, err := Open(ctx, path, Options{OnDamage: func(err error) { damage <- err }})
	if err != nil {
		t.Fatal(err)
	}
	load(t, s, "sess_a")
	for range 3 {
		wantError(t, s.Commit(ctx, appendText("sess_a", 201, "lost")), ErrDamaged)
	}
	wantError(t, <-damage, ErrDamaged)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	equal(t, "further reports of damage", len(damage), 0)
	for suffix, data := range before {
		after, err := os.ReadFile(path + suffix)
		if err != nil || !bytes.Equal(after, data) {
			t.Errorf("%s%s changed: %v", path, suffix, err)
		}
	}
}

// A database that is away at the first change can be changed when it is back.
func TestFirstChangeWhileTheDatabaseIsAway(t *testing.T) {
	path := closedDatabase(t)
	s, err := Open(ctx, path, Options{indexDelay: time.Hour}) // no upkeep comes before the change
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Commit(ctx, createSession("sess_new")), ErrMoved)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	commit(t, s, createSession("sess_new"))
	load(t, s, "sess_new")
}

// moveLog moves the write-ahead log into the database.
func moveLog(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.writer.tx.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
}

func TestLargeDatabaseIsCheckedInTheBackground(t *testing.T) {
	s := openTest(t, "", Options{})
	records := make(chan slog.Record, 1)
	s.opt.Log = slog.New(recordHandler{slog.DiscardHandler, records})
	if err := s.check(database.QuickCheckBytes + 1); err != nil {
		t.Fatal(err)
	}
	equal(t, "log", (<-records).Message, "database check passed")
}

type recordHandler struct {
	slog.Handler
	records chan slog.Record
}

func (h recordHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h recordHandler) Handle(_ context.Context, r slog.Record) error {
	h.records <- r
	return nil
}

func TestCheckFindsWhatOpenRefuses(t *testing.T) {
	good := func(t *testing.T) string {
		s := openTest(t, "", Options{})
		commit(t, s, createSession("sess_a"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return s.path
	}
	for name, c := range map[string]struct {
		harm func(path string) error
		want error
	}{
		"nothing":   {func(string) error { return nil }, nil},
		"missing":   {os.Remove, os.ErrNotExist},
		"empty":     {func(path string) error { return os.Truncate(path, 0) }, ErrDamaged},
		"truncated": {func(path string) error { return os.Truncate(path, 20_000) }, ErrDamaged},
		"foreign":   {func(path string) error { return os.WriteFile(path, []byte("not a database"), 0o600) }, ErrDamaged},
		"newer":     {func(path string) error { return pragma(path, "user_version=999") }, ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			path := good(t)
			if err := c.harm(path); err != nil {
				t.Fatal(err)
			}
			if err := Check(ctx, path); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// pragma sets a pragma of a closed database.
func pragma(path, statement string) error {
	db, err := database.OpenWriter(path, database.DefaultBusyTimeout)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA "+statement)
	return errors.Join(err, db.Close())
}

func TestReadOnlyFileIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("needs a user other than root")
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		path := filepath.Join(t.TempDir(), "strata.db")
		if err := openTest(t, path, Options{}).Close(); err != nil {
			t.Fatal(err)
		}
		if f, err := os.OpenFile(path+suffix, os.O_CREATE, 0o400); err != nil || f.Close() != nil || os.Chmod(path+suffix, 0o400) != nil {
			t.Fatal(err)
		}
		_, err := Open(ctx, path, Options{})
		if !errors.Is(err, ErrReadOnly) || !strings.HasSuffix(err.Error(), path+suffix) {
			t.Errorf("%q: %v", suffix, err)
		}
	}
}
