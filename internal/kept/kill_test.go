package kept

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/historystore/backup"
	"strata/historystore/schema"
	"strata/internal/binary"
	"strata/internal/failpoint"
)

var (
	seed  = flag.Uint64("seed", 1, "seed of the random kills")
	kills = flag.Int("kills", 6, "how often a migration is killed at a random moment")
)

// oldest is the version of the oldest kept database.
const oldest = 1

// A migration whose process dies before any of its steps, or before its commit, has changed nothing. The next start goes on.
func TestAMigrationThatDiesGoesOn(t *testing.T) {
	t.Parallel()
	last := schema.Newest() - oldest + 1 // the commit
	for _, n := range []int{1, 2, last / 2, last - 1, last} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r, home := oldHome(t)
			cmd := home.Command(t.Context(), "serve")
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=migrate:%d", failpoint.Env, n))
			if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.Exited() {
				t.Fatalf("the server was not killed: %v\n%s", err, out)
			}
			hasSchema(t, home.Database(), oldest)
			server, m := start(t, home)
			m.compare(r.All)
			hasSchema(t, server.Database, schema.Newest())
		})
	}
}

// A migration of a large database that is killed at random moments has changed nothing, or is complete.
func TestRandomKillsOfAMigration(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*seed, 0))
	_, home := oldHome(t)
	enlarge(t, home.Database())
	large := read(t, home.Database())
	began := time.Now()
	server, _ := start(t, home) // to measure
	longest := time.Since(began)
	server.Stop()
	old, migrated := 0, 0
	for range *kills {
		r, home := oldHome(t)
		home.PutDatabase(t, large)
		after := time.Duration(random.Int64N(int64(longest)))
		cmd := home.Command(t.Context(), "serve")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			_ = cmd.Wait() // by the kill
		}()
		select {
		case <-time.After(after):
		case <-dead:
			t.Fatal("the server ended by itself")
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-dead
		switch version := versionOf(t, home.Database()); version {
		case oldest:
			old++
		case schema.Newest():
			migrated++
		default:
			t.Errorf("seed %d: killed after %v, the database has schema %d", *seed, after, version)
		}
		_, m := start(t, home)
		m.compare(withoutSearch(r.All))
		hasSchema(t, home.Database(), schema.Newest())
	}
	t.Logf("%d kills before the commit, %d after it", old, migrated)
}

// withoutSearch returns the questions whose results further messages do not change.
func withoutSearch(all []question) []question {
	return slices.DeleteFunc(slices.Clone(all), func(q question) bool {
		return q.Method == "_strata/history/search" || q.Method == "session/list"
	})
}

// A database of a newer program is refused with advice, and a restore of the copy leads back.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	r, home := oldHome(t)
	server, _ := start(t, home)
	server.Stop()
	copies, err := backup.Copies(home.Database())
	if err != nil || len(copies) != 1 || copies[0].Schema != oldest {
		t.Fatalf("copies %+v, %v", copies, err)
	}
	change(t, home.Database(), "INSERT INTO program VALUES (999, '9.8.7', 1)", "PRAGMA user_version = 999")
	out, err := home.Command(t.Context(), "serve").CombinedOutput()
	if err == nil {
		t.Fatal("a newer database was opened")
	}
	for _, part := range []string{"schema 999 of strata 9.8.7", "`strata restore " + copies[0].Path + "`"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("the error does not say %q: %s", part, out)
		}
	}
	if out, err := home.Command(t.Context(), "restore", copies[0].Path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, m := start(t, home)
	m.compare(r.All)
	server.Stop()
	replaced, err := filepath.Glob(home.Database() + ".replaced-*Z")
	if err != nil || len(replaced) != 1 {
		t.Fatal(replaced, err)
	}
	hasSchema(t, replaced[0], 999)
}

// A restore whose process dies at any of its steps leaves the old database or is completed by the next start.
func TestARestoreThatDies(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r, home := oldHome(t)
			file := filepath.Join(t.TempDir(), "backup.db")
			if out, err := home.Command(t.Context(), "backup", file).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			change(t, home.Database(), "DELETE FROM checkpoint")
			cmd := home.Command(t.Context(), "restore", file)
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=restore:%d", failpoint.Env, n))
			if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.Exited() {
				t.Fatalf("the restore was not killed: %v\n%s", err, out)
			}
			_, m := start(t, home)
			m.compare(r.All)
		})
	}
}

// oldHome returns a home with the oldest database, and what it holds.
func oldHome(t *testing.T) (r record, home *binary.Home) {
	t.Helper()
	if err := json.Unmarshal(unpack(t, recordPath("testdata", oldest)), &r); err != nil {
		t.Fatal(err)
	}
	home = newHome(t)
	home.PutDatabase(t, unpack(t, databasePath("testdata", oldest)))
	return r, home
}

// change runs statements on a database that no server has.
func change(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// enlarge adds a session with so many messages that the migration takes a while.
func enlarge(t *testing.T, path string) {
	t.Helper()
	change(t, path,
		`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden, messages)
			VALUES ('sess_00000000000000000000000000', '/', '[]', 'Large', 1, '{}', 1, 1, 0, 20000)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			INSERT INTO message (session, seq, id, turn, role, status, tokens, bytes, blocks, has_calls, at, checksum, body, text)
			SELECT 'sess_00000000000000000000000000', i, 'msg_' || i, '', 'user', 'complete', 1, 200, 1, 0, i, 1, zeroblob(200), 'word ' || i FROM n`)
	info, err := os.Stat(path)
	if err != nil || info.Size() < 5<<20 {
		t.Fatalf("the database has %d bytes, %v", info.Size(), err)
	}
}

func versionOf(t *testing.T, path string) int {
	t.Helper()
	v, err := backup.VersionOf(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return v.Schema
}

func hasSchema(t *testing.T, path string, want int) {
	t.Helper()
	if got := versionOf(t, path); got != want {
		t.Errorf("%s has schema %d, want %d", path, got, want)
	}
}
