package clip

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"añ漢😀", 0, ""},
		{"añ漢😀", -1, ""},
		{"añ漢😀", 2, "a"},
		{"añ漢😀", 3, "añ"},
		{"añ漢😀", 5, "añ"},
		{"añ漢😀", 6, "añ漢"},
		{"añ漢😀", 9, "añ漢"},
		{"añ漢😀", 10, "añ漢😀"},
		{"añ漢😀", 99, "añ漢😀"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80"},
	} {
		if got := Bytes(c.text, c.n); got != c.want {
			t.Errorf("Bytes(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func FuzzBytes(f *testing.F) {
	f.Add("añ漢😀", 3)
	f.Add("\x80\x80\x80\x80\x80\x80", 5)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n >= len(text) {
			return
		}
		got := Bytes(text, n)
		if !strings.HasPrefix(text, got) || len(got) > n || len(got) < n-utf8.UTFMax {
			t.Errorf("%q shortened to %d bytes is %q", text, n, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q shortened to %d bytes breaks a character: %q", text, n, got)
		}
	})
}

func TestChunks(t *testing.T) {
	const size = 1000
	for _, c := range []string{"x", "ü", "漢", "😀"} {
		for _, extra := range []string{"", "x", "xx", "xxx"} {
			whole := extra + strings.Repeat(c, 3*size/len(c))
			chunks := Chunks(whole, size)
			if strings.Join(chunks, "") != whole || len(chunks) < 3 || len(chunks) > 4 {
				t.Errorf("%s after %q: %d chunks", c, extra, len(chunks))
			}
			for _, chunk := range chunks {
				if len(chunk) > size || !utf8.ValidString(chunk) || chunk == "" {
					t.Errorf("%s after %q: a chunk of %d bytes, valid %v", c, extra, len(chunk), utf8.ValidString(chunk))
				}
			}
		}
	}
	if Chunks("", size) != nil || len(Chunks(strings.Repeat("x", size), size)) != 1 {
		t.Error("short texts")
	}
}

func TestChars(t *testing.T) {
	for _, c := range []struct {
		n           int
		first, last string
	}{{-1, "", ""}, {0, "", ""}, {1, "a", "😀"}, {3, "añ漢", "ñ漢😀"}, {4, "añ漢😀", "añ漢😀"}, {9, "añ漢😀", "añ漢😀"}} {
		if got := Chars("añ漢😀", c.n); got != c.first {
			t.Errorf("the first %d are %q, want %q", c.n, got, c.first)
		}
		if got := LastChars("añ漢😀", c.n); got != c.last {
			t.Errorf("the last %d are %q, want %q", c.n, got, c.last)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{" one\n two\t", 20, "one two"},
		{"one two", 7, "one two"},
		{"one two", 6, "one t…"},
		{"one two", 5, "one…"},
		{"漢字漢字", 3, "漢字…"},
		{"", 3, ""},
	} {
		if got := Line(c.text, c.n); got != c.want {
			t.Errorf("Line(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{strings.Repeat("a", 50) + strings.Repeat("z", 50), 40, "aaaaaaa\n[86 characters omitted]\nzzzzzzz"},
		{strings.Repeat("ä", 100), 10, "[100 chara"},
		{"abc", 0, ""},
	} {
		if got := Middle(c.text, c.n); got != c.want || utf8.RuneCountInString(got) > max(c.n, 0) {
			t.Errorf("Middle(%.10q, %d) = %q", c.text, c.n, got)
		}
	}
}

func TestName(t *testing.T) {
	long := strings.Repeat("é", 60)
	for name, want := range map[string]string{"": "", "short": "short", long[:100]: long[:100], long: long[:100] + "…", "x" + long: "x" + long[:98] + "…"} {
		if got := Name(name); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
}
