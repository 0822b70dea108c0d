package fulltext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 1<<20), strings.Repeat("漢", 1<<20), strings.Repeat("é ", 1<<20)} {
		got := Searchable(text)
		if len(got) > TextBytes || len(got) < TextBytes-8 || !utf8.ValidString(got) {
			t.Errorf("%d bytes of %q…", len(got), text[:4])
		}
	}
}

func TestQueryIsBounded(t *testing.T) {
	long := strings.Repeat("word ", 10_000)
	if n := len(terms(long)); n != queryTerms {
		t.Errorf("%d terms", n)
	}
	if n := len(Query(strings.Repeat("漢", 10_000))); n > 3*queryBytes {
		t.Errorf("query of %d bytes", n)
	}
}

// A message is found by each of its words.
func FuzzSearchable(f *testing.F) {
	for _, seed := range []string{"plain words", "漢字 kanji", "a\x00b", "\xff\xfe", "x\u200by", "한국어", "e\u0301", "ǅ", "İ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Searchable(text)
		if !utf8.ValidString(got) || len(got) > TextBytes || strings.ContainsAny(got, "\x00\x02\x03") {
			t.Fatalf("Searchable(%q) = %q", text, got)
		}
		if again := Searchable(got); again != got {
			t.Fatalf("searchable twice: %q, then %q", got, again)
		}
	})
}
