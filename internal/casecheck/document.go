package casecheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// kinds are the headings of the document.
var kinds = map[int]string{
	1: "Compaction",
	2: "Tokens and window",
	3: "Prompt cache",
	4: "Persistence",
	5: "Files",
	6: "Streaming",
	7: "WebSocket",
	8: "JSON-RPC",
	9: "HUD",

	10: "Found by use: providers, sessions, editors",
	11: "Found by use: profiles",
	12: "Found by use: HUD",
	13: "Found by use: security and robustness",
}

const preface = `# Known faults

Users of similar software have reported the faults below, or they were found while using Strata. For each fault, a test
fails if Strata has it. ` + "`go test ./internal/casecheck -update`" + ` writes this document from the names of the tests.
`

// document returns docs/cases.md: a table per kind with a row for each case that has a test.
func document(cases []Case, tests map[string][]Test) string {
	var out strings.Builder
	out.WriteString(preface)
	kind := 0
	for _, c := range slices.SortedFunc(slices.Values(cases), byKind) {
		if len(tests[c.ID]) == 0 && c.Note == "" {
			continue
		}
		if c.Kind != kind {
			kind = c.Kind
			fmt.Fprintf(&out, "\n## %s\n\n| case | what must not happen | tested by |\n|---|---|---|\n", kinds[kind])
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", c.ID, c.Symptom, testedBy(c, tests[c.ID]))
	}
	return out.String()
}

func byKind(a, b Case) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID)) }

// testedBy lists a case's tests by package.
func testedBy(c Case, tests []Test) string {
	var parts []string
	last := ""
	for _, t := range tests {
		if t.Package != last {
			last = t.Package
			parts = append(parts, fmt.Sprintf("`%s`: %s", t.Package, t.Name))
			continue
		}
		parts[len(parts)-1] += ", " + t.Name
	}
	if c.Note != "" {
		parts = append(parts, c.Note)
	}
	return strings.Join(parts, "; ")
}
