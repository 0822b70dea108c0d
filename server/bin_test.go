package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/server/wire"
)

// H31: deleted sessions are listed with what a user needs for a decision, and each can be brought back or purged.
func TestH31BinOfDeletedSessions(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(o *Options) { o.Retention = 48 * time.Hour })
	e := ts.connect()
	watcher := ts.connect()
	call[any](ts, watcher, "_strata/server/subscribe", "", nil)
	const secret = "the-words-that-must-go"
	var ids []string
	for range wire.PageSize + 2 {
		ids = append(ids, e.NewSession(ts.work))
	}
	first := ids[0]
	if _, err := e.Prompt(first, secret); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		call[any](ts, e, "session/delete", id, nil)
	}

	page := call[wire.DeletedPage](ts, e, "_strata/session/list_deleted", "", nil)
	if len(page.Sessions) != wire.PageSize || page.NextCursor == "" || page.Sessions[0].SessionID != ids[len(ids)-1] {
		t.Fatalf("the first page has %d sessions, cursor %q", len(page.Sessions), page.NextCursor)
	}
	page = call[wire.DeletedPage](ts, e, "_strata/session/list_deleted", "", map[string]any{"cursor": page.NextCursor})
	if len(page.Sessions) != 2 || page.NextCursor != "" || page.Sessions[1].SessionID != first {
		t.Fatalf("the last page is %+v", page)
	}
	entry := page.Sessions[1]
	if entry.Messages != 2 || entry.CWD != ts.work || !entry.PurgeAt.Equal(entry.DeletedAt.Add(48*time.Hour)) {
		t.Errorf("the entry is %+v", entry)
	}

	call[any](ts, e, "_strata/session/undelete", ids[1], nil)
	var failure *testclient.Error
	if err := e.Call("_strata/session/purge", map[string]any{"sessionId": ids[1]}, nil); err == nil {
		t.Error("a session that is not deleted was purged")
	} else {
		_ = failure
	}
	call[any](ts, e, "_strata/session/purge", first, nil)
	if err := e.Call("_strata/session/undelete", map[string]any{"sessionId": first}, nil); err == nil {
		t.Error("a purged session came back")
	}
	eventually(t, "the text is erased", func() bool {
		return !strings.Contains(stored(t, ts), secret)
	})
}

// stored returns the bytes of the database and its log.
func stored(t *testing.T, ts *testServer) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"strata.db", "strata.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(ts.dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s", raw)
	}
	return all.String()
}
