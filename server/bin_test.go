package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/server/wire"
)

// purgeLog reports the purges that the server logs.
type purgeLog struct {
	slog.Handler
	purged chan struct{}
}

func (l *purgeLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *purgeLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "deleted sessions purged" {
		l.purged <- struct{}{}
	}
	return l.Handler.Handle(ctx, r)
}

// Deleted sessions are listed with what a user needs for a decision; each comes back, or is erased before its time.
func TestH31DeletedSessionsAreListedBroughtBackAndErased(t *testing.T) {
	t.Parallel()
	purged := make(chan struct{}, 10)
	var reads atomic.Int64
	start := time.Now()
	ts := startServer(t, func(o *Options) {
		setClock(o, func() time.Time { return start.Add(time.Duration(reads.Add(1)) * time.Microsecond) }) // so that no purge is due
		o.Retention = 48 * time.Hour
		o.Log = slog.New(&purgeLog{Handler: o.Log.Handler(), purged: purged})
	})
	e, watcher := ts.editor(), ts.editor()
	call[any](ts, watcher, "_strata/server/subscribe", "", nil)
	const secret = "the-words-that-must-go"
	var ids []string
	for range wire.PageSize + 2 {
		ids = append(ids, e.NewSession(ts.work))
	}
	first, second := ids[0], ids[1]
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
	if entry := page.Sessions[1]; entry.Messages != 2 || entry.CWD != ts.work || !entry.PurgeAt.Equal(entry.DeletedAt.Add(48*time.Hour)) {
		t.Errorf("the entry is %+v", entry)
	}
	refusedRaw(t, e, "_strata/session/list_deleted", `{"cursor": "!"}`, -32602)

	call[any](ts, e, "_strata/session/undelete", second, nil)
	refusedRaw(t, e, "_strata/session/purge", `{"sessionId": "`+second+`"}`, -32002) // not deleted
	if !strings.Contains(ts.bytesOnDisk(), secret) {
		t.Fatal("the database does not contain the prompt")
	}
	call[any](ts, e, "_strata/session/purge", first, nil)
	watcher.Expect(testclient.Condition{Name: "the event of the purge", Met: func(all testclient.Frames) bool {
		return slices.ContainsFunc(all, func(f testclient.Frame) bool {
			return strings.Contains(string(f.Raw), `"purged"`) && strings.Contains(string(f.Raw), first)
		})
	}})
	refusedRaw(t, e, "_strata/session/undelete", `{"sessionId": "`+first+`"}`, -32002)
	<-purged
	if strings.Contains(ts.bytesOnDisk(), secret) {
		t.Error("the text of the purged session is still in the database")
	}
	page = call[wire.DeletedPage](ts, e, "_strata/session/list_deleted", "", nil)
	if len(page.Sessions) != wire.PageSize || page.NextCursor != "" {
		t.Errorf("%d sessions are left, cursor %q", len(page.Sessions), page.NextCursor)
	}
}

// bytesOnDisk returns the contents of the database and its log.
func (ts *testServer) bytesOnDisk() string {
	ts.t.Helper()
	var all strings.Builder
	for _, name := range []string{"strata.db", "strata.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(ts.dir, name))
		if err != nil && !os.IsNotExist(err) {
			ts.t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}

// Folders are completed inside workspaces.roots only.
func TestH29FoldersAreCompletedWithinTheRoots(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"work/api", "work/app", "work/.git", "secret/keys"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	work := filepath.Join(root, "work")
	ts := startServer(t, func(o *Options) { o.Roots = []string{work} })
	e := ts.editor()
	for prefix, want := range map[string][]string{
		"":                                   {work},
		filepath.Join(work, "a"):             {filepath.Join(work, "api"), filepath.Join(work, "app")},
		work + "/.":                          {filepath.Join(work, ".git")},
		filepath.Join(root, "secret") + "/":  {},
		work + "/../secret/":                 {},
		filepath.Join(root, "nowhere") + "/": {},
	} {
		got := call[wire.Completion](ts, e, "_strata/folders/complete", "", map[string]any{"prefix": prefix})
		if !slices.Equal(got.Folders, want) || got.More || got.Folders == nil {
			t.Errorf("%q: %+v, want %q", prefix, got, want)
		}
	}
	got := call[wire.Completion](ts, e, "_strata/folders/complete", "", map[string]any{"prefix": work + "/", "limit": 1})
	if len(got.Folders) != 1 || !got.More {
		t.Errorf("one of two: %+v", got)
	}
	for _, params := range []string{`{"prefix": "work"}`, `{"prefix": "/a\u0000"}`, `{"prefix": "/", "limit": -1}`, `{"prefix": 1}`} {
		refusedRaw(t, e, "_strata/folders/complete", params, -32602)
	}
}
