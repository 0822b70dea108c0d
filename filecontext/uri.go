package filecontext

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"strata/internal/lazy"
)

// Range is an inclusive range of lines, counted from 1. The zero Range is the whole file.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// IsWhole reports whether r is the whole file.
func (r Range) IsWhole() bool { return r == Range{} }

func (r Range) valid() bool { return r.IsWhole() || 1 <= r.Start && r.Start <= r.End }

// isURI reports whether text has the scheme `file:`.
func isURI(text string) bool {
	const scheme = "file:"
	return len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme)
}

// fileURI is the content of a `file:` URI.
type fileURI struct {
	path   string // absolute, with forward slashes
	lines  Range
	symbol bool // it names a symbol of the file
}

// parseURI returns the content of a `file:` URI (RFC 8089). It decodes once and refuses URIs that other software could
// interpret differently: with an encoded separator, a NUL, another host, or a query other than the name of a symbol or a
// column, which editors add to the lines of the symbol or of the cursor. windows selects the rules for drive letters.
func parseURI(uri string, windows bool) (u fileURI, ok bool) {
	path, fragment, _ := strings.Cut(uri[len("file:"):], "#")
	if u.lines, ok = parseLines(fragment); !ok {
		return fileURI{}, false
	}
	if at := strings.IndexByte(path, '?'); at >= 0 && placeQuery().MatchString(path[at:]) {
		path, u.symbol = path[:at], path[at+1] == 's'
	}
	if path, ok = cutHost(path); !ok || !unambiguous(path) {
		return fileURI{}, false
	}
	path, err := url.PathUnescape(path)
	if err != nil || !utf8.ValidString(path) || strings.HasPrefix(path, "//") {
		return fileURI{}, false
	}
	if windows {
		path, ok = cutDrive(path)
	}
	u.path = path
	return u, ok
}

// placeQuery is the name of a symbol, which is not looked up, or the column of a cursor, as Zed writes it, which is ignored.
var placeQuery = lazy.Regexp(`^\?(?:symbol=|column=[0-9]+$)`)

// cutHost removes the authority. It returns false if this is not the local host, and for a relative path.
func cutHost(path string) (string, bool) {
	if rest, found := strings.CutPrefix(path, "//"); found {
		host, _, _ := strings.Cut(rest, "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", false
		}
		path = rest[len(host):]
	}
	return path, strings.HasPrefix(path, "/")
}

// unambiguous reports whether all software decodes the encoded path in the same way.
func unambiguous(path string) bool {
	if strings.ContainsAny(path, "?\\\x00") {
		return false
	}
	upper := strings.ToUpper(path)
	return !strings.Contains(upper, "%2F") && !strings.Contains(upper, "%5C") && !strings.Contains(upper, "%00")
}

// cutDrive converts /c:/folder to C:/folder.
func cutDrive(path string) (string, bool) {
	if len(path) < 4 || path[2] != ':' || path[3] != '/' || strings.Contains(path[3:], ":") {
		return "", false
	}
	letter := path[1] &^ 0x20
	return string(letter) + path[2:], 'A' <= letter && letter <= 'Z'
}

// lineFragment is a line or two of them: L10, L10-L20, L10-20, L10:20 (as Zed writes lines 10 to 20), with columns that are
// ignored.
var lineFragment = lazy.Regexp(`^L([0-9]+)(?:C[0-9]+)?(?:[-:]L?([0-9]+)(?:C[0-9]+)?)?$`)

// parseLines returns the lines of a fragment. Other fragments than those of lines are ignored: the result is the whole file.
func parseLines(fragment string) (Range, bool) {
	if len(fragment) < 2 || fragment[0] != 'L' || fragment[1] < '0' || fragment[1] > '9' {
		return Range{}, true
	}
	m := lineFragment().FindStringSubmatch(fragment)
	if m == nil {
		return Range{}, false
	}
	first, last := m[1], m[2]
	if last == "" {
		last = first
	}
	start, err := strconv.Atoi(first)
	if err != nil {
		return Range{}, false
	}
	end, err := strconv.Atoi(last)
	if err != nil {
		return Range{}, false
	}
	lines := Range{start, end}
	return lines, lines.Start > 0 && lines.valid()
}
