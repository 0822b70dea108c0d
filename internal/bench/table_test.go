package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	p := pairs{ours: []float64{3e6, 9e6, 4e6}, theirs: []float64{1e6, 2e6, 2e6}}
	rate := p.ratio("rate", megabytes, "a floor", 4)
	rate.atLeast = true
	var out strings.Builder
	if err := writeTable(&out, []row{
		p.ratio("ratio", nanoseconds, "a floor", 2.5),
		p.difference("difference", nanoseconds, "a floor", 3e6),
		rate,
		p.beside("beside", nanoseconds, "a floor", 3e6),
		alone("memory", kibibytes, 65<<10, 64<<10).versus(1<<10, "a small one"),
		alone("no target", mebibytes, 3<<20, 0),
	}); err != nil {
		t.Fatal(err)
	}
	want := `measure     strata     reference  comparison  target       met  the reference is
ratio       4ms        2ms        3.00x       <= 2.50x     NO   a floor
difference  4ms        2ms        2ms         <= 3ms       yes  a floor
rate        4.00 MB/s  2.00 MB/s  3.00x       >= 4.00x     NO   a floor
beside      4ms        2ms                    <= 3ms       NO   a floor
memory      65.0 KiB   1.0 KiB                <= 64.0 KiB  NO   a small one
no target   3.0 MiB                                             
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTurnsChange(t *testing.T) {
	var order strings.Builder
	turn := func(name string) func() float64 {
		return func() float64 { order.WriteString(name); return float64(order.Len()) }
	}
	p := takeTurns(3, turn("a"), turn("b"))
	if order.String() != "abbaab" || len(p.ours) != 3 || p.ours[1] != 4 || p.theirs[1] != 3 {
		t.Errorf("order %s, %+v", order.String(), p)
	}
}

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{0: nil, 2: {9, 1, 2}, 2.5: {4, 1, 2, 3}} {
		if got := median(values); got != want {
			t.Errorf("median(%v) = %v, want %v", values, got, want)
		}
	}
}

func TestGrowth(t *testing.T) {
	var p pairs
	early := pairs{ours: []float64{2, 4, 3}, theirs: []float64{1}}
	p.addGrowth(early, pairs{ours: []float64{6, 9}, theirs: []float64{2}})
	p.addAll(early)
	if fmt.Sprint(p) != "{[2.5 2 4 3] [2 1]}" {
		t.Errorf("got %v", p)
	}
}

func TestReplyIsInThePrompt(t *testing.T) {
	for _, want := range []reply{{deltas: 3}, {deltas: 1000, pause: pace}, {deltas: 7, after: answersLate}} {
		if got := replyTo(want.prompt()); got != want {
			t.Errorf("%q asks for %+v, want %+v", want.prompt(), got, want)
		}
	}
}

func TestSwiftRepliesToTheDirectClient(t *testing.T) {
	s := startSwift(t)
	got := order{URL: s.url + "/chat/completions", Body: []byte("anything"), Streams: 2}.carryOut()
	if got.Error != "" || got.Bytes != 2*swiftReply.size() || got.First <= 0 || got.First > got.Whole {
		t.Errorf("got %+v", got)
	}
	if string(s.newest()) != "anything" {
		t.Errorf("the provider got %q", s.newest())
	}
}

func TestPercentile(t *testing.T) {
	var hundred []float64
	for n := range 100 {
		hundred = append(hundred, float64(100-n))
	}
	for want, values := range map[float64][]float64{0: nil, 7: {7}, 99: hundred, 3: {3, 1, 2}} {
		if got := percentile(values, 99); got != want {
			t.Errorf("percentile of %v = %v, want %v", values, got, want)
		}
	}
}

func TestProcessesAccounts(t *testing.T) {
	if _, err := processorTime(-1); err != errNoAccounts {
		t.Errorf("processor time of an unknown process: %v", err)
	}
	if _, err := memoryOf(-1, "VmRSS"); err != errNoAccounts {
		t.Errorf("memory of an unknown process: %v", err)
	}
	own := os.Getpid()
	before, err := processorTime(own)
	if err == errNoAccounts {
		t.Skip(err)
	}
	for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
	}
	after, err := processorTime(own)
	if err != nil || after < before || before <= 0 {
		t.Errorf("processor time %v, then %v, %v", before, after, err)
	}
	if _, err := memoryOf(own, "Nothing"); err == nil {
		t.Error("an unknown line has a value")
	}
	if resident, err := memoryOf(own, "VmRSS"); err != nil || resident < 1<<20 {
		t.Errorf("%v bytes are resident, %v", resident, err)
	}
}
