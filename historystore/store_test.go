package historystore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore/blobs"
	"strata/historystore/database"
	"strata/internal/leak"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(runChild(role))
	}
	leak.Main(m)
}

var (
	ctx   = context.Background()
	epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// openTest opens the database at path, or a new one if path is empty, and closes it at the end of the test.
func openTest(t testing.TB, path string, opt Options) *Store {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "strata.db")
	}
	s, err := Open(ctx, path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := checked(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// checked waits until changes are allowed.
func checked(s *Store) error {
	j := &job{alone: true, apply: func(*writeTx) error { return nil }, done: make(chan error, 1)}
	s.writer.queue <- j
	return database.Translate(s.path, <-j.done)
}

func commit(t testing.TB, s *Store, changes ...history.Change) {
	t.Helper()
	for _, ch := range changes {
		if err := s.Commit(ctx, ch); err != nil {
			t.Fatal(err)
		}
	}
}

func load(t testing.TB, s *Store, session string) history.Loaded {
	t.Helper()
	l, err := s.Load(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\ngot  %+v\nwant %+v", what, got, want)
	}
}

func createSession(id string) history.Change {
	return history.Change{Session: id, Create: &history.Session{ID: id, CWD: "/work", Title: "Title of " + id,
		Roots: []string{"/more"}, Config: history.Config{Model: "a/b"}, CreatedAt: epoch, UpdatedAt: epoch}}
}

func textMessage(seq int64, role history.Role, text string) history.Message {
	return history.Message{ID: fmt.Sprintf("msg_%d", seq), Seq: seq, Role: role, At: epoch.Add(time.Duration(seq) * time.Second),
		Blocks: []history.Block{{Type: history.BlockText, Text: text}}, Tokens: len(text) / 4, Status: history.StatusComplete}
}

func appendText(session string, seq int64, text string) history.Change {
	return history.Change{Session: session, Messages: []history.Message{textMessage(seq, history.RoleUser, text)}}
}

func turnID(n int64) string { return fmt.Sprintf("turn_%d", n) }

// beginTurn returns the change that stores the prompt of turn n, endTurn the one that stores its reply.
// They use the sequence numbers 2n+1 and 2n+2.
func beginTurn(session string, n int64) history.Change {
	user := textMessage(2*n+1, history.RoleUser, fmt.Sprintf("question %d", n))
	user.Turn = turnID(n)
	return history.Change{Session: session, Messages: []history.Message{user}, Begin: &history.Turn{
		ID: turnID(n), PromptID: fmt.Sprintf("prompt_%d", n), UserID: user.ID, ReplyID: fmt.Sprintf("msg_%d", 2*n+2),
		Status: history.TurnRunning, StartedAt: user.At}}
}

func endTurn(session string, n int64) history.Change {
	reply := textMessage(2*n+2, history.RoleAssistant, fmt.Sprintf("answer %d", n))
	reply.Turn, reply.Model = turnID(n), "offline/digest"
	usage := history.Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2}
	return history.Change{Session: session, Messages: []history.Message{reply},
		End: &history.Turn{ID: turnID(n), Status: history.TurnCompleted, StopReason: "end_turn", Usage: usage, Cost: 0.5, EndedAt: reply.At},
		Calls: []history.Call{{ID: fmt.Sprintf("call_%d", n), Turn: turnID(n), Purpose: history.PurposeTurn, Model: reply.Model,
			Usage: usage, Cost: 0.5, Expected: 4,
			Categories: map[string]int{"history": 10}, Documents: map[string]int{"design": 3}, Phase: "testing", At: reply.At,
			Status: history.CallComplete, Attempts: 2, Duration: 1200, FirstToken: 300}},
		Layout: &history.LayoutChange{Head: fmt.Appendf(nil, "layout %d", n)}, Blobs: []history.Blob{testBlob(fmt.Sprintf("rendered %s %d", session, n))},
		Calibration: &history.Calibration{Model: reply.Model, Ratio: 1.1, Weight: float64(n)},
	}
}

func testBlob(text string) history.Blob {
	return history.Blob{Hash: blobs.Hash([]byte(text)), Bytes: []byte(text)}
}

func savePartial(session string, turn int64, n int, text string) history.Change {
	return history.Change{Session: session, Partial: &history.Partial{Turn: turnID(turn), N: n, Kind: history.BlockText, Text: text}}
}

func compactEdit(session string, seq int64, messages ...string) history.Change {
	return history.Change{Session: session, Edits: []history.Edit{{ID: fmt.Sprintf("edit_%d", seq), Seq: seq, Kind: history.EditCompact,
		At: epoch, Reason: "test", Messages: messages, SavedTokens: 7, SavedChars: 30,
		Patches: []history.Patch{{Message: "msg_3", Block: 1, Part: 2, Text: "a notice", Saved: 7, Origin: "test"}}}}}
}

func document(name, text string) history.Document {
	return history.Document{Name: name, Text: text, Priority: 3, Pinned: true, Phases: []string{"plan"}, Status: "open", Order: 2, At: epoch}
}

func putDocuments(session string, documents ...history.Document) history.Change {
	return history.Change{Session: session, PutDocuments: documents}
}

// layOut returns a change that puts blobs and a layout that refers to kept.
func layOut(session string, kept []string, blobs ...history.Blob) history.Change {
	return history.Change{Session: session, Layout: &history.LayoutChange{Head: []byte(strings.Join(kept, " "))}, KeepBlobs: append([]string{}, kept...), Blobs: blobs}
}

var tables = []string{"session", "turn", "message", "head_block", "edit", "checkpoint", "partial", "usage", "file", "file_change", "file_image", "document", "layout", "layout_row", "blob", "blob_ref", "outline", "listing", "calibration"}

// dump returns the content of the database as text, after checking the index.
func dump(t testing.TB, s *Store) string {
	t.Helper()
	checkIndex(t, s)
	var out strings.Builder
	err := s.view(ctx, "dump", func(tx *sql.Tx) error {
		for _, table := range tables {
			rows, err := collect(ctx, tx, dumpRow, "SELECT * FROM "+table)
			if err != nil {
				return err
			}
			for _, row := range rows {
				fmt.Fprintln(&out, table, row)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func dumpRow(row scanner) (string, error) {
	columns, err := row.(*sql.Rows).Columns()
	if err != nil {
		return "", err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = &values[i]
	}
	if err := row.Scan(values...); err != nil {
		return "", err
	}
	for i := range values {
		if data, ok := values[i].([]byte); ok {
			values[i] = string(data)
		}
	}
	return asJSON(values)
}

// checkIndex compares the search index to the texts of the messages.
func checkIndex(t testing.TB, s *Store) {
	t.Helper()
	catchUp(t, s)
	err := s.write(ctx, "check", nil, func(tx *writeTx) error {
		_, err := tx.exec("INSERT INTO message_fts (message_fts, rank) VALUES ('integrity-check', 1)")
		return err
	})
	if err != nil {
		t.Fatal("search index: ", err)
	}
}

// Messages with close sequence numbers are read as a range, others one by one; both return exactly those asked for, in the
// order asked for.
func TestMessagesInRangesAndLists(t *testing.T) {
	s := openTest(t, "", Options{CacheBytes: 1})
	commit(t, s, createSession("sess_a"), createSession("sess_b"))
	for seq := int64(1); seq <= 40; seq++ {
		commit(t, s, appendText("sess_a", seq, fmt.Sprint("words ", seq)), appendText("sess_b", seq, "others"))
	}
	for _, seqs := range [][]int64{{7}, {1, 2, 3, 4}, {1, 3, 4}, {40, 2}, {4, 3, 2}, {1, 40}, {2, 2}} {
		got, err := s.Messages(ctx, "sess_a", seqs)
		if err != nil || len(got) != len(seqs) {
			t.Fatalf("%d: %d messages, %v", seqs, len(got), err)
		}
		for i, seq := range seqs {
			equal(t, "text", got[i].PlainText(), fmt.Sprint("words ", seq))
		}
	}
	for _, seqs := range [][]int64{{39, 40, 41}, {1, 90}} {
		_, err := s.Messages(ctx, "sess_a", seqs)
		wantError(t, err, history.ErrNotFound)
	}
	for _, seqs := range [][]int64{{1, 2, 3}, {1, 40}} { // the range reads rows that were not asked for
		where, _, err := selection("sess_a", []int64{seqs[0], seqs[len(seqs)-1]})
		if ranged := strings.Contains(where, "BETWEEN"); err != nil || ranged != (seqs[len(seqs)-1] == 3) {
			t.Errorf("%d: %s, %v", seqs, where, err)
		}
	}
}
