package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"strata/cmd/strata/internal/cli"
)

// stable lists the names that docs/support.md promises to keep, one a line.
const stable = "testdata/stable.txt"

// TestStableNamesStay: each listed name still exists, and each name is listed. -update adds new names. A name may be removed
// from the list only as docs/support.md says.
func TestStableNamesStay(t *testing.T) {
	text, err := os.ReadFile(stable)
	if err != nil {
		t.Fatal(err)
	}
	promised := strings.Split(strings.TrimSpace(string(text)), "\n")
	names := stableNames(t)
	for _, name := range promised {
		if !slices.Contains(names, name) {
			t.Errorf("%q is gone, but docs/support.md promises to keep it", name)
		}
	}
	var added []string
	for _, name := range names {
		if !slices.Contains(promised, name) {
			added = append(added, name)
		}
	}
	switch {
	case len(added) > 0 && *update:
		all := slices.Sorted(slices.Values(append(promised, added...)))
		if err := os.WriteFile(stable, []byte(strings.Join(all, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	case len(added) > 0:
		t.Errorf("%s does not contain %q: run with -update", stable, added)
	case !slices.IsSorted(promised):
		t.Errorf("%s is not sorted", stable)
	}
}

func stableNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, code := range cli.ExitCodes {
		names = append(names, fmt.Sprintf("exit code %d", code.Code))
	}
	names = append(names, commandNames(newRoot(manProcess()))...)
	names = append(names, quotedNames(t, "key", "../../docs/configuration.md", regexp.MustCompile("(?m)^\\| `([a-zA-Z_./]+)` \\| .* \\| .* \\| .* \\|$"))...)
	names = append(names, quotedNames(t, "method", "../../docs/protocol.md", regexp.MustCompile("(?m)^#+ .*`([_$a-z][a-z_]*(?:/[a-z_]+)*)`"))...)
	for _, file := range []string{"index", "node"} {
		names = append(names, exportedNames(t, "../../web/client/src/"+file+".ts")...)
	}
	return append(names, extensionNames(t)...)
}

// commandNames returns the commands with their flags. Hidden ones are for the program itself.
func commandNames(cmd *cobra.Command) (names []string) {
	names = append(names, "command "+cmd.CommandPath())
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "flag "+cmd.CommandPath()+" --"+f.Name)
		}
	})
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, commandNames(c)...)
		}
	}
	return names
}

// quotedNames returns what the first group of a pattern matches in a document that another test compares with the code.
func quotedNames(t *testing.T, kind, path string, pattern *regexp.Regexp) (names []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range pattern.FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(found[1], "_strata/debug/") || found[1] == "server.json" {
			continue // for tests; a file, in another table
		}
		names = append(names, kind+" "+found[1])
	}
	if len(names) == 0 {
		t.Fatalf("%s names no %s", path, kind)
	}
	return names
}

var exports = regexp.MustCompile(`(?m)^export (?:type )?\{ (.*) \} from`)

// exportedNames returns the names that a module of the client library exports. Its types are listed in other modules.
func exportedNames(t *testing.T, path string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range exports.FindAllStringSubmatch(string(text), -1) {
		for name := range strings.SplitSeq(found[1], ", ") {
			names = append(names, "export "+name)
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s exports nothing", path)
	}
	return names
}

// extensionNames returns the settings and commands of the extension for VS Code.
func extensionNames(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../../web/vscode/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Contributes struct {
			Commands      []struct{ Command string }
			Configuration struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	for setting := range maps.Keys(manifest.Contributes.Configuration.Properties) {
		names = append(names, "setting "+setting)
	}
	for _, c := range manifest.Contributes.Commands {
		names = append(names, "editor command "+c.Command)
	}
	if len(names) == 0 {
		t.Fatal("the extension has neither settings nor commands")
	}
	return names
}
