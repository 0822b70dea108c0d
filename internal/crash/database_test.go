package crash

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // for a separate connection to the server's database

	gocmp "github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/internal/testclient"
)

// open opens a separate connection to a database. mode is ro or rw.
func open(t testing.TB, path, mode string) *sql.DB {
	t.Helper()
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/folder
		path = "/" + path
	}
	source := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"mode": {mode}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds())}}.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// rows returns the rows of a query with all columns as text.
func rows(t testing.TB, db *sql.DB, query string, args ...any) [][]string {
	t.Helper()
	found, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer found.Close()
	columns, _ := found.Columns()
	var all [][]string
	for found.Next() {
		row := make([]string, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		all = append(all, row)
	}
	if err := found.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// change runs a statement on a database that no server has open.
func change(t testing.TB, path, statement string, args ...any) {
	t.Helper()
	db := open(t, path, "rw")
	defer db.Close()
	result, err := db.Exec(statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s changes %d rows: %v", statement, n, err)
	}
}

// lock holds the write lock until release, like another process.
func lock(t testing.TB, path string) (release func()) {
	t.Helper()
	db := open(t, path, "rw")
	conn, err := db.Conn(context.Background())
	if err == nil {
		_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := conn.Close(); err != nil { // a transaction ends with its connection
			t.Error(err)
		}
		db.Close()
	}
}

// message is the part of a message that all views of a transcript must agree on.
type message struct {
	Seq                    int64
	ID, Role, Status, Text string
}

func (m message) String() string {
	text := m.Text
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return fmt.Sprintf("%d %s %s %s %q (%d bytes)", m.Seq, m.ID, m.Role, m.Status, text, len(m.Text))
}

func shown(m *history.Message) message {
	return message{Seq: m.Seq, ID: m.ID, Role: string(m.Role), Status: string(cmp.Or(m.Status, history.StatusComplete)), Text: m.PlainText()}
}

// listed returns a session's transcript as received by clients, page by page.
func listed(t testing.TB, e *testclient.Editor, session string) []message {
	t.Helper()
	var all []message
	for cursor := ""; ; {
		var page struct {
			Messages   []history.Message
			NextCursor string
		}
		if err := e.Call("_strata/history/list", map[string]any{"sessionId": session, "limit": 500, "cursor": cursor}, &page); err != nil {
			t.Fatal(err)
		}
		var these []message
		for i := range page.Messages {
			these = append(these, shown(&page.Messages[i]))
		}
		all = append(these, all...)
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

// onDisk returns a session's transcript from the database.
func onDisk(t testing.TB, db *sql.DB, session string) []message {
	t.Helper()
	var all []message
	for _, row := range rows(t, db, "SELECT body FROM message WHERE session = ? ORDER BY seq", session) {
		var m history.Message
		if err := json.Unmarshal([]byte(row[0]), &m); err != nil {
			t.Fatalf("stored message of %s: %v", session, err)
		}
		all = append(all, shown(&m))
	}
	return all
}

// audit checks the invariants of the whole database after a crash and returns the transcripts. All sessions must be idle.
func (w *world) audit(e *testclient.Editor, sessions ...string) map[string][]message {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	w.sound(db)
	all := make(map[string][]message)
	for _, session := range sessions {
		all[session] = listed(w.t, e, session) // loading a session recovers the state left by the last server
		if diff := gocmp.Diff(onDisk(w.t, db, session), all[session]); diff != "" {
			w.t.Errorf("transcript of %s (-stored +listed):\n%s", session, diff)
		}
		w.whole(db, session)
	}
	return all
}

// sound checks the database file.
func (w *world) sound(db *sql.DB) {
	w.t.Helper()
	if got := rows(w.t, db, "PRAGMA integrity_check"); len(got) != 1 || got[0][0] != "ok" {
		w.t.Errorf("integrity: %q", got)
	}
	if got := rows(w.t, db, "SELECT \"table\", parent FROM pragma_foreign_key_check"); len(got) > 0 {
		w.t.Errorf("dangling references: %q", got)
	}
}

// whole checks that an idle session has each turn completely and once.
func (w *world) whole(db *sql.DB, session string) {
	w.t.Helper()
	none := func(what, query string) {
		w.t.Helper()
		if got := rows(w.t, db, query, session); len(got) > 0 {
			w.t.Errorf("session %s has %s: %q", session, what, got)
		}
	}
	none("a turn without an end", "SELECT id, status FROM turn WHERE session = ? AND status = 'running'")
	none("text of no running turn", "SELECT turn, n FROM partial WHERE session = ?")
	none("a duplicate prompt", "SELECT id, text FROM message WHERE session = ? AND role = 'user' GROUP BY text HAVING count(*) > 1")
	none("a turn without its prompt", `SELECT id FROM turn t WHERE session = ? AND NOT EXISTS
		(SELECT 1 FROM message m JOIN turn f ON f.session = m.session AND f.id = m.turn -- of this turn, or of the first that it goes on with
		WHERE m.session = t.session AND m.id = t.user_id AND m.role = 'user' AND f.user_id = m.id AND f.rowid <= t.rowid)`)
	none("a completed turn without its answer", `SELECT id FROM turn t WHERE session = ? AND status = 'completed' AND NOT EXISTS
		(SELECT 1 FROM message m WHERE m.session = t.session AND m.id = t.reply_id AND m.status = 'complete')`)
	none("a turn with more than a prompt and an answer for each step", `SELECT turn, group_concat(role) FROM message WHERE session = ? AND turn <> ''
		GROUP BY turn HAVING sum(role = 'user') > 1 OR sum(role = 'assistant') > 1 + sum(role = 'tool')`)
	none("a step without its results", `SELECT id FROM message m WHERE session = ? AND turn <> '' AND has_calls AND 'tool' IS NOT
		(SELECT role FROM message r WHERE r.session = m.session AND r.turn = m.turn AND r.seq > m.seq ORDER BY seq LIMIT 1)`)
	none("results without a step", `SELECT id FROM message r WHERE session = ? AND turn <> '' AND role = 'tool' AND 1 IS NOT
		(SELECT has_calls FROM message m WHERE m.session = r.session AND m.turn = r.turn AND m.seq < r.seq AND role <> 'tool' ORDER BY seq DESC LIMIT 1)`)
	none("a step with two calls of its model", `SELECT turn, step FROM usage WHERE session = ? AND step > 0 GROUP BY turn, step HAVING count(*) > 1`)
	none("a request without its call", "SELECT call FROM request r WHERE session = ? AND NOT EXISTS (SELECT 1 FROM usage WHERE session = r.session AND id = r.call)")
	none("a call that ended without its request", `SELECT id FROM usage u WHERE session = ? AND purpose = 'turn' AND status = 'complete'
		AND NOT EXISTS (SELECT 1 FROM request WHERE session = u.session AND call = u.id)`)
	none("a difference to no request", "SELECT call FROM request r WHERE session = ? AND base <> 0 AND NOT EXISTS (SELECT 1 FROM request WHERE rowid = r.base AND base = 0)")
	none("a turn with another usage than its steps", `SELECT id, status, input, output FROM turn t WHERE session = ? AND (input, output) <>
		(SELECT coalesce(sum(input), 0), coalesce(sum(output), 0) FROM usage u WHERE u.session = t.session AND u.turn = t.id AND purpose = 'turn')`)
	none("another count than messages", `SELECT messages FROM session s WHERE id = ? AND messages <> (SELECT count(*) FROM message WHERE session = s.id)`)

	seqs := rows(w.t, db, "SELECT seq FROM message WHERE session = ?1 UNION ALL SELECT seq FROM edit WHERE session = ?1 ORDER BY seq", session)
	for i, row := range seqs {
		if row[0] != fmt.Sprint(i+1) {
			w.t.Errorf("session %s has sequence numbers %q", session, seqs)
			break
		}
	}
}

// begun is what is saved of the message of a running step.
type begun struct{ session, message, thinking, text string }

// begunOnDisk returns what is saved of running replies.
func begunOnDisk(t testing.TB, path string) (all []begun) {
	t.Helper()
	db := open(t, path, "ro")
	defer db.Close()
	for _, row := range rows(t, db, "SELECT session, message, kind, text FROM partial ORDER BY session, turn, n") {
		if n := len(all); n == 0 || all[n-1].message != row[1] {
			all = append(all, begun{session: row[0], message: row[1]})
		}
		last := &all[len(all)-1]
		if row[2] == string(history.BlockThinking) {
			last.thinking += row[3]
		} else {
			last.text += row[3]
		}
	}
	return all
}

// stillThere checks that replies that had begun when a server died are interrupted messages.
func stillThere(t testing.TB, path string, saved []begun) {
	t.Helper()
	db := open(t, path, "ro")
	defer db.Close()
	for _, want := range saved {
		got := begun{session: want.session}
		for _, m := range messagesOnDisk(t, db, want.session) {
			if m.ID != want.message || m.Status != history.StatusInterrupted {
				continue
			}
			got.message, got.text = m.ID, m.PlainText()
			for _, b := range blocksOf(&m, history.BlockThinking) {
				got.thinking += b.Text
			}
		}
		if got != want {
			t.Errorf("of a message there is %+v, saved was %+v", got, want)
		}
	}
}

// ended is a turn in the database.
type ended struct{ status, user, reply string }

// turnOf returns the turn of a prompt; found is false if it is not stored.
func turnOf(t testing.TB, db *sql.DB, a *ask) (turn ended, found bool) {
	t.Helper()
	got := rows(t, db, "SELECT status, user_id, reply_id FROM turn WHERE session = ? AND prompt_id = ?", a.session, a.name)
	if len(got) == 0 {
		return ended{}, false
	}
	return ended{got[0][0], got[0][1], got[0][2]}, true
}

// find returns the message with the given id.
func find(all []message, id string) (message, bool) {
	i := slices.IndexFunc(all, func(m message) bool { return m.ID == id })
	if i < 0 {
		return message{}, false
	}
	return all[i], true
}
