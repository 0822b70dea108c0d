package architecture

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDependenciesAreThoseOfTheDocument(t *testing.T) {
	document, notice := text(t, "docs/dependencies.md"), text(t, "NOTICE")
	rows := dependenciesIn(document, inProgram, "In tests", "Tools")
	for _, fault := range dependencyFaults(rows, required(t), linked(t), noticesIn(notice)) {
		t.Error(fault)
	}
}

func text(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// required returns the modules that go.mod requires, directly or not.
func required(t *testing.T) []string {
	t.Helper()
	var mod struct{ Require []struct{ Path string } }
	if err := json.Unmarshal([]byte(goCommand(t, "", "mod", "edit", "-json")), &mod); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range mod.Require {
		paths = append(paths, r.Path)
	}
	if len(paths) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	return paths
}

// linked returns the modules with packages in the program, on any system.
func linked(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, system := range systems {
		out := goCommand(t, system, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./"+program)
		paths = append(paths, strings.Fields(out)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// goCommand runs the go command at the root of the tree, for a system or for this one, and returns its output.
func goCommand(t *testing.T, system string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = os.Environ()
	if system != "" {
		cmd.Env = append(cmd.Env, "GOOS="+system)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, complaints.String())
	}
	return string(out)
}

func TestDependencyFaults(t *testing.T) {
	document := strings.Join([]string{
		"| `example.org/none` | above all headings | MIT |",
		"## In the program", "",
		"| module | reason | size | license |", "|---|---|---|---|",
		"| `example.org/a` | does this, with `code` | 1 MB | MIT |",
		"| `example.org/b/v2` | does that | – | BSD-3-Clause; parts MIT |",
		"Not a row: `example.org/c` | MIT |",
		"## Tools", "",
		"| `example.org/tool` | checks | ISC |\r",
		"## Tried", "",
		"| `example.org/old` | too large | MIT |",
	}, "\n")
	notice := "Ours\n\n  example.org/a        MIT\n  example.org/b/v2     BSD-3-Clause; parts MIT\n  example.org/tool     ISC\n" +
		"  preact     MIT\n  and prose that is indented, see example.org/a  or so\n"
	required := []string{"example.org/a", "example.org/b/v2", "example.org/tool"}
	linked := required[:2]

	change := func(s, old, new string) string {
		if !strings.Contains(s, old) {
			t.Fatalf("%q is not there", old)
		}
		return strings.Replace(s, old, new, 1)
	}
	tests := []struct {
		name             string
		document, notice string
		required, linked []string
		want             []string
	}{
		{"as it is", document, notice, required, linked, nil},
		{"a new module", document, notice, append(slices.Clone(required), "example.org/new"), linked, []string{
			"example.org/new is required by go.mod, but has no row"}},
		{"a module that has gone", document, notice, required[:2], linked, []string{
			"example.org/tool has a row, but go.mod does not require it",
			"example.org/tool is in NOTICE, but go.mod does not require it"}},
		{"a tool that the program uses", document, notice, required, required, []string{
			`example.org/tool has its row below "Tools", and is linked into the program: true`}},
		{"a module that the program does not use any more", document, notice, required, required[:1], []string{
			`example.org/b/v2 has its row below "In the program", and is linked into the program: false`}},
		{"another license", change(document, "ISC", "MIT"), notice, required, linked, []string{
			`example.org/tool is under "MIT" by its row and "ISC" by NOTICE`}},
		{"no notice", document, change(notice, "example.org/a ", "elsewhere"), required, linked, []string{
			`example.org/a is under "MIT" by its row and "" by NOTICE`}},
		{"two rows", document + "\n## Tools\n| `example.org/tool` | again | ISC |", notice, required, linked, []string{
			"example.org/tool has two rows"}},
	}
	for _, tt := range tests {
		rows := dependenciesIn(tt.document, inProgram, "Tools")
		if diff := cmp.Diff(tt.want, dependencyFaults(rows, tt.required, tt.linked, noticesIn(tt.notice))); diff != "" {
			t.Errorf("%s: faults (-want +got):\n%s", tt.name, diff)
		}
	}
}
