package filecontext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPatternsMatchNames(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.go", "a.go", true},
		{"*.go", "deep/in/a.go", true},
		{"*.go", "a.gob", false},
		{"a.go", "deep/a.go", true},
		{"a", "a/b/c.go", true},
		{"/a.go", "deep/a.go", false},
		{"./src/*.go", "src/a.go", true},
		{"src/*.go", "src/deep/a.go", false},
		{"src/*.go", "other/src/a.go", false},
		{"src/", "src/deep/a.go", true},
		{"src/", "src", false},
		{"src/**", "src/deep/a.go", true},
		{"src/**/*.go", "src/a.go", true},
		{"src/**/*.go", "src/x/y/a.go", true},
		{"**/test/*.go", "x/test/a.go", true},
		{"**/*.go", "a.go", true},
		{"*.{ts,tsx}", "a.tsx", true},
		{"*.{ts,tsx}", "a.tsy", false},
		{"{src,lib}/{a,b{1,2}}.go", "lib/b2.go", true},
		{"{src,lib}/{a,b{1,2}}.go", "lib/b.go", false},
		{"a{,b}", "ab", true},
		{"a{,b}", "a", true},
		{"!*_test.go", "a.go", true},
		{"!*_test.go", "deep/a_test.go", false},
		{"!vendor/", "vendor/x/a.go", false},
		{"a?.go", "ab.go", true},
		{"a?.go", "a/.go", false},
		{"[ab].go", "b.go", true},
		{"[!ab].go", "b.go", false},
		{"a+b(c)$.go", "a+b(c)$.go", true},
		{"#a", "#a", true},
		{"ü*", "über", true},
		{" *.go ", "a.go", true},
	} {
		p, err := NewPattern(tt.pattern)
		must(t, err)
		if got := p.Match(tt.name); got != tt.want {
			t.Errorf("%s matches %s: %v", tt.pattern, tt.name, got)
		}
	}
	either, err := NewPattern("src/*.go")
	must(t, err)
	neither, err := NewPattern("!src/*.go")
	must(t, err)
	if !either.Match("a.go", "src/a.go") || neither.Match("a.go", "src/a.go") || !neither.Match("b.go", "lib/b.go") {
		t.Error("a file with several names is not matched by each of them")
	}
}

func TestInvalidPatternsAreExplained(t *testing.T) {
	for pattern, want := range map[string]string{
		"": "is empty", "!": "is empty", "  ": "is empty", "a\nb": "contains a control character", "[a": "has a [ without ]",
		"{a,b": "has a { without }", "a{b,{c,d}": "has a { without }",
		strings.Repeat("a", 1001):     "has 1001 bytes, the limit is 1000",
		strings.Repeat("{a,b}", 7):    "has more than 64 alternatives in braces",
		strings.Repeat("{a,a}", 190):  "has more than 64 alternatives in braces",
		strings.Repeat("{,}", 300):    "has more than 64 alternatives in braces",
		"{" + strings.Repeat(",", 70): "has a { without }",
	} {
		if _, err := NewPattern(pattern); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", pattern, err, want)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("src/**/*.{go,ts}", "src/a/b.go")
	f.Add("!{a,{b,c}}[!d]?\\", "b/x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		p, err := NewPattern(pattern)
		if err != nil || !utf8.ValidString(name) {
			return
		}
		if inverted, err := NewPattern("!" + pattern); err == nil && !strings.HasPrefix(strings.TrimSpace(pattern), "!") && inverted.Match(name) == p.Match(name) {
			t.Errorf("%q and its inversion both say %v of %q", pattern, p.Match(name), name)
		}
	})
}
