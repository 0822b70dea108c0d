// Package reads knows which lines of files the results of tools show, and which of these files have changed since.
//
// It must never decide what a request contains, and never keep the text of a file.
package reads

import (
	"cmp"
	"maps"
	"slices"

	"strata/filecontext"
	"strata/history"
)

// View is the lines of files that a request shows, by version. The zero View shows none. It is not safe for concurrent use
// while lines are added.
type View struct {
	files map[fileVersion][]history.Lines // sorted, neither overlapping nor adjacent
	read  map[string]bool                 // paths of all versions
	whole map[string]bool                 // paths of which a version is shown whole
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

// Clone returns a copy of the view.
func (v *View) Clone() *View {
	return &View{files: maps.Clone(v.files), read: maps.Clone(v.read), whole: maps.Clone(v.whole)} // lines are replaced, never changed
}

// Add adds lines to the view.
func (v *View) Add(f *history.FileLines) {
	if v.files == nil {
		v.files, v.read, v.whole = make(map[fileVersion][]history.Lines), make(map[string]bool), make(map[string]bool)
	}
	v.read[f.Path] = true
	if f.Version != "" { // of a deleted file nothing is shown
		key := fileVersion{f.Path, f.Version}
		v.files[key] = history.MergedLines(slices.Concat(v.files[key], f.Lines, v.carried(f)))
	}
	v.whole[f.Path] = v.whole[f.Path] || f.Of == 0 || v.Covers(f.Path, f.Version, history.Lines{Start: 1, End: f.Of})
}

// carried returns the lines that the model knows because a change of its own left them as they were shown before.
func (v *View) carried(f *history.FileLines) []history.Lines {
	if f.From == nil {
		return nil
	}
	return f.From.Carried(v.files[fileVersion{cmp.Or(f.From.Path, f.Path), f.From.Version}])
}

// Replaces reports whether the view shows a version of a file whole, or the same lines in any version.
func (v *View) Replaces(f *history.FileLines) bool {
	if v.whole[f.Path] {
		return true
	}
	for key := range v.files {
		if key.path == f.Path && len(f.Lines) > 0 && !slices.ContainsFunc(f.Lines, func(one history.Lines) bool { return !v.Covers(key.path, key.version, one) }) {
			return true
		}
	}
	return false
}

// Covers reports whether all of the lines of a version of a file are shown; the zero Lines are those of an empty file.
func (v *View) Covers(path, version string, lines history.Lines) bool {
	shown, ok := v.files[fileVersion{path, version}]
	if lines == (history.Lines{}) {
		return ok
	}
	return slices.ContainsFunc(shown, func(one history.Lines) bool { return one.Start <= lines.Start && lines.End <= one.End })
}

// The reasons for the state of a file that tools read.
const (
	ReasonRead        = "read by a tool"
	ReasonChanged     = "changed since it was read"
	ReasonReadEarlier = "read earlier, no longer shown"
)

// Availability returns how much of a version of a file with so many lines is shown, and the reason. The file was read in the
// session, in whatever version.
func (v *View) Availability(path, version string, lines int) (filecontext.State, string) {
	switch {
	case v.Covers(path, version, whole(lines)):
		return filecontext.Full, ReasonRead
	case len(v.files[fileVersion{path, version}]) > 0:
		return filecontext.Partial, ReasonRead
	case v.read[path]:
		return filecontext.NotAvailable, ReasonChanged
	}
	return filecontext.NotAvailable, ReasonReadEarlier
}
