package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"strata/internal/hudtest"
	"strata/internal/version"
)

func TestMain(m *testing.M) { hudtest.Main(m) }

// TestClient builds the library in a copy of its folder and runs its tests with `node --test`. It needs node and npm,
// which `make test` installs.
func TestClient(t *testing.T) {
	dir := workingCopy(t)
	run(t, dir, nil, "npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
	t.Run("builds without the modules of these tests", func(t *testing.T) { run(t, dir, nil, "npm", "run", "--silent", "build") })
	writeExamples(t, filepath.Join(dir, "test"))
	writeReadmeExamples(t, filepath.Join(dir, "test"))
	tsc := filepath.Join(dir, "node_modules", ".bin", "tsc")
	run(t, dir, nil, tsc, "--build")
	t.Run("compiles for browsers", func(t *testing.T) { run(t, dir, nil, tsc, "--project", "tsconfig.browser.json") })
	t.Run("node without a WebSocket", func(t *testing.T) { runTests(t, dir, "--no-experimental-websocket") })
	t.Run("package", func(t *testing.T) { testPackage(t, dir) })
	t.Run("node with a native WebSocket", func(t *testing.T) { runTests(t, dir, "--experimental-websocket") })
}

// runTests runs the tests built in dir.
func runTests(t *testing.T, dir, flag string) {
	t.Helper()
	w := newWorld(t)
	files, err := filepath.Glob(filepath.Join(dir, "dist", "test", "*.test.js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests were built: %v", err)
	}
	args := []string{flag, "--test", "--test-concurrency=1", "--test-timeout=120000", "--test-reporter=spec"}
	w.serve(t, exec.CommandContext(t.Context(), "node", append(args, files...)...))
}

// workingCopy returns a copy of this folder without build results.
func workingCopy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", "tsconfig.browser.json", "tsconfig.cjs.json"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"src", "test"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if env != nil {
		cmd.Env = env
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v: make test installs node and npm", err)
	}
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
}

var readmeExample = regexp.MustCompile("(?s)```ts\n(.*?)```")

// readmeExamples are the examples in TypeScript of the README, in its order: the names of their modules, and the maximum numbers
// of their lines.
var readmeExamples = []struct {
	name     string
	maxLines int
}{{"readme-example", 25}, {"readme-terminal", 50}}

// writeReadmeExamples writes the examples in the README as modules.
func writeReadmeExamples(t *testing.T, dir string) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := readmeExample.FindAllSubmatch(readme, -1)
	if len(found) != len(readmeExamples) {
		t.Fatalf("README.md has %d examples in TypeScript, not %d", len(found), len(readmeExamples))
	}
	for i, example := range readmeExamples {
		if lines := strings.Count(string(found[i][1]), "\n"); lines > example.maxLines {
			t.Errorf("%s: %d lines, more than %d", example.name, lines, example.maxLines)
		}
		if err := os.WriteFile(filepath.Join(dir, example.name+".ts"), found[i][1], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVersionsAgree compares the versions in all files.
func TestVersionsAgree(t *testing.T) {
	var pack, lock struct {
		Version  string `json:"version"`
		Packages map[string]struct {
			Version string `json:"version"`
		} `json:"packages"`
	}
	readJSON(t, "package.json", &pack)
	readJSON(t, "package-lock.json", &lock)
	source, err := os.ReadFile(filepath.Join("src", "version.ts"))
	if err != nil {
		t.Fatal(err)
	}
	inSource := ""
	if m := regexp.MustCompile(`(?m)^export const VERSION = '(.+)';$`).FindSubmatch(source); m != nil {
		inSource = string(m[1])
	}
	for place, got := range map[string]string{
		"package.json": pack.Version, "package-lock.json": lock.Version, "package-lock.json, packages": lock.Packages[""].Version,
		"src/version.ts": inSource,
	} {
		if got != version.Release {
			t.Errorf("%s has version %q, internal/version %q", place, got, version.Release)
		}
	}
}

// TestLicenseIsThatOfTheRepository: npm packs only files of this folder.
func TestLicenseIsThatOfTheRepository(t *testing.T) {
	packed, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if own, err := os.ReadFile(filepath.Join("..", "..", "LICENSE")); err != nil || string(own) != string(packed) {
		t.Errorf("the license of the package is not that of the repository (%v)", err)
	}
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// ended returns the error of a finished command, nil on success.
func ended(ctx context.Context, cmd *exec.Cmd) error {
	err := cmd.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

var dynamicImport = regexp.MustCompile(`import\('\./(.+)\.js' as string\)`)

// TestBundlesForBrowsersHaveNoNodeModules: the module for Node is imported dynamically, and package.json excludes it from
// bundles.
func TestBundlesForBrowsersHaveNoNodeModules(t *testing.T) {
	var pack struct {
		Browser map[string]bool `json:"browser"`
	}
	readJSON(t, "package.json", &pack)
	sources, err := filepath.Glob(filepath.Join("src", "*.ts"))
	if err != nil {
		t.Fatal(err)
	}
	imports := 0
	for _, name := range sources {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range dynamicImport.FindAllSubmatch(source, -1) {
			imports++
			module := string(m[1])
			for _, path := range []string{"./src/" + module + ".ts", "./src/" + module + ".js", "./dist/src/" + module + ".js", "./dist/cjs/" + module + ".js"} {
				if taken, named := pack.Browser[path]; taken || !named {
					t.Errorf("package.json does not exclude %s for browsers, which %s imports", path, name)
				}
			}
		}
	}
	if imports != 1 {
		t.Errorf("%d dynamic imports, want only the WebSocket for Node", imports)
	}
}
