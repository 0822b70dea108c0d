package historystore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore/finding"
)

// titled creates a session that was updated n minutes after the epoch.
func titled(id, title, cwd string, n int) history.Change {
	ch := createSession(id)
	ch.Create.Title, ch.Create.CWD = title, cwd
	ch.Create.UpdatedAt = epoch.Add(time.Duration(n) * time.Minute)
	return ch
}

func found(t testing.TB, s *Store, q SessionSearch) (ids []string) {
	t.Helper()
	for {
		page, err := NewFinder(s).Sessions(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Sessions {
			ids = append(ids, f.ID)
		}
		if q.Cursor = page.Next; page.Next == "" {
			equal(t, "total", page.Total, len(ids))
			return ids
		}
	}
}

// Better matches are before worse ones, then newer ones before older ones, in pages without gaps or overlaps.
func TestSessionsAreFoundByTitleAndFolder(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s,
		titled("sess_a", "Config: load it", "/work" + "/app", 1), titled("sess_b", "Fix the config", "/work" + "/app", 2),
		titled("sess_c", "Fix reconfigure", "/work" + "/app", 9), titled("sess_d", "Other", "/work" + "/config", 3),
		titled("sess_e", "Other", "/config/app", 8), titled("sess_f", "Config again", "/work" + "/app", 4), titled("sess_g", "Nothing", "/work", 5),
		titled("sess_deleted", "Config", "/work" + "/app", 6), hiddenSession("sess_hidden"))
	if err := s.Delete(ctx, "sess_deleted", epoch); err != nil {
		t.Fatal(err)
	}
	all := []string{"sess_f", "sess_a", "sess_b", "sess_c", "sess_d", "sess_e"}
	for _, limit := range []int{0, 1, 2, 500} {
		equal(t, "sessions", found(t, s, SessionSearch{Query: "cÓnfig", Limit: limit}), all)
	}
	equal(t, "of folders", found(t, s, SessionSearch{Query: "config", Folders: []string{"/work" + "/config"}}), []string{"sess_d"})
	equal(t, "of no folder", found(t, s, SessionSearch{Query: "config", Folders: []string{}}), []string(nil))
	equal(t, "no query", found(t, s, SessionSearch{Query: ` "" `}), []string(nil))
	page, err := NewFinder(s).Sessions(ctx, SessionSearch{Query: "config wor", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "marks", fmt.Sprint(page.Sessions[0].TitleMarks, page.Sessions[0].FolderMarks, page.Total), "[{0 6}] [{1 4}] 5")
	for _, cursor := range []string{"AAAA", "é", cursor{hitList, 5, "12345678x"}.encode(), cursor{foundList, 5, "short"}.encode()} {
		_, err := NewFinder(s).Sessions(ctx, SessionSearch{Query: "config", Cursor: cursor})
		wantError(t, err, ErrCursor)
	}
}

// The messages of one session: also those of a fork, which are copies.
func TestSearchInOneSession(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), appendText("sess_a", 1, "needle"), createSession("sess_b"), appendText("sess_b", 1, "needle"))
	for _, id := range []string{"sess_a", "sess_b", "sess_none"} {
		hits := search(t, s, SearchQuery{Query: "needle", Session: id})
		equal(t, id, len(hits), map[bool]int{true: 1}[id != "sess_none"])
		for _, h := range hits {
			equal(t, "hit", fmt.Sprint(h.Session, h.Copies), id+"0")
		}
	}
}

// A text is found in all messages of a session, in pages that do not divide a message.
func TestFindInPages(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"), appendText("sess_b", 1, "needle"))
	want := []string(nil)
	for seq := int64(1); seq <= 30; seq++ {
		text := strings.Repeat("the needle ", int(seq%3))
		commit(t, s, appendText("sess_a", seq, text))
		if n := seq % 3; n > 0 {
			want = append(want, fmt.Sprint(seq, " ", n))
		}
	}
	for _, limit := range []int{0, 1, 7, MaxPlaces + 1} {
		var got []string
		for q := (PhraseQuery{Session: "sess_a", Text: "E NEED", Limit: limit}); ; {
			places, next, err := NewFinder(s).Text(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range places {
				got = append(got, fmt.Sprint(p.Seq, " ", p.Count))
			}
			if q.After = next; next == 0 {
				break
			}
		}
		equal(t, "places", got, want)
	}
	if err := s.Delete(ctx, "sess_b", epoch); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"sess_b", "sess_none"} {
		_, _, err := NewFinder(s).Text(ctx, PhraseQuery{Session: id, Text: "needle"})
		wantError(t, err, history.ErrNotFound)
	}
}

// After 32 MiB of messages a page ends, with what it has found.
func TestFindEndsAPageByBytes(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	for seq := range int64(6) {
		commit(t, s, appendText("sess_a", seq+1, strings.Repeat("x", 9<<20)+" needle"))
	}
	places, next, err := NewFinder(s).Text(ctx, PhraseQuery{Session: "sess_a", Text: "needle"})
	if err != nil || len(places) != 4 || next != 4 {
		t.Fatal(len(places), next, err)
	}
	places, next, err = NewFinder(s).Text(ctx, PhraseQuery{Session: "sess_a", Text: "needle", After: next})
	if err != nil || len(places) != 2 || next != 0 {
		t.Fatal(len(places), next, err)
	}
}

// A damaged message hides none of the others.
func TestFindSkipsDamagedMessages(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), appendText("sess_a", 1, "needle"), appendText("sess_a", 2, "needle"))
	err := s.write(ctx, "test", nil, func(tx *writeTx) error {
		return tx.must("UPDATE message SET body = ? WHERE seq = 1", []byte(`{"needle`))
	})
	if err != nil {
		t.Fatal(err)
	}
	places, _, err := NewFinder(s).Text(ctx, PhraseQuery{Session: "sess_a", Text: "needle"})
	if err != nil || len(places) != 1 || places[0].Seq != 2 {
		t.Fatal(places, err)
	}
}

// manySessions fills a store with 2,000 sessions in 40 folders and 100,000 messages.
func manySessions(b *testing.B) *Store {
	s := openTest(b, "", Options{})
	for i := range 2000 {
		id := fmt.Sprintf("sess_%04d", i)
		ch := titled(id, fmt.Sprintf("Session %d: refactor the parser of module %d", i, i%97), fmt.Sprintf("/home/me/projects/folder%d", i%40), i)
		for seq := range int64(50) {
			text := fmt.Sprintf("message %d of %s: the parser reads module%d and returns an error. ", seq, id, i%97)
			m := textMessage(seq+1, history.RoleUser, strings.Repeat(text, 10))
			m.At = m.At.Add(time.Duration(i) * time.Minute)
			ch.Messages = append(ch.Messages, m)
		}
		commit(b, s, ch)
	}
	catchUp(b, s)
	return s
}

// BenchmarkSearch2000 searches among 2,000 sessions with 100,000 messages.
func BenchmarkSearch2000(b *testing.B) {
	s := manySessions(b)
	for name, run := range map[string]func() error{
		"titles":   func() error { _, err := NewFinder(s).Sessions(ctx, SessionSearch{Query: "parser mod"}); return err },
		"no title": func() error { _, err := NewFinder(s).Sessions(ctx, SessionSearch{Query: "nowhere"}); return err },
		"messages": func() error { _, err := s.Search(ctx, SearchQuery{Query: "parser"}); return err },
		"in folder": func() error {
			_, err := s.Search(ctx, SearchQuery{Query: "parser", Folders: []string{"/home/me/projects/folder1"}})
			return err
		},
		"in session": func() error { _, err := s.Search(ctx, SearchQuery{Query: "parser", Session: "sess_0003"}); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFind finds a text in a session of 2,000 turns with 4 KB a message, all pages.
func BenchmarkFind(b *testing.B) {
	s := openTest(b, "", Options{})
	fillSession(b, s, "sess_a", 4000, 4<<10)
	for text, want := range map[string]int{"word3999 ": 1, "is one of": 4000} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				all, err := findAll(s, text)
				if err != nil || len(all) != want {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}

func findAll(s *Store, text string) (all []finding.Place, err error) {
	q := PhraseQuery{Session: "sess_a", Text: text, Limit: MaxPlaces}
	for {
		places, next, err := NewFinder(s).Text(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, places...)
		if q.After = next; next == 0 {
			return all, nil
		}
	}
}

// No text returns an error.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{"", `"`, "\x00", "\xff", "漢字", "a*b", "%_", "'; DROP TABLE message; --", "\u200b", " "} {
		f.Add(seed)
	}
	s := openTest(f, "", Options{})
	commit(f, s, createSession("sess_a"), appendText("sess_a", 1, "a*b text 漢字 `NEAR`\x00"))
	f.Fuzz(func(t *testing.T, text string) {
		places, next, err := NewFinder(s).Text(ctx, PhraseQuery{Session: "sess_a", Text: text})
		if err != nil || next != 0 || len(places) > 1 {
			t.Fatal(places, next, err)
		}
		if _, err := NewFinder(s).Sessions(ctx, SessionSearch{Query: text}); err != nil && !errors.Is(err, ErrCursor) {
			t.Fatal(err)
		}
	})
}
