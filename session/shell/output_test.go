package shell

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"strata/session/tools"
)

// outputs are outputs with the texts that the model and clients see.
var outputs = map[string]struct{ out, kept, live string }{
	"text":                         {"a\nb\n", "a\nb\n", "a\nb\n"},
	"other languages":              {"Ünïcödé 漢字 😀\n", "Ünïcödé 漢字 😀\n", "Ünïcödé 漢字 😀\n"},
	"Windows line ends":            {"a\r\nb\r\n", "a\nb\n", "a\nb\n"},
	"doubled carriage returns":     {"a\r\r\nb", "a\nb", "a\nb"},
	"a progress bar":               {"10%\r20%\r100%\ndone\n", "100%\ndone\n", "10%\n20%\n100%\ndone\n"},
	"returns before the text":      {"\r1\r2\n", "2\n", "1\n2\n"},
	"a return at the end":          {"10%\r", "10%", "10%"},
	"a spinner":                    {"|\b/\b-\bok\n", "ok\n", "|/-ok\n"},
	"a backspace too many":         {"é\b\bx\n", "x\n", "éx\n"},
	"colors":                       {"\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mx\x1b[m\n", "red x\n", "red x\n"},
	"one character for two":        {"\u009b31mred\u009b0m\n", "red\n", "red\n"},
	"a title":                      {"\x1b]0;my title\aa\x1b]0;t\x1b\\b\n", "ab\n", "ab\n"},
	"a link":                       {"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\\n", "text\n", "text\n"},
	"a character set":              {"\x1b(Ba\x1b=b\x1bMc\n", "abc\n", "abc\n"},
	"a sequence without its end":   {"a\x1b]0;b\nc\x1b[3\nd\x1b", "a\nc\nd", "a\nc\nd"},
	"a string that is very long":   {"\x1b]" + strings.Repeat("x", maxString) + "yz", "z", "z"},
	"control characters":           {"a\x00b\x07c\x7fd\u0085e\tf\n", "abcde\tf\n", "abcde\tf\n"},
	"bytes that are not UTF-8":     {"a\xff\xc3(\xe6\xbc\n", "a\ufffd\ufffd(\ufffd\ufffd\n", "a\ufffd\ufffd(\ufffd\ufffd\n"},
	"a part of a character at end": {"a\xe6\xbc", "a\ufffd", "a\ufffd"},
	"nothing but blanks":           {" \n\r\n", "(no output)", " \n\n"},
}

func TestOutputs(t *testing.T) {
	for name, test := range outputs {
		for _, size := range []int{1, 2, 3, len(test.out)} {
			var o output
			for rest := test.out; rest != ""; {
				n := min(size, len(rest))
				_, err := o.Write([]byte(rest[:n]))
				must(t, err)
				rest = rest[n:]
			}
			equal(t, fmt.Sprintf("%s in parts of %d bytes, kept", name, size), o.text(1000), test.kept)
			newest, _ := o.newest()
			equal(t, fmt.Sprintf("%s in parts of %d bytes, live", name, size), newest.Text, test.live)
			if newest.End != int64(len(test.live)) {
				t.Errorf("%s: end %d", name, newest.End)
			}
		}
	}
}

func TestReducedOutputs(t *testing.T) {
	var o output
	for i := range 30_000 {
		fmt.Fprintf(&o, "line %d\n", i)
	}
	for _, limit := range []int{500, 5000, tools.MaxResult} {
		text := o.text(limit)
		head, rest, _ := strings.Cut(text, "\n[")
		note, tail, _ := strings.Cut(rest, " omitted]\n")
		shown := strings.Count(head, "\n") + 1 + strings.Count(tail, "\n")
		var lines, size int
		if _, err := fmt.Sscanf(note, "%d lines, %d bytes", &lines, &size); err != nil || lines+shown != 30_000 || size+len(head)+1+len(tail) != 318_890 {
			t.Errorf("limit %d: %q, %v, %d lines shown", limit, note, err, shown)
		}
		if len(text) > limit || len(text) < limit*8/10 || !strings.HasPrefix(head, "line 0\n") || !strings.HasSuffix(tail, "\nline 29999\n") ||
			!strings.HasPrefix(tail, "line ") || len(head) > len(tail) {
			t.Errorf("limit %d: %d bytes, %q", limit, len(text), short(text))
		}
	}
}

// What clients see is the newest whole lines, and nothing that they have seen is taken back.
func TestTheShownOutput(t *testing.T) {
	var o output
	if _, changed := o.newest(); changed {
		t.Error("changed without output")
	}
	all := ""
	for i := range 3000 {
		all += fmt.Sprintf("%d: 漢字\n", i)
		fmt.Fprintf(&o, "%d: 漢字\n", i)
		newest, changed := o.newest()
		if !changed || newest.End != int64(len(all)) || !strings.HasSuffix(all, newest.Text) || len(newest.Text) > tools.MaxShownOutput ||
			!strings.Contains(newest.Text, ": ") || newest.Text[0] < '0' || newest.Text[0] > '9' {
			t.Fatalf("%+v, changed %t", newest, changed)
		}
		if _, changed := o.newest(); changed {
			t.Fatal("changed twice")
		}
	}
}

// An output of any size is kept in little memory.
func TestAnOutputIsBounded(t *testing.T) {
	for name, part := range map[string]string{
		"lines": strings.Repeat("line\n", 1000), "one line": strings.Repeat("x", 5000), "redrawn": strings.Repeat("x\r", 2500),
		"characters": strings.Repeat("漢", 1500), "a sequence": "\x1b]" + strings.Repeat("x", 5000), "returns": strings.Repeat("\r", 5000),
	} {
		var o output
		for range 1000 {
			_, err := o.Write([]byte(part))
			must(t, err)
		}
		if n := cap(o.kept.head) + cap(o.kept.tail.data) + cap(o.kept.line) + cap(o.live.newest.data) + cap(o.plain.partial); n > 8*tools.MaxResult {
			t.Errorf("%s: %d bytes", name, n)
		}
		if text := o.text(3000); len(text) > 3000 || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes", name, len(text))
		}
	}
}

func FuzzOutput(f *testing.F) {
	for _, test := range outputs {
		f.Add([]byte(test.out), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(1, min(size, 1<<10))
		var whole, parts output
		_, _ = whole.Write(data)
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, _ = parts.Write(rest[:min(size, len(rest))])
		}
		text := whole.text(2000)
		if len(text) > 2000 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\r\b") {
			t.Errorf("%q", text)
		}
		if other := parts.text(2000); other != text && len(data) < maxRedrawn {
			t.Errorf("%q in parts, %q", other, text)
		}
		a, _ := whole.newest()
		b, _ := parts.newest()
		if a != b || len(a.Text) > tools.MaxShownOutput || !utf8.ValidString(a.Text) {
			t.Errorf("shown %+v, in parts %+v", a, b)
		}
	})
}
