package filecontext

import "strings"

// Availability returns how much of the file is shown to the model, and the reason.
func (e Entry) Availability() (State, string) {
	if e.Problem != "" {
		return NotAvailable, e.Problem.Explain()
	}
	return e.State, e.Reason
}

// CheckEdit returns nil if the file may be patched: a request contained all of its current version, base is empty or the
// hash of that version, and the text is all that the file contains. The error is an *EditRefusedError.
func (f *FileContext) CheckEdit(path, base string) error {
	e, _ := f.find(path, false)
	state, _ := e.Availability()
	switch {
	case e.Lossy:
		return &EditRefusedError{path, EditEncoding}
	case state == SummaryOnly, state == Partial:
		return &EditRefusedError{path, EditSummaryOnly}
	case state != Full, e.Sent == "":
		return &EditRefusedError{path, EditNotAvailable}
	case e.Sent != e.Hash, base != "" && !strings.EqualFold(base, e.Hash):
		return &EditRefusedError{path, EditStale}
	}
	return nil
}
