package outlines

import (
	"testing"

	"strata/internal/sourcetree"
)

// benchFiles is the number of files in the workspace of the benchmarks.
const benchFiles = 1000

// generated returns the outlines of a session in a generated workspace whose index is complete, after a first choice.
func generated(b *testing.B) *desk {
	b.Helper()
	d := &desk{t: b, folder: b.TempDir()}
	if _, err := sourcetree.Write(d.folder, benchFiles); err != nil {
		b.Fatal(err)
	}
	d.again(goServices(b))
	d.choose(d.request())
	return d
}

// BenchmarkChooseUnchanged chooses in a workspace of 1,000 files that does not change.
//
// Yardstick: a fifth of sweep-ms in BenchmarkIndex of filecontext/index.
func BenchmarkChooseUnchanged(b *testing.B) {
	d := generated(b)
	for b.Loop() {
		d.choose(d.request())
	}
}

// BenchmarkChooseChanged chooses after one of 1,000 files has changed.
//
// Yardstick: a fifth of the sum of changed-ms and graph-ms in BenchmarkIndex of filecontext/index.
func BenchmarkChooseChanged(b *testing.B) {
	d := generated(b)
	edits := 0
	for b.Loop() {
		if err := sourcetree.Change(d.folder, edits); err != nil {
			b.Fatal(err)
		}
		edits++
		d.choose(d.request())
	}
}
