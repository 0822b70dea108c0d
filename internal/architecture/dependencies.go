package architecture

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A dependency is a module of go.mod as the document names it.
type dependency struct {
	module  string
	section string // heading that its row stands below
	license string
}

// inProgram is the heading of the modules that are linked into the program.
const inProgram = "In the program"

var (
	dependencyRow = regexp.MustCompile("^\\| `([^`]+)` \\|.*\\| ([^|]+) \\|$")
	sectionTitle  = regexp.MustCompile(`^## (.+)$`)
	noticeRow     = regexp.MustCompile(`^  (\S+\.\S+/\S+) {2,}(\S.*)$`)
)

// dependenciesIn returns the rows of docs/dependencies.md whose first cell is the path of a module in backquotes.
// Rows below other headings than listed are not of modules in go.mod.
func dependenciesIn(document string, listed ...string) []dependency {
	var all []dependency
	section := ""
	for line := range strings.Lines(document) {
		line = strings.TrimRight(line, "\r\n")
		if m := sectionTitle.FindStringSubmatch(line); m != nil {
			section = m[1]
		}
		if m := dependencyRow.FindStringSubmatch(line); m != nil && slices.Contains(listed, section) {
			all = append(all, dependency{m[1], section, m[2]})
		}
	}
	return all
}

// noticesIn returns the license of each Go module that NOTICE names.
func noticesIn(notice string) map[string]string {
	licenses := map[string]string{}
	for line := range strings.Lines(notice) {
		if m := noticeRow.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			licenses[m[1]] = m[2]
		}
	}
	return licenses
}

// dependencyFaults compares the document's rows with the modules that go.mod requires, those that are linked into the
// program, and the licenses that NOTICE names.
func dependencyFaults(rows []dependency, required, linked []string, notices map[string]string) []string {
	var faults []string
	add := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.module] {
			add("%s has two rows", row.module)
		}
		seen[row.module] = true
		if !slices.Contains(required, row.module) {
			add("%s has a row, but go.mod does not require it", row.module)
		}
		if isLinked := slices.Contains(linked, row.module); isLinked != (row.section == inProgram) {
			add("%s has its row below %q, and is linked into the program: %v", row.module, row.section, isLinked)
		}
		if notices[row.module] != row.license {
			add("%s is under %q by its row and %q by NOTICE", row.module, row.license, notices[row.module])
		}
	}
	for _, module := range required {
		if !seen[module] {
			add("%s is required by go.mod, but has no row", module)
		}
	}
	for module := range notices {
		if !slices.Contains(required, module) {
			add("%s is in NOTICE, but go.mod does not require it", module)
		}
	}
	slices.Sort(faults)
	return faults
}
