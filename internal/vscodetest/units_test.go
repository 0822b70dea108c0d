package vscodetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// settingName matches the name of a setting in package.json.
var settingName = regexp.MustCompile(`"(strata\.[\w.]+)": \{ "type"`)

// TestUnits bundles the tests of the extension's parts that need no editor, or none with windows, and runs them with `node --test`.
func TestUnits(t *testing.T) {
	t.Parallel()
	tests, err := filepath.Glob(filepath.Join(sources, "test", "*.test.ts"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	dir := t.TempDir()
	editor, err := filepath.Abs(filepath.Join(sources, "test", "desktop", "vscode.ts"))
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"tool", "esbuild", "--alias:vscode=" + editor}, tests...)
	run(t, "", "go", append(args, "--bundle", "--platform=node", "--format=cjs", "--out-extension:.js=.cjs", "--log-level=warning", "--outdir="+dir)...)
	args = []string{"--test", "--test-timeout=60000"}
	for _, name := range tests {
		args = append(args, filepath.Join(dir, strings.TrimSuffix(filepath.Base(name), ".ts")+".cjs"))
	}
	run(t, sources, "node", args...)
}

// TestSettingsAreDescribed compares README.md with the settings of package.json.
func TestSettingsAreDescribed(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(sources, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(sources, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range settingName.FindAllSubmatch(manifest, -1) {
		if !strings.Contains(string(readme), "`"+string(name[1])+"`") {
			t.Errorf("README.md does not describe the setting %s", name[1])
		}
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}
