package documents

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/session/profile"
)

func TestDocumentsAreByName(t *testing.T) {
	all := []history.Document{{Name: "b", Text: "1"}}
	more := With(With(all, history.Document{Name: "a"}), history.Document{Name: "b", Text: "2"})
	if len(all) != 1 || all[0].Text != "1" {
		t.Errorf("the list was changed: %+v", all)
	}
	if len(more) != 2 || more[0].Name != "a" || more[1].Text != "2" || Find(more, "b") != 1 || Find(more, "c") != -1 {
		t.Errorf("%+v", more)
	}
	if less := Without(more, "a"); len(less) != 1 || less[0].Name != "b" || len(more) != 2 {
		t.Errorf("%+v of %+v", less, more)
	}
}

func TestHasWord(t *testing.T) {
	for _, tc := range []struct {
		text, word string
		want       bool
	}{
		{"the parser fails", "parser", true}, {"parser", "parser", true}, {"the parsers fail, parser", "parser", true},
		{"the parsers fail", "parser", false}, {"my_parser", "parser", false}, {"éparser", "parser", false}, {"(parser)", "parser", true},
		{"", "parser", false}, {"x", "", false}, {"aaa", "a", false}, {"a-a", "a", true},
	} {
		if hasWord(tc.text, tc.word) != tc.want {
			t.Errorf("%q in %q: %v", tc.word, tc.text, !tc.want)
		}
	}
}

// The names of failed tests name units in the ways of test frameworks.
func TestP14FailedTestsNameUnits(t *testing.T) {
	for _, tc := range []struct {
		text, word string
		want       bool
	}{
		{"TestU3Something", "u3", true}, {"U2 handles lists", "u2", true}, {"u2: handles lists", "U2", true},
		{"TestU31Something", "u3", false}, {"TestMenu3Something", "u3", false}, {"testU3", "u3", true}, {"TestURL", "rl", false},
		{"ParserTest fails", "parser", true}, {"ParsersTest fails", "parser", false}, {"TestÄrger", "ärger", true},
	} {
		if hasWord(tc.text, tc.word) != tc.want {
			t.Errorf("%q names %q: %v", tc.text, tc.word, !tc.want)
		}
	}
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	phased := all["phased"]
	phase, _ := phased.Phase("testing")
	docs := []history.Document{
		{Name: Failures, Text: failuresText([]Failure{{Name: "TestU3Something", Error: "wrong"}, {Name: "U2 handles lists", Error: "wrong"}})},
		{Name: "u1", Status: StatusApproved, Implementation: "one", Order: 1}, {Name: "u2", Status: StatusApproved, Implementation: "two", Order: 2},
		{Name: "u3", Status: "draft", Implementation: "three", Order: 3},
	}
	units := EarlierUnits(docs, &phase)
	if len(units) != 2 || units[0].Name != "u3" || units[1].Name != "u2" {
		t.Errorf("the failures bring %+v", units)
	}
}

func TestFailuresText(t *testing.T) {
	got := failuresText([]Failure{
		{Name: "adds\nnumbers", Error: "wrong sum", Expected: "3", Received: "4", Stack: "at add (a.go:1)\nat main (b.go:2)\n"},
		{Name: "panics", Error: " "},
	})
	want := "## adds numbers\n\nError: wrong sum\nExpected: 3\nReceived: 4\nStack:\nat add (a.go:1)\nat main (b.go:2)\n\n## panics\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresAreChecked(t *testing.T) {
	long := strings.Repeat("x", maxFailureBytes)
	many := slices.Repeat([]Failure{{Name: "a"}}, MaxFailures+1)
	for name, tc := range map[string]struct {
		req Request
		err string
	}{
		"fine":         {Request{Name: "failures", Failures: many[:MaxFailures]}, ""},
		"other name":   {Request{Name: "own", Failures: many[:1]}, `only the document "failures"`},
		"and a text":   {Request{Name: "failures", Text: "x", Failures: many[:1]}, "instead of a text"},
		"too many":     {Request{Name: "failures", Failures: many}, "failures: 201 exceeds the limit of 200"},
		"no name":      {Request{Name: "failures", Failures: []Failure{{Name: "a"}, {Error: "x"}}}, "failures[1]: name is missing"},
		"too long":     {Request{Name: "failures", Failures: []Failure{{Name: "a", Stack: long + "x"}}}, "failures[0]: a text of 65537 bytes exceeds"},
		"all too long": {Request{Name: "failures", Failures: slices.Repeat([]Failure{{Name: "a", Stack: long}}, 16)}, "failures: 1048"},
		"long path":    {Request{Name: "u", Path: strings.Repeat("x", maxPath+1)}, "path: 4097 bytes exceeds the limit of 4096"},
		"much code":    {Request{Name: "u", Implementation: strings.Repeat("x", MaxBytes+1)}, "implementation: 1048577 bytes"},
	} {
		_, err := New(tc.req, nil)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", name, err, tc.err)
		}
	}
}

func TestTheBytesOfUnitsAreBounded(t *testing.T) {
	var all []history.Document
	for i := range MaxTotal / MaxBytes {
		all = With(all, history.Document{Name: fmt.Sprint("u", i), Implementation: strings.Repeat("x", MaxBytes)})
	}
	if _, err := New(Request{Name: "u0", Implementation: "x"}, all); err != nil {
		t.Errorf("a document that gets shorter: %v", err)
	}
	if _, err := New(Request{Name: "one more", Implementation: "x"}, all); err == nil {
		t.Error("the session accepts more documents than the limit")
	}
}
