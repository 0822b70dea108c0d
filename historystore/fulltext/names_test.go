package fulltext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestNamesMatchAsOneTypes(t *testing.T) {
	const title, folder = "Café: fix the ParseConfig race", "/home/Zoë/strata-server"
	tests := []struct {
		query string
		rank  int
		marks []string // in the title, then in the folder
	}{
		{"cafe", startsTitle, []string{"Café"}},
		{"CAFÉ: F", startsTitle + startsWord, []string{"Café:", "f", "f"}},
		{"parse", startsWord, []string{"Parse"}},
		{"config", inTitle, []string{"Config"}},
		{"server", inFolderName, []string{"server"}},
		{"zoe", inFolder, []string{"Zoë"}},
		{"race zoe", startsWord + inFolder, []string{"race", "Zoë"}},
		{`"the parse"`, startsWord, []string{"the Parse"}},
		{`the" parse`, startsWord + inTitle, []string{"the Parse"}},
		{":", inTitle, []string{":"}},
		{"café missing", 0, nil},
		{"", 0, nil}, {`""`, 0, nil}, {"\x00", 0, nil}, {" \t", 0, nil},
		{"* OR NEAR(", 0, nil}, {"'; DROP TABLE", 0, nil}, {"%", 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			q := Names(tt.query)
			rank := q.Match(title, folder)
			if tt.marks == nil {
				if rank != 0 {
					t.Errorf("rank %d", rank)
				}
				return
			}
			var marks []string
			for _, text := range []string{title, folder} {
				for _, m := range q.Marks(text) {
					marks = append(marks, text[m.Start:m.End])
				}
			}
			if rank != tt.rank || !cmp.Equal(marks, tt.marks) {
				t.Errorf("rank %d, want %d; marks %q, want %q", rank, tt.rank, marks, tt.marks)
			}
		})
	}
}

// Accents that stand alone belong to the letter before them.
func TestMarksAreWholeCharacters(t *testing.T) {
	for text, want := range map[string]string{"the re\u0301sume\u0301": "re\u0301sume\u0301", "RÉSUMÉS": "RÉSUMÉ", "한글 resume": "resume"} {
		marks := Names("resume").Marks(text)
		if len(marks) != 1 || text[marks[0].Start:marks[0].End] != want {
			t.Errorf("%q: %v", text, marks)
		}
	}
}

// No query and no title fails, and each mark is a range of whole characters.
func FuzzNames(f *testing.F) {
	for _, seed := range [][2]string{{"a b", "A b"}, {`"a b`, "a b"}, {"é", "e\u0301"}, {"\xff", "a\xff"}, {"한", "한글"}, {"i", "İ"}, {"ss", "ß"}, {"\x00", "\x00"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, query, title string) {
		q := Names(query)
		matches, end := q.Match(title, "") > 0, 0
		marks := q.Marks(title)
		if matches != (len(marks) > 0) && !q.Empty() && len(q.terms) == 1 {
			t.Fatalf("%q in %q: %t with %d marks", query, title, matches, len(marks))
		}
		for _, m := range marks {
			if m.Start < end || m.End <= m.Start || m.End > len(title) {
				t.Fatalf("%q in %q: %v", query, title, marks)
			}
			if utf8.ValidString(title) && !utf8.ValidString(title[m.Start:m.End]) {
				t.Fatalf("%q in %q: half a character %v", query, title, marks)
			}
			end = m.End
		}
	})
}

func TestPhraseIsFoundLiterally(t *testing.T) {
	const text = "The **bold text** of `parse`() is\n  here; a * b, A_b_c ~x.\n```go\n**p = 1\n```\nCafé, cafe\u0301"
	for phrase, want := range map[string]int{
		"bold text": 1, "**bold": 1, "text of parse()": 1, "is here": 1, "is \n here": 1, "a * b": 1, "a_b_c": 1, "~x": 1,
		"**p": 1, "cafe": 2, "CAFÉ": 2, "ext": 1, "e": 7, "missing": 0, "": 0, " ": 0, "\n\t": 0, "\x00": 0, "(": 1,
	} {
		if got := NewPhrase(phrase).CountMarkdown(text); got != want {
			t.Errorf("%q: %d, want %d", phrase, got, want)
		}
	}
	if got := NewPhrase("bold text").Count("**bold** text"); got != 0 {
		t.Error("marks count in text that is not Markdown")
	}
}

func TestLongPhrasesAndTexts(t *testing.T) {
	long := strings.Repeat("é*", 1<<20)
	if got := NewPhrase(long).CountMarkdown(long); got != 1 {
		t.Errorf("%d", got)
	}
	if n := len(Names(strings.Repeat("word ", 10_000)).terms); n != queryTerms {
		t.Errorf("%d terms", n)
	}
}
