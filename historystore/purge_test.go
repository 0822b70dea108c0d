package historystore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/history"
)

func TestDeleteAndUndelete(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0))
	before := dump(t, s)
	at := epoch.Add(time.Minute)
	if err := s.Delete(ctx, "sess_a", at); err != nil {
		t.Fatal(err)
	}
	_, err := s.Load(ctx, "sess_a")
	wantError(t, err, history.ErrNotFound)
	wantError(t, s.Delete(ctx, "sess_a", at), history.ErrNotFound)
	wantError(t, s.ImportShow(ctx, "sess_a"), history.ErrNotFound)
	found, err := s.Session(ctx, "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "deleted at", found.DeletedAt, at)
	equal(t, "sessions", sessionPages(t, s, SessionQuery{}), []string(nil))
	equal(t, "deleted sessions", deletedPages(t, s, 0), []string{"sess_a"})

	if err := s.Undelete(ctx, "sess_a"); err != nil {
		t.Fatal(err)
	}
	equal(t, "database", dump(t, s), before)
	wantError(t, s.Undelete(ctx, "sess_a"), history.ErrNotFound)
	wantError(t, s.Delete(ctx, "sess_x", at), history.ErrNotFound)
	if err := s.Delete(ctx, "sess_a", time.Time{}); err == nil {
		t.Fatal("deleted without a time")
	}
}

func TestImportIsHiddenUntilShown(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, hiddenSession("sess_a"), appendText("sess_a", 2, "more"))
	_, err := s.Load(ctx, "sess_a")
	wantError(t, err, history.ErrNotFound)
	_, err = s.Session(ctx, "sess_a")
	wantError(t, err, history.ErrNotFound)
	wantError(t, s.Delete(ctx, "sess_a", epoch), history.ErrNotFound)
	equal(t, "sessions", sessionPages(t, s, SessionQuery{}), []string(nil))
	if err := s.ImportShow(ctx, "sess_a"); err != nil {
		t.Fatal(err)
	}
	equal(t, "messages", len(load(t, s, "sess_a").Heads), 2)
	wantError(t, s.ImportShow(ctx, "sess_a"), history.ErrNotFound)
}

// secret is a word that occurs only in purged sessions.
const secret = "xyzzyplugh"

func TestPurgeLeavesNothingOfASession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, Options{})
	commit(t, s, createSession("sess_keep"), beginTurn("sess_keep", 0), endTurn("sess_keep", 0), putFileChanges("sess_keep", editFile(1, "of all sessions", "kept")))
	want := dump(t, s)
	shared := endTurn("sess_keep", 0).Blobs[0]
	for _, id := range []string{"sess_a", "sess_b"} {
		end := endTurn(id, 501)
		end.Calibration = nil // belongs to no session
		edit := compactEdit(id, 2000, "msg_1")
		edit.Edits[0].Patches[0].Text = secret
		commit(t, s, createSession(id), beginTurn(id, 500), savePartial(id, 500, 0, secret), beginTurn(id, 501), end,
			edit, putDocuments(id, document(secret, secret)),
			history.Change{Session: id, PutFiles: []history.File{{Path: secret}}, Blobs: []history.Blob{shared, testBlob(secret + id)}},
			putFileChanges(id, editFile(1, "of all sessions", secret), editFile(2, secret, strings.Repeat(secret, purgeBytes/10))))
		for seq := int64(1); seq <= 300; seq++ {
			commit(t, s, appendText(id, seq, fmt.Sprintf("%s %d %s", secret, seq, strings.Repeat("and more text ", 300))))
		}
		if err := s.Delete(ctx, id, epoch); err != nil {
			t.Fatal(err)
		}
	}
	grown := stats(t, s)
	purged, err := s.Purge(ctx, epoch.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "purged", purged, 2)
	equal(t, "database", dump(t, s), want)
	now := stats(t, s)
	if now.Bytes*4 > grown.Bytes || now.WALBytes > 1<<20 {
		t.Errorf("from %+v to %+v", grown, now)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range listFiles(t, filepath.Dir(path)) {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), file))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s still contains text of a purged session", file)
		}
	}
}

func stats(t *testing.T, s *Store) Stats {
	t.Helper()
	stats, err := s.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

func TestPurgeKeepsRecentlyDeletedSessions(t *testing.T) {
	s := openTest(t, "", Options{})
	for i, id := range []string{"sess_a", "sess_b", "sess_c"} {
		commit(t, s, createSession(id), beginTurn(id, 0))
		if i > 0 {
			if err := s.Delete(ctx, id, epoch.Add(time.Duration(i)*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	purged, err := s.Purge(ctx, epoch.Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "purged", purged, 1)
	wantError(t, s.Undelete(ctx, "sess_b"), history.ErrNotFound)
	if err := s.Undelete(ctx, "sess_c"); err != nil {
		t.Fatal(err)
	}
	equal(t, "messages", len(load(t, s, "sess_c").Heads), 1)
}

// A session whose purge was interrupted cannot be undeleted, and the next purge completes it.
func TestPurgeStopsBetweenItsSteps(t *testing.T) {
	stopped, stop := context.WithCancel(ctx)
	commits := 0
	s := openTest(t, "", Options{OnCommit: func(int) {
		if commits++; commits == 10 {
			stop()
		}
	}})
	fillSession(t, s, "sess_a", 1500, 200) // four commits
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	_, err := s.Purge(stopped, epoch.Add(time.Second))
	wantError(t, err, context.Canceled)
	left := len(dump(t, s))
	if left == 0 {
		t.Fatal("nothing left to purge")
	}
	wantError(t, s.Undelete(ctx, "sess_a"), history.ErrNotFound)
	wantError(t, s.Commit(ctx, appendText("sess_a", 5000, "too late")), history.ErrNotFound)
	equal(t, "deleted sessions", deletedPages(t, s, 0), []string(nil))
	purged, err := s.Purge(ctx, epoch.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "purged", purged, 1)
	equal(t, "database", dump(t, s), "")
}

// Other sessions can be written during a purge.
func TestPurgeLetsOthersWrite(t *testing.T) {
	s := openTest(t, "", Options{})
	fillSession(t, s, "sess_a", 1000, 4<<10)
	commit(t, s, createSession("sess_b"))
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := s.Purge(ctx, epoch.Add(time.Second))
		done <- err
	}()
	var written int64
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			if written < 5 {
				t.Errorf("only %d changes were stored", written)
			}
			return
		default:
			written++
			commit(t, s, appendText("sess_b", written, "in between"))
		}
	}
}
