package filecontext

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
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

// parseURI returns the absolute path, with forward slashes, and the lines of a `file:` URI (RFC 8089).
// It decodes once and refuses URIs that other software could interpret differently: with an encoded separator, a NUL,
// another host, or a query. windows selects the rules for drive letters.
func parseURI(uri string, windows bool) (path string, lines Range, ok bool) {
	path, fragment, _ := strings.Cut(uri[len("file:"):], "#")
	if lines, ok = parseLines(fragment); !ok {
		return "", Range{}, false
	}
	if path, ok = cutHost(path); !ok || !unambiguous(path) {
		return "", Range{}, false
	}
	path, err := url.PathUnescape(path)
	if err != nil || !utf8.ValidString(path) || strings.HasPrefix(path, "//") {
		return "", Range{}, false
	}
	if windows {
		path, ok = cutDrive(path)
	}
	return path, lines, ok
}

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

// parseLines parses L10 or L10-L20. Other fragments are ignored: the result is the whole file.
func parseLines(fragment string) (Range, bool) {
	if len(fragment) < 2 || fragment[0] != 'L' || fragment[1] < '0' || fragment[1] > '9' {
		return Range{}, true
	}
	first, last, isRange := strings.Cut(fragment[1:], "-")
	if !isRange {
		last = first
	}
	start, err := strconv.Atoi(first)
	if err != nil {
		return Range{}, false
	}
	end, err := strconv.Atoi(strings.TrimPrefix(last, "L"))
	if err != nil {
		return Range{}, false
	}
	lines := Range{start, end}
	return lines, lines.Start > 0 && lines.valid()
}
