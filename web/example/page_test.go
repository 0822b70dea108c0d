package example_test

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"strata/internal/hudtest"
	"strata/internal/npm"
)

func TestMain(m *testing.M) { hudtest.Main(m) }

// maxLines and maxWidth are the limits of the page, which authors of plugins read as a whole.
const (
	maxLines = 200
	maxWidth = 130
)

func TestPageIsShort(t *testing.T) {
	lines := 0
	for _, name := range []string{"index.html", "main.ts"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			lines++
			if width := len([]rune(strings.TrimSuffix(line, "\n"))); width > maxWidth {
				t.Errorf("%s: a line has %d characters, more than %d: %s", name, width, maxWidth, line)
			}
		}
	}
	if lines > maxLines {
		t.Errorf("the page has %d lines, more than %d", lines, maxLines)
	}
}

//go:embed package.json package-lock.json
var packages embed.FS

// installed installs the packages of the page and returns their folder.
var installed = sync.OnceValues(func() (string, error) {
	dir, err := npm.Packages{Name: "example", Files: packages, Command: "ci"}.Install(context.Background())
	return filepath.Join(dir, "node_modules"), err
})

// built bundles the page and returns the folder of the bundle.
var built = sync.OnceValues(func() (string, error) {
	modules, err := installed()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "strata-example-")
	if err != nil {
		return "", err
	}
	build := exec.Command("./build", dir)
	build.Env = append(os.Environ(), "NODE_PATH="+modules)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the page: %w\n%s", err, out)
	}
	return dir, nil
})

// TestTypes checks the types of the page in a copy of its folder with its packages.
func TestTypes(t *testing.T) {
	t.Parallel()
	modules, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	client, err := filepath.Abs("../client")
	if err != nil {
		t.Fatal(err)
	}
	web := t.TempDir()
	dir := filepath.Join(web, "example")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{filepath.Join(web, "client"): client, filepath.Join(dir, "node_modules"): modules} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"main.ts", "project.ts", "tsconfig.json"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "tsc"), "--project", dir)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}
