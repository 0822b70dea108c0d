package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"strata/cmd/strata/internal/cli"
	release "strata/internal/version"
)

var manFolder = flag.String("man", "", "write the man pages to this folder, with the date of SOURCE_DATE_EPOCH")

// TestManPages makes the man pages of all commands, so that the program does not contain the generator. Two runs make the
// same pages.
func TestManPages(t *testing.T) {
	folder := *manFolder
	if folder == "" {
		folder = t.TempDir()
	}
	date := time.Unix(epoch(t), 0).UTC()
	writePages(t, folder, date)
	again := t.TempDir()
	writePages(t, again, date)
	count := 0
	for _, path := range commandPaths(newRoot(manProcess())) {
		name := strings.ReplaceAll(path, " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		count++
		for _, want := range []string{".TH", ".SH NAME", `"Strata ` + release.Release + `"`} {
			if !bytes.Contains(page, []byte(want)) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		if other, err := os.ReadFile(filepath.Join(again, name)); err != nil || !bytes.Equal(page, other) {
			t.Errorf("%s differs after another run, %v", name, err)
		}
		if home, err := os.UserHomeDir(); err == nil && home != "/" && bytes.Contains(page, []byte(home+"/")) {
			t.Errorf("%s contains the path of this user's home", name)
		}
	}
	if count < 30 {
		t.Errorf("%d pages", count)
	}
}

func epoch(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("SOURCE_DATE_EPOCH: %v", err)
	}
	return n
}

func manProcess() *cli.Process {
	return &cli.Process{Stdin: strings.NewReader(""), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), Getenv: func(string) string { return "" }}
}

func writePages(t *testing.T, folder string, date time.Time) {
	t.Helper()
	root := newRoot(manProcess())
	root.DisableAutoGenTag = true // it contains the date of today
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "Strata " + release.Release, Manual: "Strata"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		t.Fatal(err)
	}
}

// commandPaths returns the paths of the commands that have pages: help topics have none.
func commandPaths(cmd *cobra.Command) []string {
	paths := []string{cmd.CommandPath()}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			paths = append(paths, commandPaths(c)...)
		}
	}
	return paths
}
