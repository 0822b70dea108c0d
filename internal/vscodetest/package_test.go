package vscodetest

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"strata/internal/version"
)

// contents matches the files of the package; each pattern matches at least one of them.
var contents = []string{
	`\[Content_Types\]\.xml`, `extension\.vsixmanifest`,
	`extension/LICENSE\.txt`, `extension/readme\.md`, `extension/package\.json`, `extension/package\.nls\.json`,
	`extension/l10n/bundle\.l10n\.json`, `extension/media/[\w/-]+\.(svg|png)`,
	`extension/dist/NOTICE\.txt`, `extension/dist/install\.md`, `extension/dist/(desktop|web)\.js`, `extension/dist/view/[\w-]+\.(js|css)`,
}

// elsewhere matches a picture or a link that leads out of a text, but for web addresses.
var elsewhere = regexp.MustCompile(`<picture>|<img|\]\((?:[^h#]|h[^t]).*?\)`)

// tree makes a copy of the sources of the extension, with their packages, and returns its folder.
func tree(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	for _, folder := range []string{"client", "hud", "vscode"} {
		web := filepath.Join(top, "web", folder)
		if err := os.CopyFS(web, withoutPackages{os.DirFS(filepath.Join("../../web", folder))}); err != nil {
			t.Fatal(err)
		}
		if folder == "client" {
			continue
		}
		packages, err := packagesOf(folder)
		if err == nil {
			err = os.Symlink(packages, filepath.Join(web, "node_modules"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	license, err := os.ReadFile("../../LICENSE")
	if err == nil {
		err = os.WriteFile(filepath.Join(top, "LICENSE"), license, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(top, "web", "vscode")
}

// withoutPackages are the files of a folder without those that npm or a build has made.
type withoutPackages struct{ fs.FS }

func (w withoutPackages) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "node_modules" || e.Name() == "dist" }), err
}

// TestTypes checks the types of the sources, of the pages and of the tests.
func TestTypes(t *testing.T) {
	t.Parallel()
	run(t, tree(t), "npm", "run", "--silent", "check")
}

// TestPackage: `make vsix` always makes the same package of the same sources.
func TestPackage(t *testing.T) {
	t.Parallel()
	packages := [2][]byte{pack(t), pack(t)}
	if !bytes.Equal(packages[0], packages[1]) {
		t.Error("two packages of the same sources differ")
	}
	archive, err := zip.NewReader(bytes.NewReader(packages[0]), int64(len(packages[0])))
	if err != nil {
		t.Fatal(err)
	}
	unmatched := map[string]bool{}
	for _, pattern := range contents {
		unmatched[pattern] = true
	}
	for _, file := range archive.File {
		known := false
		for _, pattern := range contents {
			if regexp.MustCompile("^" + pattern + "$").MatchString(file.Name) {
				known = true
				delete(unmatched, pattern)
			}
		}
		if !known {
			t.Errorf("the package contains %s", file.Name)
		}
	}
	for pattern := range unmatched {
		t.Errorf("the package contains no %s", pattern)
	}
	notice := content(t, archive, "extension/dist/NOTICE.txt")
	for _, name := range []string{"preact", "@preact/signals", "dompurify", "highlight.js", "marked"} {
		if !strings.Contains(notice, "\n"+name+" ") {
			t.Errorf("the notice has no license of %s", name)
		}
	}
	// VS Code shows no pictures of a package, and its relative links lead nowhere.
	if found := elsewhere.FindString(content(t, archive, "extension/readme.md")); found != "" {
		t.Errorf("the README of the package contains %s", found)
	}
	opened := regexp.MustCompile(`showPreview', vscode\.Uri\.joinPath\(this\.#extension, (.+?)\)`).FindStringSubmatch(read(t, filepath.Join(sources, "src", "server", "remedies.ts")))
	if len(opened) == 0 {
		t.Fatal("src/server/remedies.ts opens no file that says how to install")
	}
	steps := content(t, archive, "extension/"+strings.NewReplacer("'", "", ", ", "/").Replace(opened[1]))
	if !strings.Contains(steps, "\ncode --install-extension bin/strata.vsix\n") || elsewhere.MatchString(steps) {
		t.Errorf("the steps of the installation are %s", steps)
	}
	var manifest struct{ Version string }
	if err := json.Unmarshal([]byte(content(t, archive, "extension/package.json")), &manifest); err != nil || manifest.Version != version.Release {
		t.Errorf("the package has version %q, internal/version %q (%v)", manifest.Version, version.Release, err)
	}
}

// pack builds the extension and returns its package.
func pack(t *testing.T) []byte {
	t.Helper()
	dir := tree(t)
	if err := build(filepath.Join(dir, "dist")); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "strata.vsix")
	run(t, dir, filepath.Join(dir, "pack"), out)
	made, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func content(t *testing.T, archive *zip.Reader, name string) string {
	t.Helper()
	file, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestVersionsAgree compares the versions in all files.
func TestVersionsAgree(t *testing.T) {
	t.Parallel()
	var lock struct {
		Version  string
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(sources, "package-lock.json"))), &lock); err != nil {
		t.Fatal(err)
	}
	source := regexp.MustCompile(`(?m)^export const VERSION = '(.+)';$`).FindStringSubmatch(read(t, filepath.Join(sources, "src", "version.ts")))
	if len(source) == 0 {
		t.Fatal("src/version.ts has no version")
	}
	for place, got := range map[string]string{"package-lock.json": lock.Version, "package-lock.json, packages": lock.Packages[""].Version, "src/version.ts": source[1]} {
		if got != version.Release {
			t.Errorf("%s has version %q, internal/version %q", place, got, version.Release)
		}
	}
}
