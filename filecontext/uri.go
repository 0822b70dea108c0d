package filecontext

import "strata/filecontext/fileuri"

// Range is an inclusive range of lines, counted from 1. The zero Range is the whole file.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// IsWhole reports whether r is the whole file.
func (r Range) IsWhole() bool { return r == Range{} }

func (r Range) valid() bool { return r.IsWhole() || 1 <= r.Start && r.Start <= r.End }

// fileURI is the content of a `file:` URI.
type fileURI struct {
	path   string // absolute, with forward slashes
	lines  Range
	symbol bool // it names a symbol of the file
}

func isURI(text string) bool { return fileuri.Is(text) }

// parseURI is fileuri.Parse.
func parseURI(uri string, windows bool) (fileURI, bool) {
	u, ok := fileuri.Parse(uri, windows)
	return fileURI{u.Path, Range{u.Lines.First, u.Lines.Last}, u.Symbol}, ok
}
