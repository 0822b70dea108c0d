package loop

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"strata/history"
)

func TestProgressMarkers(t *testing.T) {
	many := strings.Repeat("<progress>x</progress>", maxMarkers+5)
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"none":                 {"nothing", nil},
		"one":                  {"a <progress>the parser\n  works</progress> b", []string{"the parser works"}},
		"several":              {"<progress>a</progress><progress>b</progress>", []string{"a", "b"}},
		"not closed":           {"<progress>a</progress> <progress>b", []string{"a"}},
		"not opened":           {"a</progress> <progress>b</progress>", []string{"b"}},
		"inside of each other": {"<progress>a <progress>b</progress> c</progress> <progress>d</progress>", []string{"b", "d"}},
		"empty":                {"<progress> \n </progress>", nil},
		"long":                 {"<progress>" + strings.Repeat("ä", 1_000_000) + "</progress>", []string{strings.Repeat("ä", maxMarkerChars-1) + "…"}},
		"too many":             {many, strings.Split(strings.TrimSuffix(strings.Repeat("x ", maxMarkers), " "), " ")},
		"only openings":        {strings.Repeat("<progress>", 100_000), nil},
		"only closings":        {strings.Repeat("</progress>", 100_000), nil},
	} {
		if diff := cmp.Diff(tc.want, progressMarkers(tc.text)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzProgressMarkers(f *testing.F) {
	f.Add("<progress>a <progress>b</progress> c</progress>")
	f.Fuzz(func(t *testing.T, text string) {
		markers := progressMarkers(text)
		if len(markers) > maxMarkers {
			t.Fatalf("%d markers", len(markers))
		}
		for _, m := range markers {
			if m == "" || utf8.RuneCountInString(m) > maxMarkerChars || strings.ContainsAny(m, "\n\t") {
				t.Fatalf("marker %q of %q", m, text)
			}
		}
	})
}

func TestThoughtsAndCallsOfAReplySayNothing(t *testing.T) {
	m := history.Message{Blocks: []history.Block{
		{Type: history.BlockThinking, Text: promiseKept}, text("one"),
		{Type: history.BlockToolCall, Name: "say", Args: `"` + promiseKept + `"`}, text("two"),
	}}
	if got := replyText(&m); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
}

func text(words string) history.Block { return history.Block{Type: history.BlockText, Text: words} }
