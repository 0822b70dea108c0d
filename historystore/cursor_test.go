package historystore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func FuzzCursor(f *testing.F) {
	f.Add("", int64(0), "")
	f.Add("c4AB", int64(-1), "sess_a")
	f.Add(cursor{sessionList, 1, "id"}.encode()[:4]+"\n"+cursor{sessionList, 1, "id"}.encode()[4:], int64(0), "")
	f.Add("c70A", int64(0), "") // a number with an overlong encoding
	f.Add(cursor{sessionList, 1 << 60, "id"}.encode(), int64(1<<62), "\xff")
	f.Fuzz(func(t *testing.T, text string, n int64, id string) {
		start := cursor{list: sessionList, n: 7}
		if _, err := decodeCursor(text, start); err != nil {
			wantError(t, err, ErrCursor)
		} else if strings.ContainsAny(text, "\r\n") {
			t.Errorf("%q is a cursor", text)
		}
		want := cursor{sessionList, n, id}
		got, err := decodeCursor(want.encode(), start)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "cursor", got, want)
		_, err = decodeCursor(want.encode(), cursor{list: hitList})
		wantError(t, err, ErrCursor)
	})
}

func TestSessionsInPages(t *testing.T) {
	s := openTest(t, "", Options{})
	var want []string
	for i := range 12 {
		ch := createSession(fmt.Sprintf("sess_%02d", i))
		ch.Create.UpdatedAt = epoch.Add(time.Duration(i/3) * time.Minute) // some at the same time
		if i%4 == 0 {
			ch.Create.CWD = "/elsewhere"
		}
		commit(t, s, ch)
		want = append(want, ch.Session)
	}
	slices.Reverse(want)
	equal(t, "all", sessionPages(t, s, SessionQuery{Limit: 5}), want)
	equal(t, "of a folder", sessionPages(t, s, SessionQuery{Folders: []string{"/elsewhere"}, Limit: 1}), []string{"sess_08", "sess_04", "sess_00"})
	equal(t, "deleted", deletedPages(t, s, 0), []string(nil))
	_, _, err := s.Sessions(ctx, SessionQuery{Cursor: "!"})
	wantError(t, err, ErrCursor)
}

func sessionPages(t *testing.T, s *Store, q SessionQuery) (ids []string) {
	t.Helper()
	for {
		list, next, err := s.Sessions(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, session := range list {
			ids = append(ids, session.ID)
		}
		if q.Cursor = next; next == "" {
			return ids
		}
	}
}

func TestPageLimit(t *testing.T) {
	for n, want := range map[int]int{-1: defaultLimit, 0: defaultLimit, 1: 1, maxLimit: maxLimit, maxLimit + 1: maxLimit} {
		equal(t, fmt.Sprint(n), pageLimit(n), want)
	}
}
