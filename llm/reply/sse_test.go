package reply

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readEvents reads all events as "name|data".
func readEvents(r io.Reader) (out []string, err error) {
	s := newSSEReader(bufio.NewReader(r))
	for {
		name, data, err := s.next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, name+"|"+string(data))
	}
}

func TestSSERules(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1", "|2"}},
		{"comments", ": keep-alive\n\n:\ndata: 1\n: between\ndata: 2\n\n", []string{"|1\n2"}},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []string{"a|1", "|2"}},
		{"no space", "event:a\ndata:1\n\ndata:  two spaces\n\n", []string{"a|1", "| two spaces"}},
		{"several data lines", "data: {\ndata: }\n\n", []string{"|{\n}"}},
		{"no final blank line", "data: 1\n\ndata: 2\n", []string{"|1", "|2"}},
		{"no final line end", "data: 1\n\ndata: 2", []string{"|1", "|2"}},
		{"name without data", "event: a\n\ndata: 1\n\n", []string{"|1"}},
		{"empty data line", "data\n\ndata: 1\n\n", []string{"|", "|1"}},
		{"other fields", "id: 7\nretry: 10\ndata: 1\nunknown\n\n", []string{"|1"}},
		{"byte order mark", "\uFEFFdata: 1\n\n", []string{"|1"}},
		{"nothing", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in))} {
				got, err := readEvents(r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestSSELongLines(t *testing.T) {
	for _, size := range []int{64<<10 - 7, 64 << 10, 70 << 10, 1_200_000, 8 << 20, maxEvent - 10} {
		long := strings.Repeat("x", size)
		got, err := readEvents(strings.NewReader("data: " + long + "\n\ndata: y\n\n"))
		if err != nil || len(got) != 2 || len(got[0]) != size+1 || got[1] != "|y" {
			t.Errorf("%d bytes: %d events, error %v", size, len(got), err)
		}
	}
}

func TestSSEBound(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"one line":   strings.NewReader("data: " + strings.Repeat("x", maxEvent) + "\n\n"),
		"many lines": strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 40)),
	} {
		if _, err := readEvents(r); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSSEBrokenConnectionEndsNoEvent(t *testing.T) {
	r := io.MultiReader(strings.NewReader("data: 1\n\ndata: half"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := readEvents(r)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 1 {
		t.Errorf("got %q, error %v", got, err)
	}
}

func FuzzSSE(f *testing.F) {
	f.Add("event: a\r\ndata: 1\n: c\n\ndata\n")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := readEvents(strings.NewReader(in))
		slow, err2 := readEvents(iotest.OneByteReader(strings.NewReader(in)))
		if err1 != nil || err2 != nil {
			t.Fatalf("errors %v, %v", err1, err2)
		}
		if diff := cmp.Diff(whole, slow); diff != "" {
			t.Errorf("the cut of the network shows: %s", diff)
		}
	})
}

// FuzzDecode reads any bytes with both decoders: they may return an error, but must neither panic nor emit invalid
// text.
func FuzzDecode(f *testing.F) {
	f.Add(`data: {"type":"content_block_start","content_block":{"type":"text","text":"\ud83d"}}` + "\n\n" + `data: {"type":"message_stop"}`)
	f.Add(`data: {"choices":[{"delta":{"content":"x","tool_calls":[{"index":-1,"function":{"arguments":"{"}}]},"finish_reason":"length"}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		for _, decoder := range []func(*Answer) Decoder{NewAnthropicStream, NewOpenAIStream} {
			var told told
			a := &Answer{On: told.on, Tools: true, NewID: func() string { return "tc_1" }}
			err := Read(strings.NewReader(in), decoder(a), a)
			res := a.Result(err == nil)
			if shown := told.text; shown != strings.ToValidUTF8(shown, "\uFFFD") {
				t.Errorf("emitted invalid text %q", shown)
			}
			if err == nil && res.StopReason == "" {
				t.Error("ended without a stop reason")
			}
		}
	})
}
