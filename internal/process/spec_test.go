//go:build unix

package process

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestASpecArrivesAsItWasSent(t *testing.T) {
	for _, s := range []spec{
		{Command: Command{Path: "/bin/sh", Dir: "/", Args: []string{}, Env: []string{}}},
		{Command: Command{Path: "sh", Dir: "/x", Args: []string{"", "-c", "\xff\n"}, Env: []string{"A=", "B=\xfe"}}, groupOnly: true},
		{Command: Command{Path: "/bin/sh", Dir: "/", Args: []string{}, Env: []string{"A=b"}}},
	} {
		sent, err := s.encode()
		must(t, err)
		r := io.MultiReader(bytes.NewReader(sent), strings.NewReader("order"))
		got, err := readSpec(r)
		if diff := cmp.Diff(s, got, cmp.AllowUnexported(spec{})); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "order" {
			t.Errorf("after the spec: %q", rest)
		}
	}
}

func FuzzDecode(f *testing.F) {
	good, err := spec{Command: Command{Path: "/p", Dir: "/d", Args: []string{"a"}, Env: []string{"E=1"}}}.encode()
	must(f, err)
	f.Add(good)
	f.Add([]byte("\x00\x00\x00\x0a0\x00false\x00/\x00"))
	f.Add([]byte("\x00\x00\x00\x0e1\x00true\x00/\x00/\x009\x00a"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s, err := readSpec(bytes.NewReader(sent))
		if err != nil {
			if !errors.Is(err, errOtherProtocol) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				t.Errorf("error %v", err)
			}
			return
		}
		again, err := s.encode()
		must(t, err)
		back, err := readSpec(bytes.NewReader(again))
		if diff := cmp.Diff(s, back, cmp.AllowUnexported(spec{})); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}
