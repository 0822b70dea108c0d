package token

import (
	"bytes"
	"strings"
	"testing"

	"strata/cmd/strata/internal/cli"
)

// A new token takes effect only where nothing overrides the file: the user is told.
func TestRotateTellsWhereTheOldTokenCounts(t *testing.T) {
	home := t.TempDir()
	for value, want := range map[string]string{"": "", strings.Repeat("0123456789abcdef", 4): "STRATA_TOKEN is set and overrides the token file.\n"} {
		var out, notes bytes.Buffer
		cmd := Command(&cli.Process{Stdout: &out, Stderr: &notes, Getenv: func(name string) string {
			return map[string]string{"HOME": home, "STRATA_TOKEN": value}[name]
		}})
		cmd.SetArgs([]string{"rotate"})
		if err := cmd.Execute(); err != nil || notes.String() != want || strings.TrimSpace(out.String()) == value {
			t.Errorf("%v: %q", err, &notes)
		}
	}
}
