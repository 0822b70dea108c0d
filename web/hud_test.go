package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the checksum of the HUD's sources and build, as `make hud` does")

// hudSources are what the HUD is built from, and hudBuild what came of it. Patterns of folders hold all files below.
var (
	hudSources = []string{"hud/package-lock.json", "hud/tsconfig.json", "hud/src", "client/src"}
	hudBuild   = []string{"assets/hud*.js", "assets/hud*.css"}
)

// hudSum is where `make hud` writes the checksum of both.
const hudSum = "hud/build.sum"

func TestBuildOfTheHUDIsThatOfItsSources(t *testing.T) {
	sum := checksum(t, hudSources) + "  sources\n" + checksum(t, hudBuild) + "  build\n"
	if *update {
		if err := os.WriteFile(hudSum, []byte(sum), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(hudSum)
	if err != nil {
		t.Fatal(err)
	}
	if sum != string(recorded) {
		t.Errorf("the HUD's build is older than its sources, or was changed by hand: run `make hud`\nrecorded:\n%snow:\n%s", recorded, sum)
	}
}

func TestChecksumSeesEachChange(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[string]string)
	look := func(what string) {
		t.Helper()
		sum := checksum(t, []string{dir})
		if before, known := seen[sum]; known {
			t.Errorf("%s: the same as %s", what, before)
		}
		seen[sum] = what
	}
	write("a.ts", "1")
	look("one file")
	write("a.ts", "2")
	look("other content")
	write("b/c.ts", "")
	look("one more file")
	if err := os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	look("another name")
}

// checksum is one of the names and contents of all files that the patterns name. Line ends do not count, since a
// checkout may change them.
func checksum(t *testing.T, patterns []string) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range filesOf(t, patterns) {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		fmt.Fprintf(sum, "%s %d\n%s\n", filepath.ToSlash(name), len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

func filesOf(t *testing.T, patterns []string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Fatalf("there is no %s", pattern)
		}
		for _, root := range found {
			err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					names = append(names, path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(names)
	return names
}

// maxFirstLoad is how many bytes the page may transfer before it is complete, compressed.
const maxFirstLoad = 140_000

func TestFirstLoadIsSmall(t *testing.T) {
	h := Assets()
	page := get(Handler(), "GET", "/").Body
	total := page.Len()
	for _, link := range links.FindAllStringSubmatch(page.String(), -1) {
		w := get(h, "GET", link[1], "Accept-Encoding", "gzip, br")
		total += w.Body.Len()
		for _, chunk := range firstChunks(t, h, link[1]) {
			total += get(h, "GET", chunk, "Accept-Encoding", "gzip").Body.Len()
		}
	}
	t.Logf("%d bytes", total)
	if total > maxFirstLoad {
		t.Errorf("the page loads %d bytes before it is complete, more than %d", total, maxFirstLoad)
	}
}

// firstChunks are the files that a script imports before it runs.
func firstChunks(t *testing.T, h http.Handler, script string) []string {
	t.Helper()
	var chunks []string
	if !strings.HasSuffix(script, ".js") {
		return nil
	}
	for _, found := range staticImports.FindAllStringSubmatch(get(h, "GET", script).Body.String(), -1) {
		chunks = append(chunks, "/assets/"+found[1])
	}
	return chunks
}

func TestAssetsAreCompressedForWhoTakesThat(t *testing.T) {
	h := Assets()
	plain := get(h, "GET", "/assets/hud.js")
	for header, want := range map[string]string{
		"gzip": "gzip", "br, gzip;q=0.5": "gzip", "GZIP": "gzip", "": "", "br": "", "gzip;q=0": "", "gzip;q=0.000": "", "*": "",
	} {
		w := get(h, "GET", "/assets/hud.js", "Accept-Encoding", header)
		if got := w.Header().Get("Content-Encoding"); got != want || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: encoded as %q, varies by %q", header, got, w.Header().Get("Vary"))
			continue
		}
		if want != "gzip" {
			continue
		}
		r, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(content, plain.Body.Bytes()) {
			t.Errorf("%q: other content than uncompressed, error %v", header, err)
		}
		if w.Header().Get("ETag") == plain.Header().Get("ETag") {
			t.Errorf("%q: one tag for two encodings", header)
		}
		again := get(h, "GET", "/assets/hud.js", "Accept-Encoding", header, "If-None-Match", w.Header().Get("ETag"))
		if again.Code != http.StatusNotModified {
			t.Errorf("%q again: status %d", header, again.Code)
		}
	}
}
