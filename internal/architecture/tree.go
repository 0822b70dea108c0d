package architecture

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// topLevel are the entries beside the packages of the table. Dot-files are allowed too.
var topLevel = []string{
	"go.mod", "go.sum", "Makefile", "README.md", "CHANGELOG.md", "LICENSE", "NOTICE",
	"cmd", "docs", "internal",
}

// maxLines is how long a Go file may be that is no test. 100 to 400 lines are comfortable.
const maxLines = 600

// topLevelFaults says which entries of the top level nobody planned. Paths have forward slashes and start at the top.
func topLevelFaults(paths []string) []string {
	var faults []string
	for _, path := range paths {
		entry, _, inFolder := strings.Cut(path, "/")
		isPackage := inFolder && hasRow(entry)
		if slices.Contains(topLevel, entry) || strings.HasPrefix(entry, ".") || isPackage {
			continue
		}
		if fault := entry + " does not belong at the top level"; !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	return faults
}

// lengthFault says whether a Go file is too long to be read in one go, or nothing. Tests and generated files may be longer.
func lengthFault(path string, content []byte) string {
	if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || isGenerated(content) {
		return ""
	}
	if lines := bytes.Count(content, []byte("\n")); lines > maxLines {
		return fmt.Sprintf("%s has %d lines, more than %d: split it by what it is about", path, lines, maxLines)
	}
	return ""
}

func isGenerated(content []byte) bool {
	for line := range bytes.Lines(content) {
		if bytes.HasPrefix(line, []byte("package ")) {
			return false
		}
		if bytes.HasPrefix(line, []byte("// Code generated ")) && bytes.HasSuffix(bytes.TrimSpace(line), []byte(" DO NOT EDIT.")) {
			return true
		}
	}
	return false
}
