package backup

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"strata/historystore/database"
	"strata/historystore/lock"
	"strata/historystore/schema"
	"strata/internal/leak"
	"strata/internal/shellword"
)

func TestMain(m *testing.M) { leak.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

// newDatabase creates a database with a version of the schema, a session and some messages, and returns its path.
func newDatabase(t *testing.T, version, messages int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strata.db")
	create(t, path, version, messages)
	return path
}

func create(t *testing.T, path string, version, messages int) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	defer db.Close()
	all, err := schema.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Migrate(t.Context(), db, all[:version], schema.Program{Version: "1.2.3"}); err != nil {
		t.Fatal(err)
	}
	exec(t, db, `INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden)
		VALUES ('sess_a', '/', '[]', '', 0, '{}', 1, 1, 0)`)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for n := range messages {
		add(t, tx, n)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// open opens a database as the server does.
func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := database.OpenWriter(path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// add stores the message n and text that fills some pages.
func add(t *testing.T, db interface {
	Exec(query string, args ...any) (sql.Result, error)
}, n int) {
	t.Helper()
	if _, err := db.Exec(`INSERT INTO message (session, seq, id, turn, role, status, tokens, bytes, blocks, has_calls, at, checksum, body, text)
		VALUES ('sess_a', ?, ?, '', 'user', 'complete', 1, 1, 1, 0, 1, 1, ?, '')`, n, fmt.Sprint("msg_", n), bytes.Repeat([]byte{byte(n)}, 9000)); err != nil {
		t.Error(err)
	}
}

func count(t *testing.T, path string) (n int64) {
	t.Helper()
	c, err := Inspect(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return c.Messages
}

// A backup holds the state of one moment while another connection writes, and is one private file.
func TestBackupOfADatabaseInUse(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 600)
	db := open(t, path)
	defer db.Close()
	more := func(n int) { // two messages in one transaction
		tx, err := db.Begin()
		if err != nil {
			t.Error(err)
			return
		}
		add(t, tx, n)
		add(t, tx, n+1)
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	}
	file := filepath.Join(t.TempDir(), "backup.db")
	written, steps := 600, 0
	c, err := Create(t.Context(), path, file, Options{Progress: func(copied, all int64) {
		steps++
		if copied <= 0 || copied > all {
			t.Errorf("%d of %d bytes", copied, all)
		}
		more(written)
		written += 2
	}})
	if err != nil {
		t.Fatal(err)
	}
	if steps < 3 {
		t.Errorf("copied in %d steps, so nothing was written meanwhile", steps)
	}
	if c.Messages != 600 || c.Sessions != 1 || c.Schema != schema.Newest() || c.Program != "1.2.3" || c.Bytes < 600*9000 {
		t.Errorf("the backup has %+v", c)
	}
	if n := count(t, file); n != 600 {
		t.Errorf("%d messages", n)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestBackupReplacesOnlyIfForced(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 1)
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), path, file, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(file); string(got) != "precious" {
		t.Errorf("the file has %q, %v", got, err)
	}
	if _, err := Create(t.Context(), path, file, Options{Replace: true}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, file); n != 1 {
		t.Errorf("%d messages", n)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(lock.Path(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{path, lock.Path(path), folder} {
		if _, err := Create(t.Context(), path, own, Options{Replace: true}); err == nil {
			t.Errorf("%s was replaced", own)
		}
	}
	if n := count(t, path); n != 1 {
		t.Errorf("the database has %d messages", n)
	}
	if _, err := Create(t.Context(), path, filepath.Join(folder, "missing", "file"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	if _, err := Create(t.Context(), filepath.Join(folder, "missing.db"), filepath.Join(folder, "new"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing database: %v", err)
	}
}

func TestAnInterruptedBackupLeavesNothing(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 600)
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Create(ctx, path, filepath.Join(folder, "file"), Options{Progress: func(int64, int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(folder); len(entries) != 0 || err != nil {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// damage overwrites a page in the middle of a database.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, 4*pageBytes), info.Size()/2/pageBytes*pageBytes); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedDatabaseIsNoBackup(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 200)
	damage(t, path)
	folder := t.TempDir()
	if _, err := Create(t.Context(), path, filepath.Join(folder, "file"), Options{}); !errors.Is(err, database.ErrDamaged) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(folder); len(entries) != 0 || err != nil {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// A restore keeps the previous database, with what is only in its log.
func TestRestoreKeepsThePreviousDatabase(t *testing.T) {
	backup, path := newDatabase(t, 5, 3), newDatabase(t, schema.Newest(), 0)
	db := open(t, path)
	add(t, db, 1)
	// Another process that dies leaves its log.
	crashed := filepath.Join(t.TempDir(), "strata.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(crashed+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	r, err := Restore(t.Context(), backup, crashed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Schema != 5 || r.Messages != 3 || !strings.HasPrefix(r.Replaced, crashed+".replaced-") {
		t.Errorf("restored %+v", r)
	}
	if n := count(t, crashed); n != 3 {
		t.Errorf("the database has %d messages", n)
	}
	if n := count(t, r.Replaced); n != 1 {
		t.Errorf("the previous database has %d messages", n)
	}
	if n := count(t, backup); n != 3 {
		t.Errorf("the backup has %d messages", n)
	}
	if info, err := os.Stat(crashed); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestRestoreWithoutADatabase(t *testing.T) {
	backup := newDatabase(t, schema.Newest(), 3)
	path := filepath.Join(t.TempDir(), "new", "strata.db")
	r, err := Restore(t.Context(), backup, path, nil)
	if err != nil || r.Replaced != "" || count(t, path) != 3 {
		t.Errorf("restored %+v, %v", r, err)
	}
}

func TestRefusedRestoresChangeNothing(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 7)
	newer, damaged, foreign, garbage := newDatabase(t, schema.Newest(), 1), newDatabase(t, schema.Newest(), 200), newDatabase(t, schema.Newest(), 1), filepath.Join(t.TempDir(), "garbage")
	for file, statement := range map[string]string{newer: "PRAGMA user_version = 999", foreign: "PRAGMA application_id = 1"} {
		db := open(t, file)
		exec(t, db, statement)
		db.Close()
	}
	damage(t, damaged)
	if err := os.WriteFile(garbage, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Link(path, link); err != nil {
		t.Skip(err)
	}
	for file, want := range map[string]error{
		newer: database.ErrNewer, damaged: database.ErrDamaged, foreign: database.ErrDamaged, garbage: database.ErrDamaged,
		filepath.Dir(path): nil, filepath.Join(filepath.Dir(path), "missing"): fs.ErrNotExist, link: nil,
	} {
		if _, err := Restore(t.Context(), file, path, nil); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", file, err, want)
		}
	}
	folder := filepath.Join(t.TempDir(), "new")
	if _, err := Restore(t.Context(), garbage, filepath.Join(folder, "strata.db"), nil); err == nil || exists(folder) {
		t.Errorf("a folder was created, error %v", err)
	}
	held, err := lock.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), newDatabase(t, schema.Newest(), 1), path, nil); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("a database in use: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, path); n != 7 {
		t.Errorf("%d messages", n)
	}
	if left, err := filepath.Glob(path + ".re*"); len(left) != 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A start would remove a backup of such a name, or make it the database.
func TestBackupsDoNotGetTheNamesOfTheDatabasesOwnFiles(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 1)
	for _, suffix := range []string{"-wal", "-shm", "-journal", ".lock", ".restoring", ".new", ".schema-5"} {
		if _, err := Create(t.Context(), path, path+suffix, Options{Replace: true}); err == nil || !strings.Contains(err.Error(), "belongs to the database") {
			t.Errorf("%s: error %v", suffix, err)
		}
	}
	if _, err := Create(t.Context(), path, path+".old", Options{}); err != nil {
		t.Error(err)
	}
}

// The database of another program is neither copied nor taken for one that lacks tables.
func TestADatabaseOfAnotherProgramIsNotBackedUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	exec(t, db, "CREATE TABLE session (id)")
	exec(t, db, "CREATE TABLE message (id)")
	db.Close()
	file := filepath.Join(t.TempDir(), "file")
	if _, err := Create(t.Context(), path, file, Options{}); err == nil || !strings.Contains(err.Error(), "belongs to another program") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the backup exists: %v", err)
	}
}

// An earlier restore can have kept a database under the same name, where the times of files are coarse.
func TestARestoreKeepsEachPreviousDatabase(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 1)
	at := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	earlier, err := nameOfReplaced(path, at)
	if err != nil {
		t.Fatal(err)
	}
	create(t, earlier, schema.Newest(), 2)
	create(t, path+ready, schema.Newest(), 3)
	if err := os.Chtimes(path+ready, at, at); err != nil {
		t.Fatal(err)
	}
	replaced, err := Complete(path)
	if err != nil || replaced == earlier || count(t, earlier) != 2 || count(t, replaced) != 1 || count(t, path) != 3 {
		t.Errorf("the previous database is kept as %s, %v", replaced, err)
	}
}

// A failure after the copy is complete does not end the restore.
func TestTheErrorOfAnIncompleteRestore(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 1)
	if err := os.MkdirAll(filepath.Join(path+"-shm", "x"), 0o700); err != nil { // cannot be removed
		t.Fatal(err)
	}
	create(t, path+ready, schema.Newest(), 3)
	if _, err := Complete(path); err == nil || !strings.Contains(err.Error(), "the next start completes the restore") {
		t.Errorf("error %v", err)
	}
	if err := os.RemoveAll(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	if replaced, err := Complete(path); err != nil || count(t, replaced) != 1 || count(t, path) != 3 {
		t.Errorf("%s, %v", replaced, err)
	}
	if err := os.Mkdir(path+ready, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Complete(path); err == nil || count(t, path) != 3 {
		t.Errorf("a folder became the database: %v", err)
	}
}

// After each step at which a restore can be interrupted, Finish completes it.
func TestAnInterruptedRestoreIsCompleted(t *testing.T) {
	for steps := range 4 {
		path := newDatabase(t, schema.Newest(), 1)
		if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		create(t, path+ready, schema.Newest(), 5)
		info, err := os.Stat(path + ready)
		if err != nil {
			t.Fatal(err)
		}
		kept := path + ".replaced-" + info.ModTime().UTC().Format("20060102T150405.000000000Z")
		for _, suffix := range []string{"", "-wal"}[:min(steps, 2)] {
			if err := os.Rename(path+suffix, kept+suffix); err != nil {
				t.Fatal(err)
			}
		}
		if !Unfinished(path) {
			t.Error("the restore is finished")
		}
		replaced, err := Complete(path)
		if err != nil || replaced != kept || count(t, path) != 5 || count(t, kept) != 1 || Unfinished(path) {
			t.Errorf("after %d steps: %s, %v", steps, replaced, err)
		}
		if replaced, err := Complete(path); replaced != "" || err != nil {
			t.Errorf("completed twice: %s, %v", replaced, err)
		}
	}
}

// The copies before migrations are bounded by number and age; other files stay.
func TestCopiesAreBounded(t *testing.T) {
	path := newDatabase(t, 5, 3)
	if err := Keep(t.Context(), path, 5, quiet); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"4", "12", "3", "x", "007", "6.old"} {
		if err := os.WriteFile(path+copyName+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(filepath.Dir(path), ".strata.db.schema-3-1.tmp") // of a crash
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Copies(path)
	if err != nil || len(all) != 4 || all[0].Schema != 12 || all[1].Schema != 5 || all[1].Path != path+".schema-5" {
		t.Fatalf("copies %+v, %v", all, err)
	}
	if n := count(t, all[1].Path); n != 3 {
		t.Errorf("the copy has %d messages", n)
	}
	Prune(path, time.Now(), quiet)
	if all, _ = Copies(path); len(all) != MaxCopies || all[1].Schema != 5 {
		t.Errorf("copies %+v", all)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a temporary file stays: %v", err)
	}
	for _, other := range []string{"x", "007", "6.old"} {
		if _, err := os.Stat(path + copyName + other); err != nil {
			t.Error(err)
		}
	}
	Prune(path, time.Now().Add(MaxCopyAge+time.Minute), quiet)
	if all, _ = Copies(path); len(all) != 0 {
		t.Errorf("copies %+v", all)
	}
}

// The name of a database is no pattern: the unfinished copy of another stays.
func TestOnlyOwnUnfinishedCopiesAreRemoved(t *testing.T) {
	folder := t.TempDir()
	own, other := filepath.Join(folder, ".[a].db.restoring-1.tmp"), filepath.Join(folder, ".a.db.restoring-1.tmp")
	for _, name := range []string{own, other} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Prune(filepath.Join(folder, "[a].db"), time.Now(), quiet)
	if exists(own) || !exists(other) {
		t.Errorf("own %t, other %t", exists(own), exists(other))
	}
}

// The error of a newer database names its version and the newest copy that this program can read.
func TestAdviceForANewerDatabase(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 0)
	db := open(t, path)
	exec(t, db, "INSERT INTO program VALUES (999, '9.8.7', 1)")
	exec(t, db, "PRAGMA user_version = 999")
	db.Close()
	check := func(parts ...string) {
		t.Helper()
		err := Advise(path, database.Check(t.Context(), path))
		if !errors.Is(err, database.ErrNewer) {
			t.Fatalf("error %v", err)
		}
		for _, part := range append(parts, "schema 999 of strata 9.8.7", fmt.Sprintf("up to %d", schema.Newest())) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q does not say %q", err, part)
			}
		}
	}
	check("strata restore FILE")
	for _, version := range []int{3, 7, 998} {
		if err := os.WriteFile(path+copyName+fmt.Sprint(version), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("strata restore " + path + ".schema-7`")
	if err := Advise(path, errors.New("another")); err.Error() != "another" {
		t.Error(err)
	}
	if v, err := VersionOf(t.Context(), path); err != nil || v.Schema != 999 || v.Program != "9.8.7" || v.Bytes == 0 {
		t.Errorf("version %+v, %v", v, err)
	}
}

// The way back can be pasted into a shell, whatever the folder of the database is.
func TestTheWayBackQuotesItsPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Application Support", "strata.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+copyName+"7", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := WayBack(path), "`strata restore "+shellword.Quote(path+copyName+"7")+"`"; got != want {
		t.Errorf("the way back is %s, want %s", got, want)
	}
}

// Only turns of the process that has the lock are running.
func TestRunningTurnsAreThoseOfTheOwner(t *testing.T) {
	path := newDatabase(t, schema.Newest(), 0)
	turn := func(id, status string, at time.Time) {
		t.Helper()
		db := open(t, path)
		defer db.Close()
		exec(t, db, fmt.Sprintf(`INSERT INTO turn SELECT id, '%s', NULL, 'msg_1', 'msg_2', '%s', '', NULL, 0, 0, 0, 0, 0, %d, 0 FROM session`, id, status, at.UnixMicro()))
	}
	check := func(want int) {
		t.Helper()
		if got, err := RunningTurns(t.Context(), path); err != nil || got != want {
			t.Errorf("%d turns are running, want %d (%v)", got, want, err)
		}
	}
	turn("left by a crash", "running", time.Now().Add(-time.Hour))
	check(0)
	l, err := lock.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	check(0)
	turn("running", "running", time.Now().Add(time.Second)) // the times of files are coarse
	turn("ended", "completed", time.Now().Add(time.Second))
	check(1)
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	check(0)
}
