package casecheck

import (
	_ "embed"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var (
	//go:embed testdata/cases.jsonl
	caseLines string
	//go:embed testdata/symptoms.tsv
	symptoms string
	//go:embed testdata/faults.tsv
	faultLines string

	update = flag.Bool("update", false, "write docs/cases.md")
)

const root = "../.."

// allCases returns the cases and the faults that were found by use.
func allCases(t *testing.T) []Case {
	t.Helper()
	cases, err := decodeCases(caseLines, symptoms)
	if err != nil {
		t.Fatal(err)
	}
	found, err := decodeFaults(faultLines)
	if err != nil {
		t.Fatal(err)
	}
	return append(cases, found...)
}

func TestCasesAreTestedAndTold(t *testing.T) {
	cases := allCases(t)
	tests, err := findTests(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults(cases, tests) {
		t.Error(fault)
	}

	path := filepath.Join(root, "docs", "cases.md")
	want := document(cases, tests)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("docs/cases.md is out of date, run go test ./internal/casecheck -update (-want +got):\n%s", diff)
	}
}

func TestEveryDueCaseExists(t *testing.T) {
	cases := allCases(t)
	known := make(map[string]bool)
	for _, c := range cases {
		known[c.ID] = true
		if kinds[c.Kind] == "" {
			t.Errorf("%s is of kind %d, which has no heading", c.ID, c.Kind)
		}
	}
	for _, id := range casesDue {
		if !known[id] {
			t.Errorf("%s is due but does not exist", id)
		}
	}
}

func TestFaultsAndDocument(t *testing.T) {
	cases, err := decodeCases(
		`{"id":"K6-01","kind":6}`+"\n"+`{"id":"K6-02","kind":6}`+"\n"+`{"id":"K7-01","kind":7}`+"\n"+`{"id":"K9-99","kind":9}`+"\n"+`{"id":"K2-01","kind":2}`+"\n",
		"K6-01\tTwo at once.\nK6-02\tStuck.\nK7-01\tClosed.\tthe HUD's own tests\nK9-99\tWrong.\nK2-01\tSlow.\n")
	if err != nil {
		t.Fatal(err)
	}
	found, err := decodeFaults("F11\tRefused.\nR99\tOpen.\n")
	if err != nil {
		t.Fatal(err)
	}
	cases = append(found, cases...)
	tests, err := findTests(fstest.MapFS{
		"llm/fault_test.go":            {Data: []byte("func TestF11SignedThinking(t *testing.T) {}\nfunc TestF99(t *testing.T) {}\nfunc TestFit(t *testing.T) {}\n")},
		"session/turn_test.go":         {Data: []byte("func TestK6_01_Second(t *testing.T) {}\nfunc TestK6_01First(t *testing.T) {}\nfunc TestOther(t *testing.T) {}\n")},
		"rpc/conn_test.go":             {Data: []byte("func TestK6_01(t *testing.T) {}\nfunc TestK6_99(t *testing.T) {}\n// func TestK6_02(t *testing.T) {}\n")},
		"rpc/conn.go":                  {Data: []byte("func TestK6_02(t *testing.T) {}\n")},
		"rpc/testdata/old_test.go":     {Data: []byte("func TestK6_02(t *testing.T) {}\n")},
		"web/node_modules/a/x_test.go": {Data: []byte("func TestK6_02(t *testing.T) {}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}

	wantFaults := []string{
		"K6-02 has no test named TestK6_02…: Stuck.",
		"K2-01 has no test named TestK2_01…: Slow.",
		"TestF99 in llm: unknown case F99",
		"TestK6_99 in rpc: unknown case K6-99",
	}
	if diff := cmp.Diff(wantFaults, faults(cases, tests)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}

	wantDocument := preface + `
## Streaming

| case | what must not happen | tested by |
|---|---|---|
| K6-01 | Two at once. | ` + "`rpc`: TestK6_01; `session`: TestK6_01First, TestK6_01_Second" + ` |

## WebSocket

| case | what must not happen | tested by |
|---|---|---|
| K7-01 | Closed. | the HUD's own tests |

## Found by use: providers, sessions, editors

| case | what must not happen | tested by |
|---|---|---|
| F11 | Refused. | ` + "`llm`: TestF11SignedThinking" + ` |
`
	if diff := cmp.Diff(wantDocument, document(cases, tests)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestDecodeFaultsRefuses(t *testing.T) {
	for _, lines := range []string{"F1\tShort.", "X01\tOf no kind.", "F01", "F01\t", "F01\tOne.\nF01\tAnother."} {
		if cases, err := decodeFaults(lines); err == nil {
			t.Errorf("%q: decoded as %v", lines, cases)
		}
	}
}

func TestDecodeCasesRefuses(t *testing.T) {
	tests := []struct{ name, lines, symptoms string }{
		{"no words", `{"id":"K6-01","kind":6}`, ""},
		{"words for no case", `{"id":"K6-01","kind":6}`, "K6-01\tTwo.\nK6-99\tWhat?\n"},
		{"no JSON", "K6-01", "K6-01\tTwo.\n"},
	}
	for _, tt := range tests {
		if cases, err := decodeCases(tt.lines, tt.symptoms); err == nil {
			t.Errorf("%s: decoded as %v", tt.name, cases)
		}
	}
}
