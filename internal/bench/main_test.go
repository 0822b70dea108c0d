package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"strata/internal/hudtest"
)

// childEnv names the reference that a child process runs.
const childEnv = "STRATA_BENCH_CHILD"

// TestMain runs a reference, or the benchmarks after building strata, or the tests, which do not need strata.
func TestMain(m *testing.M) {
	if child := children[os.Getenv(childEnv)]; child != nil {
		child()
		return
	}
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		os.Exit(m.Run())
	}
	hudtest.Main(m)
}

// measures are the measurements of the table, in order. Each adds its rows.
var measures = []struct {
	name string
	run  func(b *testing.B) []row
}{
	{"calls", measureCalls},
	{"create", measureCreate},
	{"first-delta", measureFirstDelta},
	{"long-turn", measureLongTurn},
	{"deltas", measureDeltas},
	{"paced-deltas", measurePacedDeltas},
	{"many-sessions", measureManySessions},
	{"growth-200", measureGrowth200},
	{"growth-2000", measureGrowth2000},
	{"idle-sessions", measureIdleSessions},
	{"load", measureLoad},
	{"start", measureStart},
	{"start-idle", measureStartIdle},
	{"start-after-kill", measureStartAfterKill},
	{"steps", measureSteps},
	{"index", measureIndex},
	{"tokens", measureTokens},
	{"first-paint", measureFirstPaint},
}

// BenchmarkTable takes all measurements once and prints the table. Run it with -benchtime=1x.
func BenchmarkTable(b *testing.B) {
	rows := make([][]row, len(measures))
	var left []string
	page := firstUse() // before the process has memory that it can use again
	before := loadOfMachine()
	for i, m := range measures {
		b.Run(m.name, func(b *testing.B) {
			defer func() {
				if b.Skipped() {
					left = append(left, m.name)
				}
			}()
			rows[i] = m.run(b)
		})
	}
	fmt.Println()
	if err := writeTable(os.Stdout, slices.Concat(rows...)); err != nil {
		b.Error(err)
	}
	for _, name := range left {
		fmt.Printf("\n%s is left out: this machine lacks what it needs\n", name)
	}
	if given := os.Getenv("STRATA_TEST_BINARY"); given != "" {
		fmt.Printf("\nthe measured binary is %s\n", given)
	}
	fmt.Printf("\n%d processors; load average %s before, %s after; the first use of 4 KiB of memory takes %.1f µs\n",
		runtime.NumCPU(), before, loadOfMachine(), page.Seconds()*1e6)
}

// firstUse measures the first use of a page of memory that a process gets from the system.
func firstUse() time.Duration {
	const pages, page = 4096, 4 << 10
	memory := make([]byte, pages*page)
	start := time.Now()
	for at := 0; at < len(memory); at += page {
		memory[at] = 1
	}
	return time.Since(start) / pages
}

// computed returns a function that returns the processor time that a process has used since.
func computed(b *testing.B, pid int) func() float64 {
	b.Helper()
	before, err := processorTime(pid)
	if err != nil {
		b.Skip(err)
	}
	return func() float64 {
		after, err := processorTime(pid)
		if err != nil {
			b.Fatal(err)
		}
		return float64(after - before)
	}
}

func memory(b *testing.B, pid int, line string) float64 {
	b.Helper()
	bytes, err := memoryOf(pid, line)
	if err != nil {
		b.Skip(err)
	}
	return bytes
}

// must ends a benchmark that cannot continue.
func must[T any](v T, err error) func(b *testing.B) T {
	return func(b *testing.B) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// call makes a request that must succeed.
func (e *editor) call(b *testing.B, method string, params, result any) {
	b.Helper()
	if err := e.Call(context.Background(), method, params, result); err != nil {
		b.Fatal(err)
	}
}

func encoded(v any) []byte {
	content, err := json.Marshal(v)
	if err != nil {
		panic(err) // only for values created by the benchmarks
	}
	return content
}
