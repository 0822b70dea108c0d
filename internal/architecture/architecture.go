// Package architecture holds the tests that keep the tree as the design wants it: which package may import which,
// what stands at the top level, that every package says what it is for, that no file outgrows its reader,
// and that no file speaks of the machine it was written on.
//
// It must never be imported: the rules are here, the tests beside them apply each to the tree and to made-up faults.
package architecture

import (
	"fmt"
	"path"
	"strings"
)

// Package is what the rules need to know of one package, as `go list -json` prints it.
type Package struct {
	ImportPath string
	Name       string
	Dir        string
	Doc        string   // first sentence of the package comment
	Imports    []string // of its Go files without those of tests
}

const module = "strata"

// unit returns the row of a package in the table of imports: its own, or that of the nearest folder above that has one.
// Without any it is the top-level folder, or the one below cmd or internal. The unit of strata/session/profile is session,
// that of strata/internal/upstream/sse is internal/upstream.
func unit(importPath string) string {
	folder := strings.TrimPrefix(importPath, module+"/")
	for above := folder; above != "."; above = path.Dir(above) {
		if hasRow(above) {
			return above
		}
	}
	parts := strings.Split(folder, "/")
	if len(parts) > 1 && (parts[0] == "cmd" || parts[0] == "internal") {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// ours reports whether a package is part of this module.
func ours(importPath string) bool { return strings.HasPrefix(importPath, module+"/") }

// commentFault says what is wrong with p's package comment, or nothing.
func commentFault(p Package) string {
	switch {
	case p.Doc == "":
		return fmt.Sprintf("%s has no package comment", p.ImportPath)
	case p.Name != "main" && !strings.HasPrefix(p.Doc, "Package "+p.Name+" "):
		return fmt.Sprintf("%s: the package comment begins %q, want %q", p.ImportPath, firstWords(p.Doc), "Package "+p.Name)
	}
	return ""
}

func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(len(words), 2)], " ")
}
