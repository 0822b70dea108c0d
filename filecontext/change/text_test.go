package change

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "a\r\nb\nc\rd", "\xef\xbb\xbfa\n", "\xff\xfea\x00\r\x00\n\x00", "\xfe\xff\x00a", "\xff\xfe\x00\xd8", "\xff", "\xff\xfea"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrEncoding) {
				t.Errorf("%v", err)
			}
			return
		}
		if !bytes.Equal(text.Bytes(), data) {
			t.Errorf("%q became %q", data, text.Bytes())
		}
		if strings.Contains(text.unix, "\r") || strings.Count(text.unix, "\n") != len(text.ends) || !utf8.ValidString(text.unix) {
			t.Errorf("%q has %d line ends", text.unix, len(text.ends))
		}
	})
}

func TestBytesThatAreNotTextAreNotDecoded(t *testing.T) {
	for _, data := range []string{"a\xff", "\xff\xfea", "\xff\xfe\x00\xd8", "\xfe\xff\xdc\x00"} {
		if text, err := Decode([]byte(data)); !errors.Is(err, ErrEncoding) {
			t.Errorf("%q is %+v, %v", data, text, err)
		}
	}
}

// written is a text as a list of characters and line ends, encoded without the code under test.
type written struct {
	encoding int // 0: UTF-8, 1: UTF-16LE, 2: UTF-16BE
	bom      bool
	parts    []string // characters, and line ends in their form
}

func randomWritten(r *rand.Rand) written {
	w := written{encoding: r.IntN(3)}
	w.bom = w.encoding > 0 || r.IntN(3) == 0
	ends := [][]string{{"\n"}, {"\r\n"}, {"\r"}, {"\n", "\r\n", "\r"}}[r.IntN(4)]
	letters := []string{"a", "b", "ä", "€", "😀", " ", "\t", "x"}
	for range r.IntN(60) {
		if r.IntN(4) == 0 {
			end := ends[r.IntN(len(ends))]
			if n := len(w.parts); end == "\n" && n > 0 && w.parts[n-1] == "\r" {
				end = "\r"
			}
			w.parts = append(w.parts, end)
			continue
		}
		w.parts = append(w.parts, letters[r.IntN(len(letters))])
	}
	return w
}

func (w written) encode(parts []string) []byte {
	text := []byte(strings.Join(parts, ""))
	if w.encoding == 0 {
		return text
	}
	var order binary.AppendByteOrder = binary.LittleEndian
	if w.encoding == 2 {
		order = binary.BigEndian
	}
	return encode16(string(text), order)
}

func (w written) bytes() []byte {
	mark := []string{}
	if w.bom {
		mark = append(mark, byteOrderMark)
	}
	return w.encode(append(mark, w.parts...))
}

func unixOf(parts []string) string {
	var b strings.Builder
	for _, part := range parts {
		if strings.HasPrefix(part, "\r") {
			part = "\n"
		}
		b.WriteString(part)
	}
	return b.String()
}

// Everything outside of an edit stays byte for byte as it was.
func TestAnEditKeepsEverythingElse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edits := 0
	for range 20_000 {
		w := randomWritten(r)
		if len(w.parts) == 0 {
			continue
		}
		start := r.IntN(len(w.parts))
		end := start + 1 + r.IntN(len(w.parts)-start)
		e := Edit{OldText: unixOf(w.parts[start:end]), NewText: unixOf(randomWritten(r).parts)}
		if r.IntN(2) == 0 {
			e.OldText, e.NewText = strings.ReplaceAll(e.OldText, "\n", "\r\n"), strings.ReplaceAll(e.NewText, "\n", "\r\n")
		}
		text, err := Decode(w.bytes())
		must(t, err)
		after, covered, err := text.Edited([]Edit{e})
		if err != nil {
			continue // it occurs twice, or changes nothing
		}
		edits++
		head, tail := w.encode(w.parts[:start]), w.encode(w.parts[end:])
		if w.bom {
			head = append(w.encode([]string{byteOrderMark}), head...)
		}
		got := after.Bytes()
		if joined(w.parts[:start], w.parts[end:], e.NewText) {
			continue
		}
		if !bytes.HasPrefix(got, head) || !bytes.HasSuffix(got, tail) || len(got) < len(head)+len(tail) {
			t.Fatalf("%+v\n%q: %+v became %q", w, w.bytes(), e, got)
		}
		again, err := Decode(got)
		must(t, err)
		if again.unix != unixOf(w.parts[:start])+unixEnds(e.NewText)+unixOf(w.parts[end:]) {
			t.Fatalf("%q: %+v became %q", w.bytes(), e, again.unix)
		}
		if len(covered) == 0 {
			t.Fatalf("%q: %+v covers no line", w.bytes(), e)
		}
	}
	if edits < 5000 {
		t.Errorf("only %d edits were made", edits)
	}
}

// joined reports whether an edit puts a CR and an LF together, which would be one line end.
func joined(head, tail []string, text string) bool {
	ends := func(parts []string) bool { return len(parts) > 0 && parts[len(parts)-1] == "\r" }
	starts := len(tail) > 0 && tail[0] == "\n"
	return starts && (text == "" && ends(head) || strings.HasSuffix(text, "\n")) || ends(head) && strings.HasPrefix(text, "\n")
}

func TestAJoinedCRAndLFStayTwoLineEnds(t *testing.T) {
	text, err := Decode([]byte("a\rb\nc"))
	must(t, err)
	after, _, err := text.Edited([]Edit{{OldText: "b"}})
	must(t, err)
	equal(t, "after", string(after.Bytes()), "a\r\r\nc")
	again, err := Decode(after.Bytes())
	must(t, err)
	equal(t, "read again", again.unix, after.unix)
}

func TestEditsAreMadeOneAfterTheOther(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	made := 0
	for range 5000 {
		w := randomWritten(r)
		text, err := Decode(w.bytes())
		must(t, err)
		var edits []Edit
		step := text
		for range 3 {
			runes := []rune(step.unix)
			if len(runes) == 0 {
				break
			}
			start := r.IntN(len(runes))
			e := Edit{OldText: string(runes[start : start+1+r.IntN(len(runes)-start)]), NewText: unixOf(randomWritten(r).parts), ReplaceAll: r.IntN(2) == 0}
			next, _, err := step.Edited([]Edit{e})
			if err != nil {
				continue
			}
			edits, step = append(edits, e), next
		}
		after, _, err := text.Edited(edits)
		if len(edits) == 0 || step.unix == text.unix {
			continue
		}
		must(t, err)
		made++
		if !bytes.Equal(after.Bytes(), step.Bytes()) {
			t.Fatalf("%q: %+v became %q, one by one %q", w.bytes(), edits, after.Bytes(), step.Bytes())
		}
	}
	if made < 1000 {
		t.Errorf("only %d texts were edited", made)
	}
}

func TestNewLinesGetTheEndOfTheirNeighbours(t *testing.T) {
	for _, tt := range []struct{ text, old, new, want string }{
		{"a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"},
		{"a\r\nb\nc\r\n", "b\n", "b\nx\n", "a\r\nb\nx\r\nc\r\n"},
		{"a\rb\rc", "c", "c\nd", "a\rb\rc\rd"},
		{"a", "a", "a\nb\n", "a\nb\n"},
		{"a\r\nb\nc\rd", "a\nb\nc\nd", "A\nB\nC\nD", "A\r\nB\nC\rD"}, // as many lines: each keeps its end
		{"a\r\nb\nc\rd", "a\nb\nc\nd", "A", "A"},
		{"a\n\r\nb", "a\n\nb", "a\n\nB", "a\n\r\nB"},
	} {
		text, err := Decode([]byte(tt.text))
		must(t, err)
		after, _, err := text.Edited([]Edit{{OldText: tt.old, NewText: tt.new}})
		must(t, err)
		equal(t, tt.text, string(after.Bytes()), tt.want)
	}
}

func TestARewrittenFileKeepsTheEndsOfLinesThatStay(t *testing.T) {
	for _, tt := range []struct{ text, content, want string }{
		{"a\r\nb\nc\r\n", "a\nB\nc\n", "a\r\nB\nc\r\n"},
		{"a\r\nb\r\n", "a\nb\nc\n", "a\r\nb\r\nc\r\n"},
		{"\ufeffa\r\n", "x\ny\n", "\ufeffx\r\ny\r\n"},
		{"\ufeffa\r\n", "\ufeffa\nb", "\ufeffa\r\nb"},
		{"a\nb\r\nc\nd\r\n", "b\nd\n", "b\r\nd\r\n"},
		{"", "a\nb", "a\nb"},
		{"a\n", "", ""},
	} {
		text, err := Decode([]byte(tt.text))
		must(t, err)
		after := text.Rewritten(tt.content)
		equal(t, tt.text, string(after.Bytes()), tt.want)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		w, content := randomWritten(r), unixOf(randomWritten(r).parts)
		text, err := Decode(w.bytes())
		must(t, err)
		after := text.Rewritten(content)
		if after.unix != content || after.bom != w.bom {
			t.Fatalf("%q became %q, want %q", w.bytes(), after.Bytes(), content)
		}
		again, err := Decode(after.Bytes())
		must(t, err)
		if again.unix != content {
			t.Fatalf("%q became %q, want %q", w.bytes(), again.unix, content)
		}
	}
}
