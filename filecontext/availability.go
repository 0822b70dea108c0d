package filecontext

import (
	"slices"
	"strings"
)

// Availability returns how much of a file the model is shown, and why.
func (f *FileContext) Availability(path string) (State, string) {
	e, ok := f.find(path, false)
	if !ok {
		return NotAvailable, "not in the session"
	}
	return e.Availability()
}

// Availability returns how much of the file the model is shown, and why.
func (e Entry) Availability() (State, string) {
	if e.Problem != "" {
		return NotAvailable, e.Problem.Explain()
	}
	return e.State, e.Reason
}

// CheckEdit returns nil if the file may be patched: a request held all of its present version, which is also the one with the hash
// base, where one is given. The error is an *EditRefusedError.
func (f *FileContext) CheckEdit(path, base string) error {
	e, _ := f.find(path, false)
	state, _ := e.Availability()
	switch {
	case state == SummaryOnly, state == Partial:
		return &EditRefusedError{path, EditSummaryOnly}
	case state != Full, e.Sent == "":
		return &EditRefusedError{path, EditNotAvailable}
	case e.Sent != e.Hash, base != "" && !strings.EqualFold(base, e.Hash):
		return &EditRefusedError{path, EditStale}
	}
	return nil
}

// Listing returns the list of files that opens a session's first request: a heading and one line for each file, sorted.
// A file of which only a part is shown counts as a summary, since neither may be patched. Without files it is empty.
func (f *FileContext) Listing() string {
	var lines []string
	for _, e := range f.entries {
		switch state, _ := e.Availability(); state {
		case Full:
			lines = append(lines, "FULL: "+Printable(e.Path))
		case Partial, SummaryOnly:
			lines = append(lines, "SUMMARY: "+Printable(e.Path))
		}
	}
	if lines == nil {
		return ""
	}
	slices.Sort(lines)
	return "Files available for this step:\n" + strings.Join(lines, "\n") + "\n"
}

// Note returns one line that tells the model of a change.
func (c Change) Note() string {
	line := strings.ToUpper(string(c.Kind)) + ": " + Printable(c.Path)
	if c.Kind == Unreadable {
		line += " (" + c.Reason.Explain() + ")"
	}
	return line
}
