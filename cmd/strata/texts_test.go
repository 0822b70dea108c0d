package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"strata/cmd/strata/internal/cli"
)

// commandLine is a command in a text, between quotes of some kind or at the start of a line of code.
var commandLine = regexp.MustCompile("(?m)(?:[`“]|\\\\?\"|^(?:bin/)?)strata\\s((?:[a-z-]+\\s?)+)")

// Each command that the texts name exists, and does something.
func TestTextsNameCommandsThatExist(t *testing.T) {
	root := newRoot(&cli.Process{Getenv: func(string) string { return "" }})
	root.InitDefaultCompletionCmd()
	named := 0
	for _, pattern := range []string{
		"README.md", "docs/*.md", "web/*/README.md", "web/vscode/package.nls.json", "web/vscode/l10n/*.json", "web/hud/src/connect/editors.ts", "web/example/index.html",
	} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is called %s (%v)", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range commandLine.FindAllStringSubmatch(string(text), -1) {
				named++
				command, rest, err := root.Find(strings.Fields(line[1]))
				wantsHelp := slices.Equal(rest, []string{"--help"})
				if err != nil || command == root || command.HasSubCommands() && !wantsHelp {
					t.Errorf("%s names the command %q (%v)", file, "strata "+line[1], err)
				}
				for _, word := range rest {
					name, isFlag := strings.CutPrefix(word, "--")
					if isFlag && command.Flag(name) == nil && !wantsHelp {
						t.Errorf("%s names the command %q, which has no such flag", file, "strata "+line[1])
					}
				}
			}
		}
	}
	if named < 40 {
		t.Errorf("the texts name %d commands", named)
	}
}
