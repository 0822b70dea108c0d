package architecture

import (
	"fmt"
	"slices"
	"strings"
)

// imports says for each package, its folders below included unless they have rows of their own, which others of ours it
// may import.
// The top level is the architecture: calls go down this list, imports point down it.
var imports = map[string][]string{
	"server":       {"server/access", "server/wire", "server/transfer", "rpc", "session", "compaction", "historystore", "history", "web"},
	"session":      {"filecontext", "stability", "compaction", "tokens", "llm", "history"},
	"compaction":   {"tokens", "history"},
	"filecontext":  {"tokens"},
	"stability":    {},
	"llm":          {"history"},
	"historystore": {"history"},
	"tokens":       {},
	"rpc":          {},
	"web":          {},
	"history":      {},

	"server/access":   {},
	"server/transfer": {"server/wire", "rpc", "session", "historystore", "history"},
	"server/wire":     {"rpc", "session", "compaction", "historystore", "history"},

	// No small piece, so that it has a row of its own: what `strata replay` prints and bills.
	"internal/replay": {"stability"},
}

// program is the one package that may import all others but those for tests.
const program = "cmd/strata"

// testOnly are the internal packages that only tests may import. They may import anything.
// Every other internal package without a row is a small piece that any package may import, and imports no more of ours
// than helperImports.
var testOnly = []string{
	"internal/acpcheck",
	"internal/architecture",
	"internal/binary",
	"internal/casecheck",
	"internal/hudtest",
	"internal/testclient",
	"internal/upstream",
}

var helperImports = []string{"history"}

// importFaults says which imports of p's break the rules. Imports of tests are not looked at: a test may use
// what its package must not.
func importFaults(p Package) []string {
	from := unit(p.ImportPath)
	var faults []string
	for _, path := range p.Imports {
		if !ours(path) || unit(path) == from {
			continue
		}
		if reason := refuse(from, unit(path)); reason != "" {
			faults = append(faults, fmt.Sprintf("%s imports %s: %s", p.ImportPath, path, reason))
		}
	}
	if !known(from) {
		faults = append(faults, fmt.Sprintf("%s is not in the table of packages", p.ImportPath))
	}
	return faults
}

// refuse says why one unit may not import another, or nothing where it may.
func refuse(from, to string) string {
	allowed := imports[from]
	switch {
	case slices.Contains(testOnly, from):
		return ""
	case slices.Contains(testOnly, to):
		return to + " is for tests only"
	case from == program:
		return ""
	case isSmallPiece(from):
		allowed = helperImports
	case isSmallPiece(to):
		return ""
	}
	if slices.Contains(allowed, to) {
		return ""
	}
	return fmt.Sprintf("of ours, %s may import only %v", from, allowed)
}

func isSmallPiece(unit string) bool {
	return strings.HasPrefix(unit, "internal/") && !hasRow(unit) && !slices.Contains(testOnly, unit)
}

func hasRow(unit string) bool {
	_, listed := imports[unit]
	return listed
}

func known(unit string) bool {
	return hasRow(unit) || unit == program || strings.HasPrefix(unit, "internal/")
}
