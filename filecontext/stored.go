package filecontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// StoredFile is the stored form of a file of a session.
type StoredFile struct {
	Path   string
	State  json.RawMessage
	Buffer []byte // the client's unsaved text; nil if there is none
}

// storedState is the schema of StoredFile.State. The text of a file on disk is not stored; Refresh reads it.
type storedState struct {
	State       State  `json:"state"`
	Reason      string `json:"reason,omitempty"`
	Range       Range  `json:"range,omitzero"`
	Wanted      Range  `json:"wanted,omitzero"`
	Once        bool   `json:"once,omitempty"`
	Pinned      bool   `json:"pinned,omitempty"`
	LineNumbers bool   `json:"lineNumbers,omitempty"`
	Unsaved     bool   `json:"unsaved,omitempty"`
	Disk        string `json:"disk,omitempty"` // version on disk when the unsaved text came
	Allowed     bool   `json:"allowed,omitempty"`
	Problem     Reason `json:"problem,omitempty"`
	Sent        string `json:"sent,omitempty"`
	Shown       bool   `json:"shown,omitempty"`
	Hash        string `json:"hash,omitempty"`
	Size        int64  `json:"size,omitempty"`
	Lines       int    `json:"lines,omitempty"`
	FoldsCase   bool   `json:"foldsCase,omitempty"`
	Since       uint64 `json:"since,omitempty"`
	Held        int    `json:"held,omitempty"`
}

// maxSince is the maximum of a stored Since. No session reaches it.
const maxSince = 1 << 53

// Stored returns the stored form of the file.
func (e Entry) Stored() StoredFile {
	state, err := json.Marshal(storedState{
		State: e.State, Reason: e.Reason, Range: e.Range, Wanted: e.Wanted, Once: e.Once, Pinned: e.Pinned, LineNumbers: e.LineNumbers, Unsaved: e.Unsaved, Disk: e.disk, Allowed: e.Allowed,
		Problem: e.Problem, Sent: e.Sent, Shown: e.Shown, Hash: e.Hash, Size: e.Size, Lines: e.Lines, FoldsCase: e.foldsCase, Since: e.Since, Held: e.Held,
	})
	if err != nil {
		panic(err) // a struct of strings and numbers always has a JSON form
	}
	file := StoredFile{Path: e.Path, State: state}
	if e.Unsaved {
		file.Buffer = []byte(e.Text)
	}
	return file
}

// Disallow returns the file without the user's allow for a secret-looking file and without the version on disk that
// unsaved text belongs to, for files from elsewhere: the file there is another file than the one here.
func (f StoredFile) Disallow() StoredFile {
	var s map[string]json.RawMessage
	if err := json.Unmarshal(f.State, &s); err != nil {
		return f // Restore refuses it
	}
	for name := range s {
		if strings.EqualFold(name, "allowed") || strings.EqualFold(name, "disk") { // as the decoder matches names
			delete(s, name)
		}
	}
	state, err := json.Marshal(s)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	f.State = state
	return f
}

// Restore returns the set for stored files. It omits files that are damaged or exceed the bounds and names them in the
// error; the returned set is usable even if there is an error.
func Restore(files []StoredFile) (*FileContext, error) {
	f := New()
	var errs []error
	for _, file := range files {
		if err := f.restore(file); err != nil {
			errs = append(errs, fmt.Errorf("restore file %s: %w", Printable(shorten(file.Path)), err))
		}
	}
	return f, errors.Join(errs...)
}

func (f *FileContext) restore(file StoredFile) error {
	e, err := restoreEntry(file)
	if err != nil {
		return err
	}
	if _, known := f.entries[e.Path]; known {
		return errors.New("duplicate path")
	}
	if len(f.entries) >= MaxFiles || !f.hasRoom(Entry{}, e) {
		return refuse(e.Path, ReasonFull, "")
	}
	f.set(e)
	f.latest = max(f.latest, e.Since)
	return nil
}

func restoreEntry(file StoredFile) (Entry, error) {
	var s storedState
	if err := json.Unmarshal(file.State, &s); err != nil {
		return Entry{}, err
	}
	switch {
	case !isPath(file.Path):
		return Entry{}, errors.New("not a path")
	case s.State != SummaryOnly && s.State != Partial && s.State != Full:
		return Entry{}, fmt.Errorf("unknown state %q", s.State)
	case !s.Range.valid(), !s.Wanted.valid(), s.Size < 0, s.Lines < 0, s.Held < 0, s.Since > maxSince:
		return Entry{}, errors.New("number out of range")
	case !utf8.Valid(file.Buffer):
		return Entry{}, errors.New("unsaved text is not UTF-8")
	}
	content := Content{Path: file.Path, Hash: s.Hash, Size: s.Size, Lines: s.Lines}
	if s.Unsaved {
		content = newContent(file.Path, string(file.Buffer), file.Buffer)
		content.disk = s.Disk
	}
	content.foldsCase = s.FoldsCase
	return Entry{
		Content: content, State: s.State, Reason: s.Reason, Range: s.Range, Wanted: s.Wanted, Once: s.Once, Pinned: s.Pinned, LineNumbers: s.LineNumbers,
		Unsaved: s.Unsaved, Allowed: s.Allowed, Problem: s.Problem, Sent: s.Sent, Shown: s.Shown, Since: s.Since, Held: s.Held,
	}, nil
}
