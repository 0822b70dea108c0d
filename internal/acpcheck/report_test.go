package acpcheck

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	report, err := parse("# acp-check\nok   initialize  -- v1 strata\r\nFAIL cancel  -- end_turn  -- late\nskip session/fork\n" +
		"okay is no status\n    at stack (file.mjs)\n# 1 ok, 1 FAIL, 1 skip\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Check{{OK, "initialize", "v1 strata"}, {Fail, "cancel", "end_turn  -- late"}, {Skip, "session/fork", ""}}
	if diff := cmp.Diff(want, report.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:2], report.With(Fail)); diff != "" {
		t.Errorf("failed checks (-want +got):\n%s", diff)
	}
	if got := want[1].String(); got != "FAIL cancel  -- end_turn  -- late" {
		t.Errorf("printed as %q", got)
	}
}

func TestParseNoticesACrash(t *testing.T) {
	for _, output := range []string{
		"",
		"ok   initialize\n",
		"ok   initialize\n# 2 ok, 0 FAIL, 0 skip\n",
		"FAIL initialize\n# 1 ok, 0 FAIL, 0 skip\n",
	} {
		if report, err := parse(output); err == nil {
			t.Errorf("parse(%q) = %v, want an error", output, report.Checks)
		}
	}
}

func TestRunWantsTheExitStatusToAgree(t *testing.T) {
	tests := []struct {
		name, script string
		fails        bool
	}{
		{"passed", `console.log("ok   a\n# 1 ok, 0 FAIL, 0 skip")`, false},
		{"failed", `console.log("FAIL a\n# 0 ok, 1 FAIL, 0 skip"); process.exit(1)`, false},
		{"failed and lies", `console.log("FAIL a\n# 0 ok, 1 FAIL, 0 skip")`, true},
		{"passed and crashed", `console.log("ok   a\n# 1 ok, 0 FAIL, 0 skip"); process.exit(3)`, true},
		{"crashed", `throw new Error("crash")`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "check.mjs"), []byte(tt.script), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Run(t.Context(), dir, "check.mjs"); (err != nil) != tt.fails {
				t.Errorf("Run = %v, want an error: %v", err, tt.fails)
			}
		})
	}
}
