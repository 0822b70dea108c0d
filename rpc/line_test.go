package rpc

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func readAll(s Stream) (frames []string, err error) {
	for err == nil {
		err = s.ReadFrame(func(frame []byte) error {
			frames = append(frames, string(frame))
			return nil
		})
	}
	return frames, err
}

func TestLineStreamReads(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, tc := range []struct {
		name, in string
		want     []string
		tooBig   bool
	}{
		{"lines", "{}\n[]\n", []string{"{}", "[]"}, false},
		{"no final newline", "{}\n[]", []string{"{}", "[]"}, false},
		{"CRLF", "{}\r\n[]\r\n", []string{"{}", "[]"}, false},
		{"blank lines", "\n\n{}\n \t\r\n[]\n\n", []string{"{}", "[]"}, false},
		{"empty", "", nil, false},
		{"longer than a buffer", long + "\n{}\n", []string{long, "{}"}, false},
		{"as long as allowed", strings.Repeat(long, 2) + "\n", []string{strings.Repeat(long, 2)}, false},
		{"too long", "{}\n" + strings.Repeat(long, 2) + "x\n{}\n", []string{"{}"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewLineStream(strings.NewReader(tc.in), io.Discard, closers{}, Limits{FrameBytes: 20_000})
			got, err := readAll(s)
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %.200q", got)
			}
			closed, ok := errors.AsType[*CloseError](err)
			if tc.tooBig != (ok && closed.Code == closeTooBig) || !tc.tooBig && err != io.EOF {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestLineStreamWritesOneLine(t *testing.T) {
	var out bytes.Buffer
	s := NewLineStream(nil, &out, closers{}, Limits{})
	for _, frame := range []string{"{}", "{\n\"a\":\n1}\n"} {
		if err := s.WriteFrame([]byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "{}\n{ \"a\": 1} \n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestLineStreamGivesUpOnAStalledPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s := NewLineStream(r, w, closers{r, w}, Limits{})
		start := time.Now()
		if err := s.WriteFrame([]byte("{}")); err == nil {
			t.Error("no error")
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
