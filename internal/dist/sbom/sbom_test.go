package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/jsonschema-go/jsonschema"

	"strata/internal/binary"
)

func TestMain(m *testing.M) { binary.Main(m) }

// program returns the path of a built program, and makes the top of the tree the working directory.
func program(t *testing.T) string {
	t.Helper()
	path := binary.NewHome(t, "").Command(t.Context(), "version").Path
	t.Chdir("../../..")
	return path
}

// write describes a release with the program, an extension and a library, and returns the bill of materials.
func write(t *testing.T, program string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "bill")
	if err := run([]string{"-version", "1.2.3-dev", "-epoch", "1700000000", "-bill", out, "-extension", "LICENSE", "-library", "NOTICE", program}); err != nil {
		t.Fatal(err)
	}
	bill, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return bill
}

func TestBillIsValidByTheSchema(t *testing.T) {
	bill := write(t, program(t))
	schema := schemaOfBills(t)
	if err := schema.Validate(decode(t, bill)); err != nil {
		t.Error(err)
	}
	for _, broken := range []struct{ old, new string }{
		{`"type": "library"`, `"type": "liberty"`},
		{`"id": "MIT"`, `"id": "MIT-or-so"`},
		{`"alg": "SHA-512"`, `"alg": "SHA-513"`},
	} {
		if !bytes.Contains(bill, []byte(broken.old)) {
			t.Fatalf("the bill has no %s", broken.old)
		}
		if err := schema.Validate(decode(t, bytes.Replace(bill, []byte(broken.old), []byte(broken.new), 1))); err == nil {
			t.Errorf("a bill with %s is valid", broken.new)
		}
	}
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// schemaOfBills returns the schema of CycloneDX, which is in the module of the format.
func schemaOfBills(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	folder, err := goCommand("list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	if err != nil {
		t.Fatal(err)
	}
	load := func(uri *url.URL) (*jsonschema.Schema, error) {
		name := filepath.Base(uri.Path)
		if name == "jsf-0.82.schema.json" {
			name = "jsf-0.82.schemax.json" // its name in the module
		}
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "schema", name))
		if err != nil {
			return nil, err
		}
		var schema jsonschema.Schema
		return &schema, json.Unmarshal(text, &schema)
	}
	schema, err := load(&url.URL{Path: "bom-1.6.schema.json"})
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{Loader: load})
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func TestBillNamesEachPart(t *testing.T) {
	file := program(t)
	bill := write(t, file)
	if again := write(t, file); !bytes.Equal(bill, again) {
		t.Error("two bills of the same program differ")
	}
	var bom cyclonedx.BOM
	if err := json.Unmarshal(bill, &bom); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, c := range *bom.Components {
		versions[c.Name] = c.Version
		if c.Licenses == nil || c.Version == "" {
			t.Errorf("%s has the version %q and the licenses %v", c.Name, c.Version, c.Licenses)
		}
	}
	for _, name := range []string{
		"strata", "strata.vsix", "@strata/client", "std", "sqlite", "modernc.org/sqlite", "github.com/spf13/cobra",
		"preact", "@preact/signals-core", "uplot", "tree-sitter", "tree-sitter-rust", "wasi-libc", "compiler-rt", "charm.land/catwalk",
	} {
		if versions[name] == "" {
			t.Errorf("the bill has no %s", name)
		}
	}
	for _, name := range []string{"typescript", "github.com/chromedp/chromedp", "github.com/CycloneDX/cyclonedx-go"} {
		if versions[name] != "" {
			t.Errorf("the bill has %s, which no product contains", name)
		}
	}
	if versions["strata"] != "1.2.3-dev" || versions["@strata/client"] != "1.2.3" || versions["strata.vsix"] != "1.2.3" {
		t.Errorf("the versions are %v", versions)
	}
	checkDependencies(t, bom)
	if want := time.Unix(1700000000, 0).UTC().Format(time.RFC3339); bom.Metadata.Timestamp != want {
		t.Errorf("the time is %s, want %s", bom.Metadata.Timestamp, want)
	}
}

// checkDependencies: each part belongs to a product, and the client library has none.
func checkDependencies(t *testing.T, bom cyclonedx.BOM) {
	t.Helper()
	needed := map[string][]string{}
	all := map[string]bool{}
	for _, d := range *bom.Dependencies {
		if d.Dependencies == nil {
			continue
		}
		needed[d.Ref] = *d.Dependencies
		for _, ref := range *d.Dependencies {
			all[ref] = true
		}
	}
	for _, c := range *bom.Components {
		if !all[c.BOMRef] {
			t.Errorf("nothing contains %s", c.BOMRef)
		}
	}
	if len(needed["@strata/client"]) > 0 {
		t.Errorf("the client library contains %v", needed["@strata/client"])
	}
	isModule := func(ref string) bool { return strings.HasPrefix(ref, "pkg:golang/") }
	if parts := needed["strata.vsix"]; len(parts) == 0 || slices.ContainsFunc(parts, isModule) {
		t.Errorf("the extension contains %v", parts)
	}
}

// A module without a row in NOTICE stops the build.
func TestAModuleNeedsALicense(t *testing.T) {
	if _, _, err := readProgram(program(t), map[string]string{}); !errors.Is(err, errNoLicense) {
		t.Errorf("got the error %v, want %v", err, errNoLicense)
	}
}

// NOTICE names the npm packages and the parsers with their licenses; a test of the architecture compares its modules.
func TestNoticeNamesThePackages(t *testing.T) {
	t.Chdir("../../..")
	notice, err := os.ReadFile("NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	page, err := packagesOfThePage()
	if err != nil {
		t.Fatal(err)
	}
	grammars, err := parsers()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for row := range strings.Lines(string(notice)) {
		names, rest, ok := strings.Cut(strings.TrimSpace(row), "   ")
		if !ok || !strings.HasPrefix(row, "  ") {
			continue
		}
		for name := range strings.SplitSeq(names, ", ") {
			rows[name] = strings.TrimSpace(rest)
		}
	}
	for _, p := range page {
		license, _, _ := strings.Cut(rows[p.name], ",")
		if license == "" || !strings.Contains(p.license, license) {
			t.Errorf("%s is under %q by its package and %q by NOTICE", p.name, p.license, license)
		}
	}
	for _, p := range grammars {
		if !strings.HasPrefix(rows[p.name], "(c) ") {
			t.Errorf("NOTICE has no copyright of %s", p.name)
		}
	}
}

// The client library contains no packages of others, so its bill has none.
func TestTheClientLibraryHasNoDependencies(t *testing.T) {
	text, err := os.ReadFile("../../../web/client/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest map[string]any
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"dependencies", "bundledDependencies", "bundleDependencies", "optionalDependencies"} {
		if manifest[key] != nil {
			t.Errorf("%s are %v", key, manifest[key])
		}
	}
}

func TestLicenses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"MIT", `[{"license":{"id":"MIT"}}]`},
		{"BSD-3-Clause; parts MIT", `[{"expression":"BSD-3-Clause AND MIT"}]`},
		{"BSD-3-Clause; SQLite itself is in the public domain", `[{"license":{"id":"BSD-3-Clause"}}]`},
		{"(MPL-2.0 OR Apache-2.0)", `[{"expression":"MPL-2.0 OR Apache-2.0"}]`},
		{"Apache-2.0 WITH LLVM-exception", `[{"expression":"Apache-2.0 WITH LLVM-exception"}]`},
		{"terms of our own", `[{"license":{"name":"terms of our own"}}]`},
	}
	for _, tt := range tests {
		got, err := json.Marshal(licenses(tt.text))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, want %s (%v)", tt.text, got, tt.want, err)
		}
	}
}

// The licenses of all modules of the program are in the module cache.
func TestLicenseTexts(t *testing.T) {
	file := program(t)
	var r release
	if err := r.read([]string{file}, "", ""); err != nil {
		t.Fatal(err)
	}
	for purl, p := range r.parts {
		if p.npm { // installed by `make vsix`
			delete(r.parts, purl)
		}
	}
	texts, err := r.licenseTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The Go Authors", "\nmodernc.org/sqlite v", "Apache License", "\ngithub.com/coder/websocket v", "International Business Machines"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the licenses do not contain %q", want)
		}
	}
	if home, err := os.UserHomeDir(); err == nil && strings.Contains(texts, home+"/") {
		t.Error("the licenses contain the path of this user's home")
	}
}

func TestReadTexts(t *testing.T) {
	folder := t.TempDir()
	if _, err := readTexts(folder); err == nil {
		t.Error("a folder without a license has one")
	}
	for _, name := range []string{"LICENSE", "NOTICE.txt", "license.go", "README.md", "LICENSE-3RD-PARTY.md"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := readTexts(folder); err != nil || got != "LICENSE\n\nLICENSE-3RD-PARTY.md\n\nNOTICE.txt" {
		t.Errorf("got %q, %v", got, err)
	}
}
