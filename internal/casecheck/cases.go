// Package casecheck tracks faults that users of similar software have reported, and faults found by use: each one that is
// due must have a test, and docs/cases.md lists the tests. A test belongs to a case by its name, for example
// TestK6_01Suffix, or TestF13Suffix for a fault found by use.
//
// It must never be imported. `go test ./internal/casecheck -update` writes the document.
package casecheck

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Case is a reported fault.
type Case struct {
	ID      string // K6-01, F13
	Kind    int
	Symptom string // in our words
	Note    string // where it is tested, if not in Go
}

// kindsDue and casesDue are the kinds and cases that must be tested.
var (
	kindsDue = []int{1, 4, 6, 7, 8}
	casesDue = []string{
		"K2-01", "K2-02", "K2-04", "K2-05", "K2-06", "K2-08",
		"K3-01", "K3-02", "K3-03", "K3-04", "K3-05", "K3-07",
		"K5-01", "K5-02", "K5-04", "K5-05", "K5-07",
		"K9-01", "K9-02", "K9-03", "K9-05", "K9-06",
		"F01", "F02", "F03", "F04", "F05", "F06", "F07", "F08", "F09", "F10", "F11", "F12", "F13", "F14", "F15", "F16", "F18", "F22", "F23", "F27", "F30", "F33",
		"F34", "F35", "F36", "F37", "F38", "R02", "R04", "R05", "R06", "R09", "R11",
		"F19", "F20", "F24", "F25", "F26", "F28", "R03", "R08", "R10", "F17", "F21", "R01", "R07",
		"F29", "F31", "F32", "F39", "F40", "F41", "F42",
		"P01", "P02", "P03", "P04", "P05", "P06", "P07", "P08", "P09", "P10", "P11", "P12", "P13", "P14", "P15", "P16", "P17", "P18",
		"H01", "H02", "H03", "H04", "H05", "H06", "H07", "H08", "H09", "H10", "H11", "H12", "H13", "H14", "H15", "H16",
		"H17", "H18", "H19", "H20", "H21", "H22", "H23", "H24", "H25", "H26", "H27", "H28", "H29", "H30", "H31", "H32",
	}
)

func (c Case) due() bool { return slices.Contains(kindsDue, c.Kind) || slices.Contains(casesDue, c.ID) }

// decodeCases decodes the cases, one JSON object per line, and adds our descriptions: lines with id, symptom and an
// optional note, separated by tabs.
func decodeCases(jsonLines, symptoms string) ([]Case, error) {
	words := make(map[string][]string)
	for line := range strings.Lines(symptoms) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		words[fields[0]] = fields[1:]
	}
	var cases []Case
	for line := range strings.Lines(jsonLines) {
		var c struct {
			ID   string `json:"id"`
			Kind int    `json:"kind"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, fmt.Errorf("decode case %d: %w", len(cases)+1, err)
		}
		said := words[c.ID]
		if len(said) == 0 || len(said) > 2 {
			return nil, fmt.Errorf("case %s has no symptom in our words", c.ID)
		}
		delete(words, c.ID)
		cases = append(cases, Case{ID: c.ID, Kind: c.Kind, Symptom: said[0], Note: strings.Join(said[1:], "")})
	}
	if len(words) > 0 {
		return nil, fmt.Errorf("words for unknown cases: %v", slices.Sorted(maps.Keys(words)))
	}
	return cases, nil
}

// faultKinds maps the first letters of the ids of faults found by use to their kinds.
var faultKinds = map[byte]int{'F': 10, 'P': 11, 'H': 12, 'R': 13}

// decodeFaults decodes the faults found by use: lines with id and symptom, separated by a tab.
func decodeFaults(lines string) ([]Case, error) {
	var cases []Case
	for line := range strings.Lines(lines) {
		id, symptom, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || !faultID.MatchString(id) || symptom == "" {
			return nil, fmt.Errorf("decode fault %d: %q is not an id and a symptom", len(cases)+1, line)
		}
		if slices.ContainsFunc(cases, func(c Case) bool { return c.ID == id }) {
			return nil, fmt.Errorf("decode fault %d: %s has a symptom already", len(cases)+1, id)
		}
		cases = append(cases, Case{ID: id, Kind: faultKinds[id[0]], Symptom: symptom})
	}
	return cases, nil
}

var faultID = regexp.MustCompile(`^[FPHR]\d\d$`)

// Test is a test function of a case.
type Test struct {
	Package string // folder with forward slashes
	Name    string
}

var testName = regexp.MustCompile(`(?m)^func (Test(?:K(\d+)_(\d+)|([FPHR]\d\d))\w*)\(t \*testing\.T\)`)

// findTests returns the tests in a tree by case id, in order.
func findTests(tree fs.FS) (map[string][]Test, error) {
	found := make(map[string][]Test)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		content, err := fs.ReadFile(tree, name)
		for _, m := range testName.FindAllSubmatch(content, -1) {
			id := string(m[4])
			if id == "" {
				id = fmt.Sprintf("K%s-%s", m[2], m[3])
			}
			found[id] = append(found[id], Test{Package: path.Dir(name), Name: string(m[1])})
		}
		return err
	})
	for _, tests := range found {
		slices.SortFunc(tests, func(a, b Test) int {
			return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name))
		})
	}
	return found, err
}

// faults returns due cases without a test, and tests that name an unknown case.
func faults(cases []Case, tests map[string][]Test) []string {
	var faults []string
	known := make(map[string]bool)
	for _, c := range cases {
		known[c.ID] = true
		if c.due() && len(tests[c.ID]) == 0 && c.Note == "" {
			faults = append(faults, fmt.Sprintf("%s has no test named Test%s…: %s", c.ID, strings.ReplaceAll(c.ID, "-", "_"), c.Symptom))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tests)) {
		if !known[id] {
			faults = append(faults, fmt.Sprintf("%s in %s: unknown case %s", tests[id][0].Name, tests[id][0].Package, id))
		}
	}
	return faults
}
