package content

import (
	"strings"
	"testing"
	"unicode/utf8"

	"strata/history"
)

func TestTitles(t *testing.T) {
	long := "Explain how the tokenizer splits long runs of spaces and why it is bounded by design"
	for words, want := range map[string]string{
		"Fix the bug":                  "Fix the bug",
		"\n\n  # Fix\tthe \r bug \nin": "Fix the bug",
		"---\n***\nwhat is this?":      "what is this?",
		"> quoted":                     "quoted",
		long:                           "Explain how the tokenizer splits long runs of spaces and…",
		strings.Repeat("x", 100):       strings.Repeat("x", 59) + "…",
		strings.Repeat("ü", 61):        strings.Repeat("ü", 59) + "…",
		strings.Repeat("ü", 60):        strings.Repeat("ü", 60),
		"":                             "Untitled",
		"!?\n\t":                       "Untitled",
		"a\x00b\x1b[31mc\ufffd":        "a b [31mc",
		"漢字だけ":                         "漢字だけ",
		"42":                           "42",
	} {
		m := history.Message{Blocks: []history.Block{text(words)}}
		if got := Title(&m); got != want {
			t.Errorf("%q becomes %q, want %q", words, got, want)
		}
	}
}

func TestTitlesOfPromptsWithoutWords(t *testing.T) {
	m := history.Message{Blocks: []history.Block{
		{Type: history.BlockImage, Data: []byte{1}}, {Type: history.BlockLink, URI: "file:///a", Name: "the file\na.go"},
	}}
	if got := Title(&m); got != "the file a.go" {
		t.Errorf("%q", got)
	}
	m.Blocks = m.Blocks[:1]
	if got := Title(&m); got != "Untitled" {
		t.Errorf("%q", got)
	}
	m.Blocks = []history.Block{{Type: history.BlockLink, Name: "\x00\n"}}
	if got := Title(&m); got != "Untitled" {
		t.Errorf("a name without words becomes %q", got)
	}
}

func FuzzTitle(f *testing.F) {
	f.Add("Fix the bug\n", 60)
	f.Add(strings.Repeat("wide ", 100), 7)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 2 + (limit&0xff)%200
		title := TidyTitle(text, limit)
		if !utf8.ValidString(title) || utf8.RuneCountInString(title) > limit || strings.ContainsAny(title, "\n\r\t\x00") || strings.TrimSpace(title) != title {
			t.Errorf("%q becomes %q", text, title)
		}
	})
}

func text(words string) history.Block { return history.Block{Type: history.BlockText, Text: words} }
