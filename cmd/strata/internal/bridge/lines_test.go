package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"strata/rpc"
)

// all returns the lines and, for long ones, id, method, and whether they get no response.
func (l *lines) all(limit int64) (got []string, err error) {
	for {
		line, err := l.next(func() int64 { return limit })
		long, isLong := errors.AsType[*longLine](err)
		switch {
		case isLong:
			got = append(got, fmt.Sprintf("long %s %s %t", long.envelope.ID, long.envelope.Method, long.envelope.Silent))
		case err != nil:
			return got, err
		default:
			got = append(got, string(line))
		}
	}
}

func TestF30LongLinesAreSkipped(t *testing.T) {
	const limit = 100
	x := strings.Repeat("x", 10*limit)
	in := strings.Join([]string{
		"{}",
		" \t\r",
		strings.Repeat("y", limit) + "\r",
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8,"a":["` + x + `"]}}`,
		`{"jsonrpc":"2.0","method":"m","params":{"text":"\"}` + x + `"},"id":"\u0061,\"}"}`,
		`{"jsonrpc":"2.0","method":"note","params":{"text":"` + x + `"}}`,
		`{"jsonrpc":"2.0","id":9,"result":"` + x + `"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"m","params":"` + x + `"}`,
		`{"jsonrpc":"2.0","id":"` + strings.Repeat(x, 3) + `","method":"m"}`,
		`{"jsonrpc":"2.0","id":{"id":1},"method":"m","params":"` + x + `"}`,
		x,
		"\x00\xff" + x,
		"[]",
	}, "\n")
	want := []string{
		"{}", strings.Repeat("y", limit),
		"long 7 m false", `long "\u0061,\"}" m false`, "long  note true", "long 9  true",
		"long  m false", "long  m false", "long  m false", "long   false", "long   false", "[]",
	}
	for _, size := range []int{1, 7, 1 << 20} { // of the reads
		got, err := newLines(&slowReader{strings.NewReader(in), size}).all(limit)
		if err != io.EOF || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("reads of %d bytes: got %.80q, %v", size, got, err)
		}
	}
}

// slowReader reads at most a number of bytes at a time.
type slowReader struct {
	io.Reader
	most int
}

func (r *slowReader) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), r.most)]) }

func TestF30LastLineIsLong(t *testing.T) {
	got, err := newLines(strings.NewReader(`{"id":1,"method":"` + strings.Repeat("x", 200) + `"}`)).all(100)
	if err != io.EOF || len(got) != 1 || !strings.HasPrefix(got[0], "long 1 xxx") {
		t.Errorf("got %q, %v", got, err)
	}
}

// endless is a line that has no end within its size.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	e.left -= n
	for i := range n {
		p[i] = 'x'
	}
	return n, nil
}

func TestF30ASkippedLineTakesNoMemory(t *testing.T) {
	const limit, size = 1 << 10, 16 << 20
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if got, err := newLines(&endless{size}).all(limit); err != io.EOF || len(got) != 1 {
				b.Fatalf("got %.80q, %v", got, err)
			}
		}
	})
	if got := result.AllocedBytesPerOp(); got > 64<<10+size/1000 {
		t.Errorf("%d bytes are allocated for a line of %d bytes", got, size)
	}
}

func FuzzSkim(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,"]"]}}`, `{"jsonrpc":"2.0","\u0069d":"\\","result":{}}`,
		`{"jsonrpc":"2.0","method":"m"}`, `{"id":-1,"error":{"id":2}}`, `{"id":[1],"method":{"method":2}}`, `}{"id":1`, `{"a":"\"","id":3}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"x"},"id":1}`,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, frame []byte, split int) {
		var s skimmer
		split = min(max(split, 0), len(frame))
		s.write(frame[:split])
		s.write(frame[split:])
		got := s.envelope()
		if len(s.part) > maxMember {
			t.Errorf("holds %d bytes", len(s.part))
		}
		if got.ID != nil && !json.Valid(got.ID) {
			t.Errorf("the id %s is not JSON", got.ID)
		}
		want, fault := rpc.ParseClientFrame(frame)
		if fault != nil || len(frame) > maxMember {
			return
		}
		if string(got.ID) != string(want.ID) || got.Method != want.Method || got.Silent != want.Silent {
			t.Errorf("got %s %q %t, want %s %q %t", got.ID, got.Method, got.Silent, want.ID, want.Method, want.Silent)
		}
	})
}
