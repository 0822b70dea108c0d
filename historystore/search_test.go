package historystore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore/fulltext"
)

// catchUp returns when all messages are indexed.
func catchUp(t testing.TB, s *Store) {
	t.Helper()
	if err := s.completeIndex(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
}

func search(t testing.TB, s *Store, q SearchQuery) []Hit {
	t.Helper()
	catchUp(t, s)
	found, err := s.Search(ctx, q)
	if err != nil {
		t.Fatalf("query %q: %v", q.Query, err)
	}
	return found.Hits
}

func TestSearchFinds(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	const text = "The parseConfig function of ./cmd/strata/run.go reads max_input_tokens;\n" +
		"it returns ctx.Err() at http://127.0.0.1:7717. Ein Café in Zürich. 数据库连接失败。データベース 데이터베이스 k8s 漢"
	commit(t, s, appendText("sess_a", 1, text))
	tests := []struct {
		query string
		want  []string // the marked parts; nil: not found
	}{
		{"parseConfig", []string{"parseConfig"}},
		{"PARSECONFIG", []string{"parseConfig"}},
		{"parse", []string{"parseConfig"}},
		{`"parse"`, nil},
		{"pa", nil},
		{"Config", nil},
		{"max_input_tokens", []string{"max_input_tokens"}},
		{"input", []string{"input"}},
		{"max tokens", []string{"max", "tokens"}},
		{`"max tokens"`, nil},
		{"cmd/strata", []string{"cmd/strata"}},
		{"ctx.Err()", []string{"ctx.Err"}},
		{"127.0.0.1", []string{"127.0.0.1"}},
		{"cafe zurich", []string{"Café", "Zürich"}},
		{"of", []string{"of"}},
		{"数据", []string{"数据"}},
		{"据库", []string{"据库"}},
		{"连", []string{"连"}},
		{"数库", nil},
		{"ベース", []string{"ベース"}},
		{"베이", []string{"베이"}},
		{"漢", []string{"漢"}},
		{"k8s", []string{"k8s"}},
		{"parse missing", nil},
		{"", nil}, {" ", nil}, {"->", nil}, {`""`, nil}, {"👍", nil}, {"\x00", nil},
		{"-> parse ()", []string{"parseConfig"}},
		{`unbalanced "max`, nil},
		{`function "of`, []string{"function", "of"}},
		{"function AND", nil}, {"NOT function", nil}, {"text:function", nil},
		{"function*", []string{"function"}},
		{"parse\x00config", nil},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			var got []string
			for _, hit := range search(t, s, SearchQuery{Query: test.query}) {
				for _, m := range hit.Marks {
					got = append(got, hit.Snippet[m.Start:m.End])
				}
			}
			equal(t, "marks", got, test.want)
		})
	}
}

func TestSnippetIsPlainText(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"),
		appendText("sess_a", 1, strings.Repeat("before ", 100)+"<b>\x02find\u200bing\x03 \x02me\x03</b> \x1b[31m漢字"+strings.Repeat(" after", 100)))
	hits := search(t, s, SearchQuery{Query: "me"})
	if len(hits) != 1 || len(hits[0].Marks) != 1 {
		t.Fatalf("%+v", hits)
	}
	hit := hits[0]
	equal(t, "mark", hit.Snippet[hit.Marks[0].Start:hit.Marks[0].End], "me")
	for _, want := range []string{"<b> finding   me </b>  [31m漢字", "…"} {
		if !strings.Contains(hit.Snippet, want) {
			t.Errorf("%q does not contain %q", hit.Snippet, want)
		}
	}
	if strings.ContainsAny(hit.Snippet, "\x02\x03\x1b\u200b") || len(hit.Snippet) > 500 {
		t.Errorf("snippet %q", hit.Snippet)
	}
	equal(t, "session", [2]string{hit.Session, hit.Title}, [2]string{"sess_a", load(t, s, "sess_a").Session.Title})
	equal(t, "message", [2]string{hit.Message, string(hit.Role)}, [2]string{"msg_1", string(history.RoleUser)})
	equal(t, "place", hit.Seq, int64(1))
	equal(t, "time", hit.At, epoch.Add(time.Second))
}

// later returns a change whose messages are n hours later, so that they are no copies of those of other sessions.
func later(n int, ch history.Change) history.Change {
	for i := range ch.Messages {
		ch.Messages[i].At = ch.Messages[i].At.Add(time.Duration(n) * time.Hour)
	}
	return ch
}

// Forks and imports of a session are one hit with it: the original, with the number of copies.
func TestR10CopiesAreOneHit(t *testing.T) {
	s := openTest(t, "", Options{})
	const forks = 100
	commit(t, s, createSession("sess_original"), appendText("sess_original", 1, "the needle"), appendText("sess_original", 2, "another needle"))
	for i := range forks {
		id := fmt.Sprintf("sess_fork%03d", i)
		ch := createSession(id)
		if i%2 == 1 {
			ch.Create.CWD = "/elsewhere"
		}
		commit(t, s, ch, appendText(id, 1, "the needle"), appendText(id, 2, "another needle"))
	}
	commit(t, s, appendText("sess_fork007", 3, "a needle of the fork"), later(1, appendText("sess_fork008", 3, "a needle of the fork")))
	found := func(q SearchQuery) (all []string) {
		catchUp(t, s)
		for q.Query = "needle"; ; {
			page, err := s.Search(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, hit := range page.Hits {
				all = append(all, fmt.Sprint(hit.Session, " ", hit.Seq, " ", hit.Copies))
			}
			if q.Cursor = page.Next; page.Next == "" {
				return all
			}
		}
	}
	equal(t, "all", found(SearchQuery{Limit: 1}), []string{"sess_fork008 3 0", "sess_fork007 3 0", "sess_original 2 100", "sess_original 1 100"})
	equal(t, "of a folder", found(SearchQuery{Folders: []string{"/elsewhere"}}), []string{"sess_fork007 3 0", "sess_fork001 2 49", "sess_fork001 1 49"})
	if err := s.Delete(ctx, "sess_original", epoch); err != nil {
		t.Fatal(err)
	}
	equal(t, "without the original", found(SearchQuery{})[2:], []string{"sess_fork000 2 99", "sess_fork000 1 99"})
}

func TestSearchFiltersAndHides(t *testing.T) {
	s := openTest(t, "", Options{})
	for i, id := range []string{"sess_a", "sess_b", "sess_c"} {
		commit(t, s, createSession(id), later(i, beginTurn(id, 0)), later(i, endTurn(id, 0)))
	}
	elsewhere := createSession("sess_d")
	elsewhere.Create.CWD = "/elsewhere"
	commit(t, s, elsewhere, later(3, appendText("sess_d", 1, "question 0")), hiddenSession("sess_h"), later(4, appendText("sess_h", 2, "question 0")))
	if err := s.Delete(ctx, "sess_b", epoch); err != nil {
		t.Fatal(err)
	}
	sessions := func(q SearchQuery) (ids []string) {
		for _, hit := range search(t, s, q) {
			ids = append(ids, hit.Session)
		}
		return ids
	}
	equal(t, "all", sessions(SearchQuery{Query: "question"}), []string{"sess_d", "sess_c", "sess_a"})
	equal(t, "of a folder", sessions(SearchQuery{Query: "question", Folders: []string{"/none", "/work"}}), []string{"sess_c", "sess_a"})
	equal(t, "of a role", sessions(SearchQuery{Query: "0", Role: history.RoleAssistant}), []string{"sess_c", "sess_a"})
	equal(t, "of no folder", sessions(SearchQuery{Query: "question", Folders: []string{"/wor"}}), []string(nil))
	if err := s.ImportShow(ctx, "sess_h"); err != nil {
		t.Fatal(err)
	}
	if err := s.Undelete(ctx, "sess_b"); err != nil {
		t.Fatal(err)
	}
	equal(t, "all", sessions(SearchQuery{Query: "question"}), []string{"sess_h", "sess_d", "sess_c", "sess_b", "sess_a"})
}

// Pages have no overlaps or gaps, even if messages are added in between.
func TestSearchInPages(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	var want []int64
	for seq := int64(1); seq <= 25; seq++ {
		commit(t, s, appendText("sess_a", seq, strings.Repeat("word ", int(seq%4)+1)))
		want = append(want, seq)
	}
	slices.Reverse(want)
	var got []int64
	cursor := ""
	for n := int64(0); ; n++ {
		catchUp(t, s)
		page, err := s.Search(ctx, SearchQuery{Query: "word", Limit: 10, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range page.Hits {
			got = append(got, hit.Seq)
		}
		if cursor = page.Next; page.Next == "" {
			break
		}
		commit(t, s, appendText("sess_a", 100+n, "word"))
	}
	equal(t, "hits", got, want)
	_, err := s.Search(ctx, SearchQuery{Query: "word", Cursor: "AAAA"})
	wantError(t, err, ErrCursor)
}

func TestOnlyTheBeginningOfALongTextIsSearched(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), appendText("sess_a", 1, "begins "+strings.Repeat("long ", fulltext.TextBytes/5)+" ends"))
	equal(t, "begins", len(search(t, s, SearchQuery{Query: "begins"})), 1)
	equal(t, "ends", len(search(t, s, SearchQuery{Query: "ends"})), 0)
}

func TestLongQueryIsSearched(t *testing.T) {
	s := openTest(t, "", Options{})
	search(t, s, SearchQuery{Query: strings.Repeat("word ", 10_000)})
}

// No query returns an error.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{"", `"`, `""`, `a"b`, `"a`, "a*", "*", "a AND b", "NEAR(a b)", "^a", "text:a", "-a", "(a", "a)", "a+b", "{a}: b",
		"\x00", "a\x00b", "\xff", "漢字", "👍🏽", "'; DROP TABLE message; --", "a\u200bb", "\x02", strings.Repeat("a ", 3000)} {
		f.Add(seed)
	}
	s := openTest(f, "", Options{})
	commit(f, s, createSession("sess_a"), appendText("sess_a", 1, "a b text 漢字 NEAR AND"))
	f.Fuzz(func(t *testing.T, query string) {
		for _, hit := range search(t, s, SearchQuery{Query: query}) {
			for _, m := range hit.Marks {
				if m.Start < 0 || m.Start > m.End || m.End > len(hit.Snippet) {
					t.Fatalf("query %q: mark %+v in %q", query, m, hit.Snippet)
				}
			}
		}
	})
}
