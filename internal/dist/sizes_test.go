package dist

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of sizes to docs/benchmarks.md; `make dist-sizes` gives it")

const sizesFile = "../../docs/benchmarks.md"

var (
	// sizesTable is the table in docs/benchmarks.md.
	sizesTable = regexp.MustCompile(`(?s)(\| file of the release \| size \|\n\|---\|--:\|\n)(.*?)\n\n`)
	sizesRow   = regexp.MustCompile("(?m)^\\| `(.+)` \\| ([0-9.]+) MB \\|$")
)

// tolerance is the relative difference between a size and the table from which the table is out of date.
const tolerance = 0.05

// TestTableOfSizes compares the sizes of the release with the table, or writes the table.
func TestTableOfSizes(t *testing.T) {
	r := openRelease(t)
	text, err := os.ReadFile(sizesFile)
	if err != nil {
		t.Fatal(err)
	}
	table := sizesTable.FindSubmatchIndex(text)
	if table == nil {
		t.Fatal("docs/benchmarks.md has no table of sizes")
	}
	sizes, listed := r.sizes(t), parseSizes(text[table[4]:table[5]])
	if *targetList != "" {
		delete(sizes, r.anyVersion(r.bill())) // its size depends on the number of systems
	}
	if *update {
		if *targetList == "" {
			clear(listed) // otherwise it has the files for other systems
		}
		maps.Copy(listed, sizes)
		written := slices.Concat(text[:table[4]], formatSizes(listed), text[table[5]:])
		if err := os.WriteFile(sizesFile, written, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, size := range sizes {
		if known, ok := listed[name]; !ok || math.Abs(size-known) > tolerance*size {
			t.Errorf("%s has %.2f MB, and %.2f MB in docs/benchmarks.md: run `make dist-sizes`", name, size, known)
		}
	}
}

// parseSizes returns the sizes of the files in the rows of the table, in MB.
func parseSizes(rows []byte) map[string]float64 {
	sizes := map[string]float64{}
	for _, row := range sizesRow.FindAllSubmatch(rows, -1) {
		sizes[string(row[1])], _ = strconv.ParseFloat(string(row[2]), 64)
	}
	return sizes
}

func formatSizes(sizes map[string]float64) []byte {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		rows = append(rows, fmt.Sprintf("| `%s` | %.2f MB |", name, sizes[name]))
	}
	return []byte(strings.Join(rows, "\n"))
}

// sizes returns the sizes of the files in MB.
func (r release) sizes(t *testing.T) map[string]float64 {
	t.Helper()
	sizes := map[string]float64{}
	for _, name := range r.files() {
		if *targetList != "" && strings.HasSuffix(name, ".cdx.json") {
			continue
		}
		info, err := os.Stat(r.path(name))
		if err != nil {
			t.Fatal(err)
		}
		sizes[r.anyVersion(name)] = float64(info.Size()) / 1e6
	}
	return sizes
}

// anyVersion returns the name of a file with the word VERSION in the place of its version.
func (r release) anyVersion(name string) string {
	for _, version := range []string{r.version, strings.ReplaceAll(r.version, "-", "~"), strings.TrimSuffix(r.version, "-dev")} {
		if before, after, ok := strings.Cut(name, version); ok {
			return before + "VERSION" + after
		}
	}
	return name
}
