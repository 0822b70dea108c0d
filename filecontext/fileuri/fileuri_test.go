package fileuri

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// F39: the forms of editors, also those of Zed, are among these.
func TestF39ParseURI(t *testing.T) {
	tests := []struct {
		uri   string
		path  string // empty: refused
		lines Lines
	}{
		{"file:///w/a.go", "/w/a.go", Lines{}},
		{"file://localhost/w/a.go", "/w/a.go", Lines{}},
		{"FILE://LocalHost/w/a.go", "/w/a.go", Lines{}},
		{"file:/w/a.go", "/w/a.go", Lines{}},
		{"file:///w/a%20b%C3%A4.go", "/w/a bä.go", Lines{}},
		{"file:///w/100%25.go", "/w/100%.go", Lines{}},
		{"file:///w/%252e%252e/a", "/w/%2e%2e/a", Lines{}}, // decoded once
		{"file:///w/a+b", "/w/a+b", Lines{}},
		{"file:///w/%2e%2e/a", "/w/../a", Lines{}}, // leads out by name, which Locate detects
		{"file:///w/a%23L3", "/w/a#L3", Lines{}},
		{"file:///w/a#L10-L20", "/w/a", Lines{10, 20}},
		{"file:///w/a#L10-20", "/w/a", Lines{10, 20}},
		{"file:///w/a#L10", "/w/a", Lines{10, 10}},
		{"file:///w/a#L5:7", "/w/a", Lines{5, 7}},
		{"file:///w/a#L5:L7", "/w/a", Lines{5, 7}},
		{"file:///w/a#L5C3-L7C1", "/w/a", Lines{5, 7}},
		{"file:///w/a?symbol=f#L5:7", "/w/a", Lines{5, 7}},
		{"file:///w/a?symbol=f", "/w/a", Lines{}},
		{"file:///w/a?column=3#L5:5", "/w/a", Lines{5, 5}},
		{"file:///w/a?symbol=a%2Fb%00?symbol=c&symbol=%zz#L5", "/w/a", Lines{5, 5}}, // the name is not read
		{"file:///w/a%3Fsymbol=f#L5:7", "/w/a?symbol=f", Lines{5, 7}},
		{"file:///w/a#L1:999999999999", "/w/a", Lines{1, 999999999999}},
		{"file:///w/a/", "/w/a/", Lines{}},
		{"file:///w/README.md#Licence", "/w/README.md", Lines{}},
		{"file:///w/README.md#usage", "/w/README.md", Lines{}},
		{"file:///w/a#", "/w/a", Lines{}},

		{"file:///w/a#L0", "", Lines{}},
		{"file:///w/a#L20-L10", "", Lines{}},
		{"file:///w/a#L1-L", "", Lines{}},
		{"file:///w/a#L99999999999999999999", "", Lines{}},
		{"file:///w/a#L999999999999:1", "", Lines{}},
		{"file:///w/a#L5:7:9", "", Lines{}},
		{"file:///w/a#L5:", "", Lines{}},
		{"file:///w/a#L5:-7", "", Lines{}},
		{"file:///w/a#L5:x", "", Lines{}},
		{"file:///w/a?line=5", "", Lines{}},
		{"file:///w/a?symbols=f", "", Lines{}},
		{"file:///w/a?column=#L5", "", Lines{}},
		{"file:///w/a?column=3&x=4#L5", "", Lines{}},
		{"file://?symbol=f", "", Lines{}},
		{"file://server/share/a", "", Lines{}},
		{"file:////server/share/a", "", Lines{}},
		{"file://localhost//server/share", "", Lines{}},
		{"file:///w%2fa", "", Lines{}},
		{"file:///w%5Ca", "", Lines{}},
		{`file:///w\a`, "", Lines{}},
		{"file:///w/a%00b", "", Lines{}},
		{"file:///w/a?x=1", "", Lines{}},
		{"file:///w/a%zz", "", Lines{}},
		{"file:///w/a%", "", Lines{}},
		{"file:///w/%ff", "", Lines{}},
		{"file:a.go", "", Lines{}},
		{"file:", "", Lines{}},
		{"file://", "", Lines{}},
		{"file://localhost", "", Lines{}},
	}
	for _, tt := range tests {
		u, ok := Parse(tt.uri, false)
		if ok != (tt.path != "") || ok && (u.Path != tt.path || u.Lines != tt.lines) {
			t.Errorf("Parse(%q) = %q, %v, %v, want %q, %v", tt.uri, u.Path, u.Lines, ok, tt.path, tt.lines)
		}
	}
}

func TestParseURIOnWindows(t *testing.T) {
	tests := []struct{ uri, path string }{
		{"file:///c:/w/a.go?symbol=f#L5:7", "C:/w/a.go"},
		{"file:///c%3A/w/a.go", "C:/w/a.go"},
		{"file:///C:/w/a.go", "C:/w/a.go"},
		{"file:///w/a.go", ""},
		{"file:///c:", ""},
		{"file:///c:w/a", ""},
		{"file:///1:/w", ""},
		{"file:///c:/a.txt:stream", ""},
		{"file://server/c:/a", ""},
		{"file:////?/c:/a", ""},
	}
	for _, tt := range tests {
		u, ok := Parse(tt.uri, true)
		if ok != (tt.path != "") || ok && u.Path != tt.path {
			t.Errorf("Parse(%q) = %q, %v, want %q", tt.uri, u.Path, ok, tt.path)
		}
	}
}

func FuzzParseURI(f *testing.F) {
	for _, uri := range []string{"file:///w/a#L10-L20", "file://localhost/c%3A/x", "file:/%2e%2e", "file:////x", "file:///%2F", "file:///a?symbol=f#L5:7"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if !Is(uri) {
			return
		}
		u, ok := Parse(uri, false)
		if !ok {
			return
		}
		path, lines := u.Path, u.Lines
		if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsRune(path, 0) || !utf8.ValidString(path) {
			t.Errorf("%q has the path %q", uri, path)
		}
		if lines != (Lines{}) && (lines.First < 1 || lines.Last < lines.First) {
			t.Errorf("%q has the lines %v", uri, lines)
		}
		Parse(uri, true)
	})
}
