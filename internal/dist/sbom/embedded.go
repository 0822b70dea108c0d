package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	sqlite "modernc.org/sqlite/lib"
)

// packagesOfThePage returns the npm packages from which the HUD and the pages of the extension are built.
func packagesOfThePage() ([]part, error) {
	const file = "web/hud/package-lock.json"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev, Optional               bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []part
	for _, place := range slices.Sorted(maps.Keys(lock.Packages)) {
		locked := lock.Packages[place]
		if place == "" || locked.Dev || locked.Optional {
			continue
		}
		name := strings.TrimPrefix(place, "node_modules/")
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(locked.Integrity, "sha512-"))
		if err != nil || len(sum) != 64 {
			return nil, fmt.Errorf("%s: %s has the checksum %q", file, name, locked.Integrity)
		}
		p := npmPackage(name, locked.Version, locked.License)
		p.checksum = &cyclonedx.Hash{Algorithm: cyclonedx.HashAlgoSHA512, Value: hex.EncodeToString(sum)}
		p.npm = true
		all = append(all, p)
	}
	return all, completeAll(all)
}

func npmPackage(name, version, license string) part {
	return part{purl: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version, name: name, version: version, license: license, kind: cyclonedx.ComponentTypeLibrary}
}

// embeddedParts returns what a program contains besides modules and the HUD: SQLite in Go, the parsers of outlines with
// the libraries of their compiler, and the data.
func embeddedParts() ([]part, error) {
	all := []part{{
		purl: "pkg:generic/sqlite@" + sqlite.SQLITE_VERSION, name: "sqlite", version: sqlite.SQLITE_VERSION,
		license: "blessing", kind: cyclonedx.ComponentTypeLibrary,
	}}
	parsers, err := parsers()
	if err != nil {
		return nil, err
	}
	all = append(all, parsers...)
	for _, named := range []struct {
		file, pattern, purl, name, license string
		kind                               cyclonedx.ComponentType
	}{
		{"filecontext/outline/wasm/build", `clang (\d\S+) and\b`, "pkg:generic/compiler-rt", "compiler-rt", "Apache-2.0 WITH LLVM-exception", cyclonedx.ComponentTypeLibrary},
		{"filecontext/outline/wasm/build", `wasi-libc (0\S+)\.\n`, "pkg:deb/debian/wasi-libc", "wasi-libc", "CC0-1.0 and MIT", cyclonedx.ComponentTypeLibrary},
		{"llm/models.tsv", `charm\.land/catwalk (v\S+),`, "pkg:golang/charm.land/catwalk", "charm.land/catwalk", "MIT", cyclonedx.ComponentTypeData},
		{"go.mod", `github\.com/pkoukk/tiktoken-go-loader (v\S+)`, "pkg:golang/github.com/pkoukk/tiktoken-go-loader", "github.com/pkoukk/tiktoken-go-loader", "MIT", cyclonedx.ComponentTypeData},
	} {
		version, err := find(named.file, named.pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, part{purl: named.purl + "@" + version, name: named.name, version: version, license: named.license, kind: named.kind})
	}
	return all, completeAll(all)
}

// find returns the first group of a pattern in a file.
func find(file, pattern string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(pattern).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s has no %s", file, pattern)
	}
	return string(m[1]), nil
}

// parsers returns tree-sitter and its grammars. tree-sitter contains parts of ICU.
func parsers() ([]part, error) {
	const file = "filecontext/outline/wasm/sources"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []part
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || len(fields[2]) != 64 {
			return nil, fmt.Errorf("%s: want name, version and checksum, not %q", file, line)
		}
		p := npmPackage(fields[0], fields[1], "MIT")
		if p.name == "tree-sitter" {
			p.license = "MIT and ICU"
			p.text = "filecontext/outline/wasm/LICENSE.icu"
		}
		p.checksum = &cyclonedx.Hash{Algorithm: cyclonedx.HashAlgoSHA256, Value: fields[2]}
		all = append(all, p)
	}
	return all, nil
}

func completeAll(parts []part) error {
	for _, p := range parts {
		if err := p.complete(); err != nil {
			return err
		}
	}
	return nil
}
