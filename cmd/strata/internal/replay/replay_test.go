package replay

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/cmd/strata/internal/cli"
)

// The bill compares the layouts, unless one is named.
func TestTheBillOfOneLayoutOrOfAll(t *testing.T) {
	traces, err := filepath.Glob("../../../../internal/replay/testdata/train/*.jsonl")
	if err != nil || len(traces) == 0 {
		t.Fatalf("no traces, %v", err)
	}
	folder := t.TempDir()
	trace, err := os.ReadFile(traces[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.jsonl"), trace, 0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"": "log ripple ripple-unclustered", "--layout=ripple": "ripple", "--layout=log": "log",
		"--layout=ripple-unclustered": "ripple-unclustered",
	} {
		var out bytes.Buffer
		cmd := Command(&cli.Process{Stdout: &out, Stderr: io.Discard})
		cmd.SetArgs(append(strings.Fields(flags), "--bill", folder))
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		var layouts []string
		for line := range strings.Lines(out.String()) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "layout" && (len(layouts) == 0 || layouts[len(layouts)-1] != name) {
				layouts = append(layouts, name)
			}
		}
		if got := strings.Join(layouts, " "); got != want {
			t.Errorf("%s: layouts %q\n%s", flags, got, &out)
		}
	}
}
