package filecontext

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
		lines Range
	}{
		{"file:///w/a.go", "/w/a.go", Range{}},
		{"file://localhost/w/a.go", "/w/a.go", Range{}},
		{"FILE://LocalHost/w/a.go", "/w/a.go", Range{}},
		{"file:/w/a.go", "/w/a.go", Range{}},
		{"file:///w/a%20b%C3%A4.go", "/w/a bä.go", Range{}},
		{"file:///w/100%25.go", "/w/100%.go", Range{}},
		{"file:///w/%252e%252e/a", "/w/%2e%2e/a", Range{}}, // decoded once
		{"file:///w/a+b", "/w/a+b", Range{}},
		{"file:///w/%2e%2e/a", "/w/../a", Range{}}, // leads out by name, which Locate detects
		{"file:///w/a%23L3", "/w/a#L3", Range{}},
		{"file:///w/a#L10-L20", "/w/a", Range{10, 20}},
		{"file:///w/a#L10-20", "/w/a", Range{10, 20}},
		{"file:///w/a#L10", "/w/a", Range{10, 10}},
		{"file:///w/a#L5:7", "/w/a", Range{5, 7}},
		{"file:///w/a#L5:L7", "/w/a", Range{5, 7}},
		{"file:///w/a#L5C3-L7C1", "/w/a", Range{5, 7}},
		{"file:///w/a?symbol=f#L5:7", "/w/a", Range{5, 7}},
		{"file:///w/a?symbol=f", "/w/a", Range{}},
		{"file:///w/a?column=3#L5:5", "/w/a", Range{5, 5}},
		{"file:///w/a?symbol=a%2Fb%00?symbol=c&symbol=%zz#L5", "/w/a", Range{5, 5}}, // the name is not read
		{"file:///w/a%3Fsymbol=f#L5:7", "/w/a?symbol=f", Range{5, 7}},
		{"file:///w/a#L1:999999999999", "/w/a", Range{1, 999999999999}},
		{"file:///w/a/", "/w/a/", Range{}},
		{"file:///w/README.md#Licence", "/w/README.md", Range{}},
		{"file:///w/README.md#usage", "/w/README.md", Range{}},
		{"file:///w/a#", "/w/a", Range{}},

		{"file:///w/a#L0", "", Range{}},
		{"file:///w/a#L20-L10", "", Range{}},
		{"file:///w/a#L1-L", "", Range{}},
		{"file:///w/a#L99999999999999999999", "", Range{}},
		{"file:///w/a#L999999999999:1", "", Range{}},
		{"file:///w/a#L5:7:9", "", Range{}},
		{"file:///w/a#L5:", "", Range{}},
		{"file:///w/a#L5:-7", "", Range{}},
		{"file:///w/a#L5:x", "", Range{}},
		{"file:///w/a?line=5", "", Range{}},
		{"file:///w/a?symbols=f", "", Range{}},
		{"file:///w/a?column=#L5", "", Range{}},
		{"file:///w/a?column=3&x=4#L5", "", Range{}},
		{"file://?symbol=f", "", Range{}},
		{"file://server/share/a", "", Range{}},
		{"file:////server/share/a", "", Range{}},
		{"file://localhost//server/share", "", Range{}},
		{"file:///w%2fa", "", Range{}},
		{"file:///w%5Ca", "", Range{}},
		{`file:///w\a`, "", Range{}},
		{"file:///w/a%00b", "", Range{}},
		{"file:///w/a?x=1", "", Range{}},
		{"file:///w/a%zz", "", Range{}},
		{"file:///w/a%", "", Range{}},
		{"file:///w/%ff", "", Range{}},
		{"file:a.go", "", Range{}},
		{"file:", "", Range{}},
		{"file://", "", Range{}},
		{"file://localhost", "", Range{}},
	}
	for _, tt := range tests {
		u, ok := parseURI(tt.uri, false)
		if ok != (tt.path != "") || ok && (u.path != tt.path || u.lines != tt.lines) {
			t.Errorf("parseURI(%q) = %q, %v, %v, want %q, %v", tt.uri, u.path, u.lines, ok, tt.path, tt.lines)
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
		u, ok := parseURI(tt.uri, true)
		if ok != (tt.path != "") || ok && u.path != tt.path {
			t.Errorf("parseURI(%q) = %q, %v, want %q", tt.uri, u.path, ok, tt.path)
		}
	}
}

func FuzzParseURI(f *testing.F) {
	for _, uri := range []string{"file:///w/a#L10-L20", "file://localhost/c%3A/x", "file:/%2e%2e", "file:////x", "file:///%2F", "file:///a?symbol=f#L5:7"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if !isURI(uri) {
			return
		}
		u, ok := parseURI(uri, false)
		if !ok {
			return
		}
		path, lines := u.path, u.lines
		if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsRune(path, 0) || !utf8.ValidString(path) {
			t.Errorf("%q has the path %q", uri, path)
		}
		if !lines.valid() {
			t.Errorf("%q has the lines %v", uri, lines)
		}
		parseURI(uri, true)
	})
}
