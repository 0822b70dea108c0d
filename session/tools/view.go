package tools

import (
	"cmp"
	"slices"

	"strata/filecontext"
	"strata/history"
)

// Shown tells which lines of files the next request shows. A View is one.
type Shown interface {
	// Covers reports whether all of the lines of a version of a file are shown; the zero Lines are those of an empty file.
	Covers(path, version string, lines history.Lines) bool
}

// View is the lines of files that a request shows, by version. The zero View shows none. It is not safe for concurrent use
// while lines are added.
type View struct {
	files map[fileVersion][]history.Lines // sorted, neither overlapping nor adjacent
	read  map[string]bool                 // paths of all versions
}

type fileVersion struct{ path, version string }

// NewView returns the view of lines, such as history.ShownLines returns.
func NewView(shown []history.FileLines) *View {
	v := &View{}
	for i := range shown {
		v.Add(&shown[i])
	}
	return v
}

// Add adds lines to the view.
func (v *View) Add(f *history.FileLines) {
	if v.files == nil {
		v.files, v.read = make(map[fileVersion][]history.Lines), make(map[string]bool)
	}
	key := fileVersion{f.Path, f.Version}
	v.files[key] = merged(append(slices.Clone(v.files[key]), f.Lines...))
	v.read[f.Path] = true
}

// merged returns ranges sorted, with those that touch each other as one.
func merged(all []history.Lines) (out []history.Lines) {
	slices.SortFunc(all, func(a, b history.Lines) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	for _, next := range all {
		if n := len(out) - 1; n >= 0 && next.Start <= out[n].End+1 {
			out[n].End = max(out[n].End, next.End)
			continue
		}
		out = append(out, next)
	}
	return out
}

// Covers implements Shown.
func (v *View) Covers(path, version string, lines history.Lines) bool {
	shown, ok := v.files[fileVersion{path, version}]
	if lines == (history.Lines{}) {
		return ok
	}
	return slices.ContainsFunc(shown, func(one history.Lines) bool { return one.Start <= lines.Start && lines.End <= one.End })
}

// ReasonReadEarlier is the reason for the state of a file that tools read and that no text of the view shows any more.
const ReasonReadEarlier = "read earlier, no longer shown"

// Availability returns how much of a version of a file with so many lines is shown, and the reason. earlier says that the
// file was read in the session, in whatever version.
func (v *View) Availability(path, version string, lines int, earlier bool) (filecontext.State, string) {
	whole := history.Lines{Start: 1, End: lines}
	if lines == 0 {
		whole = history.Lines{}
	}
	switch {
	case v.Covers(path, version, whole):
		return filecontext.Full, ""
	case len(v.files[fileVersion{path, version}]) > 0:
		return filecontext.Partial, ""
	case v.read[path]:
		return filecontext.NotAvailable, "changed since it was read"
	case earlier:
		return filecontext.NotAvailable, ReasonReadEarlier
	}
	return filecontext.NotAvailable, ""
}
