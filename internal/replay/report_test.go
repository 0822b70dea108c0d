package replay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/stability"
)

const train = "testdata/train"

// TestAims checks the layouts' promised averages on the sample traces.
func TestAims(t *testing.T) {
	for _, tt := range []struct {
		layout    string
		relative  float64 // at most
		readShare float64 // at least
	}{
		{stability.LayoutLog, 0.45, 0.80},
		{stability.LayoutRipple, 0.92, 0},
		{RippleUnclustered, 0.92, 0},
	} {
		rows := billed(t, tt.layout)
		total := rows[len(rows)-1]
		if got := total.meanRelative(); got > tt.relative {
			t.Errorf("%s costs %.3f of no caching, want at most %.2f", tt.layout, got, tt.relative)
		}
		if got := total.meanRead(); got < tt.readShare {
			t.Errorf("%s reads %.3f of the tokens, want at least %.2f", tt.layout, got, tt.readShare)
		}
	}
}

var bills = map[string][]row{}

// billed returns the rows of a layout for the sample traces, computed once.
func billed(t *testing.T, layout string) []row {
	t.Helper()
	if bills[layout] == nil {
		rows, err := replayAll(traces(t), Defaults(layout))
		if err != nil {
			t.Fatal(err)
		}
		bills[layout] = rows
	}
	return bills[layout]
}

func traces(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(train, "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no traces in %s: %v", train, err)
	}
	return paths
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"agent-13", "chat-00", "acdc-10", "crush-00"} {
		text, err := os.ReadFile(filepath.Join(train, name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := Report(&out, dir, Layouts); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		got = append(got, strings.Join(fields[:4], " "))
	}
	want := []string{"layout class traces requests",
		"log agent 1 42", "log chat 1 40", "log edit 2 22", "log all 4 104",
		"ripple agent 1 42", "ripple chat 1 40", "ripple edit 2 22", "ripple all 4 104",
		"ripple-unclustered agent 1 42", "ripple-unclustered chat 1 40", "ripple-unclustered edit 2 22", "ripple-unclustered all 4 104"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("report:\n%s", out.String())
	}
}

// The rows of all layouts are computed with the same traces: they differ in what was sent, not in what had to be sent.
func TestLayoutsAreComparedOnTheSameTraces(t *testing.T) {
	type needed struct {
		class                    string
		traces, requests, tokens int
	}
	var first []needed
	costs := map[float64]string{}
	for _, layout := range Layouts {
		rows := billed(t, layout)
		var got []needed
		for _, r := range rows {
			got = append(got, needed{r.class, r.traces, r.Requests, r.needed})
		}
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Errorf("%s is computed with %v, %s with %v", layout, got, Layouts[0], first)
		}
		total := rows[len(rows)-1]
		if total.traces != len(traces(t)) || total.Tokens < total.needed {
			t.Errorf("%s: %d tokens sent in %d traces, %d needed", layout, total.Tokens, total.traces, total.needed)
		}
		if other, ok := costs[total.Cost]; ok {
			t.Errorf("%s costs exactly as much as %s", layout, other)
		}
		costs[total.Cost] = layout
	}
}

func TestReportRefuses(t *testing.T) {
	empty, broken := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "x.jsonl"), []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ dir, layout, want string }{
		{empty, "log", "no traces"},
		{broken, "log", "x.jsonl: trace line 1"},
		{train, "pile", `layout "pile"`},
	} {
		err := Report(&strings.Builder{}, tt.dir, []string{tt.layout})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one with %q", err, tt.want)
		}
	}
}

// Yardstick: log costs at most 0.45 of no caching and reads 0.80 of the tokens from the cache, ripple costs about 0.88
func BenchmarkReplay(b *testing.B) {
	for _, layout := range Layouts {
		b.Run(layout, func(b *testing.B) {
			for b.Loop() {
				rows, err := replayAll(traces(b), Defaults(layout))
				if err != nil {
					b.Fatal(err)
				}
				total := rows[len(rows)-1]
				b.ReportMetric(total.meanRelative(), "cost/none")
				b.ReportMetric(total.meanRead(), "read/sent")
			}
		})
	}
}
