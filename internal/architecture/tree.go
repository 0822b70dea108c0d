package architecture

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// topLevel lists the allowed entries in addition to the packages of the table. Dot files are allowed, too.
var topLevel = []string{
	"go.mod", "go.sum", "Makefile", "README.md", "CHANGELOG.md", "LICENSE", "NOTICE",
	"cmd", "docs", "internal",
}

// maxLines is the maximum length of a Go file other than a test. 100 to 400 lines are comfortable.
const maxLines = 600

// topLevelFaults returns unexpected entries at the top level. Paths have forward slashes and are relative to the top.
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

// lengthFault returns an error text for a Go file that is too long, else "". Tests and generated files may be longer.
func lengthFault(path string, content []byte) string {
	if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || isGenerated(content) {
		return ""
	}
	if lines := bytes.Count(content, []byte("\n")); lines > maxLines {
		return fmt.Sprintf("%s has %d lines, more than %d: split it by topic", path, lines, maxLines)
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
