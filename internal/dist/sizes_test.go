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
	sizes, listed := r.sizes(t), listedSizes(string(text[table[4]:table[5]]))
	if *update {
		if *targetList == "" {
			listed = nil // the release has all files
		}
		written := string(text[:table[4]]) + sizeRows(listed, sizes) + string(text[table[5]:])
		if err := os.WriteFile(sizesFile, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, size := range sizes {
		if known, ok := listed[name]; ok && math.Abs(size-known) > tolerance*size {
			t.Errorf("%s has %.2f MB, and %.2f MB in docs/benchmarks.md: run `make dist-sizes`", name, size, known)
		}
	}
}

// listedSizes returns the sizes in the rows of the table, by file.
func listedSizes(rows string) map[string]float64 {
	listed := map[string]float64{}
	for _, row := range sizesRow.FindAllStringSubmatch(rows, -1) {
		listed[row[1]], _ = strconv.ParseFloat(row[2], 64)
	}
	return listed
}

// sizeRows returns the rows of the table, without the last line end: the new sizes, and those of other files.
func sizeRows(others, sizes map[string]float64) string {
	all := map[string]float64{}
	maps.Copy(all, others)
	maps.Copy(all, sizes)
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, fmt.Sprintf("| `%s` | %.2f MB |", name, all[name]))
	}
	return strings.Join(rows, "\n")
}

// A release of some systems leaves the sizes of the others in the table.
func TestSizesOfOtherSystemsStay(t *testing.T) {
	got := sizeRows(listedSizes("| `a.deb` | 1.00 MB |\n| `c.zip` | 3.00 MB |\n"), map[string]float64{"a.deb": 1.5, "b.rpm": 2})
	if want := "| `a.deb` | 1.50 MB |\n| `b.rpm` | 2.00 MB |\n| `c.zip` | 3.00 MB |"; got != want {
		t.Errorf("rows:\n%s\nwant:\n%s", got, want)
	}
}

// sizes returns the sizes of the files in MB. The size of the bill of materials depends on the systems, so it counts only if
// the release has all.
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
