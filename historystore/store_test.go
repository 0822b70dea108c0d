package historystore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"strata/history"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		runChild(role)
		return
	}
	goleak.VerifyTestMain(m)
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// openTest opens the database at path, or a new one where path is empty, and closes it with the test.
func openTest(t testing.TB, path string, opt Options) *Store {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "strata.db")
	}
	s, err := Open(context.Background(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func commit(t testing.TB, s *Store, ch history.Change) {
	t.Helper()
	if err := s.Commit(context.Background(), ch); err != nil {
		t.Fatal(err)
	}
}

func createSession(id string) history.Change {
	return history.Change{Session: id, Create: &history.Session{
		ID: id, CWD: "/work", Title: "Title of " + id, CreatedAt: epoch, UpdatedAt: epoch}}
}

func textMessage(seq int64, role history.Role, text string) history.Message {
	return history.Message{ID: fmt.Sprintf("msg_%d", seq), Seq: seq, Role: role, At: epoch.Add(time.Duration(seq) * time.Second),
		Blocks: []history.Block{{Type: history.BlockText, Text: text}}, Tokens: len(text) / 4, Status: history.StatusComplete}
}

// beginTurn is the transaction that stores the prompt of turn n, endTurn the one that stores its answer.
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
	blob := history.Blob{Bytes: fmt.Appendf(nil, "rendered %s %d", session, n)}
	blob.Hash = hashOf(blob.Bytes)
	return history.Change{Session: session, Messages: []history.Message{reply},
		End: &history.Turn{ID: turnID(n), Status: history.TurnCompleted, StopReason: "end_turn", Usage: usage, Cost: 0.5, EndedAt: reply.At},
		Calls: []history.Call{{ID: fmt.Sprintf("call_%d", n), Turn: turnID(n), Purpose: history.PurposeTurn, Model: reply.Model,
			Usage: usage, Cost: 0.5, Categories: map[string]int{"history": 10}, At: reply.At}},
		Layout: fmt.Appendf(nil, "layout %d", n), Blobs: []history.Blob{blob},
		Calibration: &history.Calibration{Model: reply.Model, Ratio: 1.1, Weight: float64(n)},
	}
}

func turnID(n int64) string { return fmt.Sprintf("turn_%d", n) }

func savePartial(session string, turn int64, n int, text string) history.Change {
	return history.Change{Session: session, Partial: &history.Partial{Turn: turnID(turn), N: n, Kind: history.BlockText, Text: text}}
}

func TestWholeTurn(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	commit(t, s, beginTurn("sess_a", 0))
	commit(t, s, savePartial("sess_a", 0, 0, "ans"))
	commit(t, s, savePartial("sess_a", 0, 1, "wer"))
	l, err := s.Load(context.Background(), "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	if l.Unfinished == nil || len(l.Partials) != 2 {
		t.Fatalf("%+v", l)
	}
	commit(t, s, endTurn("sess_a", 0))
	l, err = s.Load(context.Background(), "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	if l.Unfinished != nil || len(l.Partials) != 0 || len(l.Heads) != 2 || l.Totals.Calls != 1 || l.Session.Messages != 2 {
		t.Fatalf("%+v", l)
	}
	ms, err := s.Messages(context.Background(), "sess_a", []int64{2, 1})
	if err != nil || ms[0].Blocks[0].Text != "answer 0" {
		t.Fatal(ms, err)
	}
	hits, _, err := s.Search(context.Background(), SearchQuery{Query: "ans"})
	if err != nil || len(hits) != 1 {
		t.Fatal(hits, err)
	}
	t.Logf("%+v", hits)
	if err := s.Delete(context.Background(), "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Purge(context.Background(), epoch.Add(time.Second)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

const childEnv = "STRATA_TEST_CHILD"

func runChild(string) {}
