// Package fileuri reads `file:` URIs (RFC 8089) as editors write them, with lines in their fragments.
//
// It must never look at the disk.
package fileuri

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"strata/internal/lazy"
)

// URI is the content of a `file:` URI.
type URI struct {
	Path   string // absolute, with forward slashes
	Lines  Lines
	Symbol bool // it names a symbol of the file
}

// Lines is an inclusive range of lines, counted from 1. The zero Lines are the whole file.
type Lines struct{ First, Last int }

// Is reports whether text has the scheme `file:`.
func Is(text string) bool {
	const scheme = "file:"
	return len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme)
}

// Parse returns the content of a `file:` URI. It decodes once and refuses URIs that other software could interpret
// differently: with an encoded separator, a NUL, another host, or a query other than the name of a symbol or a column, which
// editors add to the lines of the symbol or of the cursor. windows selects the rules for drive letters.
func Parse(uri string, windows bool) (u URI, ok bool) {
	path, fragment, _ := strings.Cut(uri[len("file:"):], "#")
	if u.Lines, ok = parseLines(fragment); !ok {
		return URI{}, false
	}
	if at := strings.IndexByte(path, '?'); at >= 0 && placeQuery().MatchString(path[at:]) {
		path, u.Symbol = path[:at], path[at+1] == 's'
	}
	if path, ok = cutHost(path); !ok || !unambiguous(path) {
		return URI{}, false
	}
	path, err := url.PathUnescape(path)
	if err != nil || !utf8.ValidString(path) || strings.HasPrefix(path, "//") {
		return URI{}, false
	}
	if windows {
		path, ok = cutDrive(path)
	}
	u.Path = path
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
func parseLines(fragment string) (Lines, bool) {
	if len(fragment) < 2 || fragment[0] != 'L' || fragment[1] < '0' || fragment[1] > '9' {
		return Lines{}, true
	}
	m := lineFragment().FindStringSubmatch(fragment)
	if m == nil {
		return Lines{}, false
	}
	first, last := m[1], m[2]
	if last == "" {
		last = first
	}
	start, err := strconv.Atoi(first)
	if err != nil {
		return Lines{}, false
	}
	end, err := strconv.Atoi(last)
	if err != nil {
		return Lines{}, false
	}
	lines := Lines{start, end}
	return lines, 1 <= lines.First && lines.First <= lines.Last
}
