package historystore

import (
	"testing"
	"time"

	"strata/history"
)

// deletedPages returns the ids of all deleted sessions, read in pages.
func deletedPages(t *testing.T, s *Store, limit int) (ids []string) {
	t.Helper()
	for next := ""; ; {
		list, after, err := NewBin(s).List(ctx, next, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, session := range list {
			ids = append(ids, session.ID)
		}
		if next = after; next == "" {
			return ids
		}
	}
}

func TestDeletedSessionsInTheOrderOfTheirDeletion(t *testing.T) {
	s := openTest(t, "", Options{})
	for i, id := range []string{"sess_a", "sess_b", "sess_c", "sess_d"} {
		commit(t, s, createSession(id))
		if id == "sess_d" {
			continue
		}
		at := epoch.Add(time.Duration(3-i) * time.Minute)
		if err := s.Delete(ctx, id, at); err != nil {
			t.Fatal(err)
		}
	}
	for limit := range 4 {
		equal(t, "deleted", deletedPages(t, s, limit), []string{"sess_a", "sess_b", "sess_c"})
	}
	list, _, err := NewBin(s).List(ctx, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "deleted at", list[0].DeletedAt, epoch.Add(3*time.Minute))
	for _, bad := range []string{"!", cursor{list: sessionList}.encode()} {
		_, _, err := NewBin(s).List(ctx, bad, 1)
		wantError(t, err, ErrCursor)
	}
}

func TestDeletedSessionHasItsCost(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), history.Change{Session: "sess_a", Calls: []history.Call{{ID: "call_1", Cost: 0.25}}})
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	list, _, err := NewBin(s).List(ctx, "", 0)
	if err != nil || len(list) != 1 || list[0].Cost != 0.25 {
		t.Fatalf("deleted are %+v, error %v", list, err)
	}
}

func TestPurgeNextDoesNotWaitForTheRetention(t *testing.T) {
	s := openTest(t, "", Options{})
	for _, id := range []string{"sess_a", "sess_b"} {
		commit(t, s, createSession(id), beginTurn(id, 0))
	}
	wantError(t, NewBin(s).PurgeNext(ctx, "sess_a"), history.ErrNotFound) // not deleted
	for _, id := range []string{"sess_a", "sess_b"} {
		if err := s.Delete(ctx, id, epoch); err != nil {
			t.Fatal(err)
		}
	}
	if err := NewBin(s).PurgeNext(ctx, "sess_a"); err != nil {
		t.Fatal(err)
	}
	equal(t, "deleted", deletedPages(t, s, 0), []string{"sess_b"})
	wantError(t, s.Undelete(ctx, "sess_a"), history.ErrNotFound)
	wantError(t, NewBin(s).PurgeNext(ctx, "sess_a"), history.ErrNotFound)
	purged, err := s.Purge(ctx, epoch.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "purged", purged, 1)
	equal(t, "deleted", deletedPages(t, s, 0), []string{"sess_b"})
}
