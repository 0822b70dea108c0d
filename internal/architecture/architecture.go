// Package architecture contains tests that enforce the design of the tree: which package may import which, the entries
// at the top level, a package comment for every package, a maximum length of files, the shape of each package inside, and
// no references to the machine on which a file was written.
//
// It must never be imported. Its tests apply each rule to the tree and to made-up faults.
package architecture

import (
	"fmt"
	"path"
	"strings"
)

// Package is the part of a package's `go list -json` output that the rules use.
type Package struct {
	ImportPath string
	Name       string
	Dir        string
	Doc        string   // first sentence of the package comment
	Imports    []string // of its Go files, without tests
}

const module = "strata"

// unit returns the row of a package in the table of imports: its own, or that of the nearest parent folder with a row.
// Without a row it is the top-level folder, or the folder directly below cmd or internal. The unit of
// strata/server/access/file is server/access, that of strata/internal/upstream/sse is internal/upstream.
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

// commentFault returns the fault of p's package comment, or "".
func commentFault(p Package) string {
	switch {
	case p.Doc == "":
		return fmt.Sprintf("%s has no package comment", p.ImportPath)
	case p.Name != "main" && !strings.HasPrefix(p.Doc, "Package "+p.Name+" "):
		return fmt.Sprintf("%s: the package comment starts with %q, want %q", p.ImportPath, firstWords(p.Doc), "Package "+p.Name)
	}
	return ""
}

func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(len(words), 2)], " ")
}
