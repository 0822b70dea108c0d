// Package filecontext holds the files of a session: where they may lie, what is in them, what the model has seen of them.
//
// Roots does the reading and is safe for concurrent use. FileContext is the state: a pure value that does no I/O and belongs
// to one goroutine. The package must never read, or admit the existence of, anything outside the roots; never wait for a pipe
// or a device; and never let a file be patched that the model has not seen whole in its present version.
package filecontext

import (
	"maps"
	"slices"
	"strings"
)

// Bounds of a session's files.
const (
	MaxFiles       = 2000
	MaxBytes       = 64 << 20 // of all texts held
	MaxBufferBytes = 16 << 20 // of the texts among them that the client has not saved; they are stored with the session
)

// State is how much of a file a session shows to the model.
type State string

// The states, from least to most.
const (
	NotAvailable State = "not_available"
	SummaryOnly  State = "summary_only" // its outline
	Partial      State = "partial"      // a range of lines, or a text that was cut
	Full         State = "full"
)

// Entry is one file of a session.
type Entry struct {
	Content

	State       State
	Reason      string // how State came about
	Range       Range  // the lines that were asked for, more than there are perhaps; zero: all
	Once        bool   // it leaves after the next reply
	LineNumbers bool
	Unsaved     bool   // Text is the client's, and the disk does not count
	Problem     Reason // why it cannot be read at present; Text is empty then
	Sent        string // hash of the newest version that a request held whole; empty: none did
	Shown       bool   // a request held it, whole or not, since it was put in
	Since       uint64 // orders the files of a set by when they were asked for or changed last
	Held        int    // requests that held it since then

	version uint64 // of the content; rises with each change
}

// FileContext is the set of a session's files. It is not safe for concurrent use; what it returns are copies.
type FileContext struct {
	entries map[string]Entry // by path
	bytes   int              // sum of the texts
	buffers int              // sum of the unsaved ones
	version uint64
	latest  uint64 // highest Since
}

// New returns an empty set.
func New() *FileContext { return &FileContext{entries: map[string]Entry{}} }

// AddOptions say how a file is taken in.
type AddOptions struct {
	State       State // empty: Full, or Partial with a Range
	Reason      string
	Range       Range
	Once        bool
	LineNumbers bool
	Unsaved     bool // the content is the client's unsaved text
}

// Put takes a file in, or anew. An unsaved text that is there stays the content until the disk counts again (see Saved).
// The error is a *RefusedError: lines that the file does not have, or a set that is full.
func (f *FileContext) Put(content Content, opt AddOptions) (Entry, error) {
	e, err := f.Try(content, opt)
	if err != nil {
		return Entry{}, err
	}
	return f.set(f.touch(e)), nil
}

// Try returns what Put would make of a file and changes nothing, so that it can be stored first.
func (f *FileContext) Try(content Content, opt AddOptions) (Entry, error) {
	old, known := f.find(content.Path, content.foldsCase)
	e := Entry{Content: content, State: opt.State, Reason: opt.Reason, Range: opt.Range, Once: opt.Once,
		LineNumbers: opt.LineNumbers, Unsaved: opt.Unsaved, Sent: old.Sent, Since: f.latest + 1}
	if known {
		e.Path = old.Path
	}
	if old.Unsaved && !opt.Unsaved {
		e.Content, e.Unsaved = old.Content, true
	}
	if !e.Range.valid() || e.Range.Start > e.Lines && !e.Range.IsWhole() {
		return Entry{}, refuse(content.Path, ReasonRange, "")
	}
	if e.State == "" {
		e.State = stateOf(e.Range)
	}
	if !f.hasRoom(old, e) || !known && len(f.entries) >= MaxFiles {
		return Entry{}, refuse(content.Path, ReasonFull, "")
	}
	return e, nil
}

// stateOf returns how available a file is of which these lines are shown.
func stateOf(lines Range) State {
	if lines.IsWhole() {
		return Full
	}
	return Partial
}

// Visible returns those of the lines that were asked for which the file has at present: it can grow into the
// range and shrink out of it. The zero Range is the whole file.
func (e *Entry) Visible() Range {
	if e.Range.IsWhole() || e.Range.Start > e.Lines {
		return e.Range
	}
	return Range{Start: e.Range.Start, End: min(e.Range.End, e.Lines)}
}

// Get returns the file at path.
func (f *FileContext) Get(path string) (Entry, bool) { return f.find(path, false) }

// List returns all files by path.
func (f *FileContext) List() []Entry {
	return slices.SortedFunc(maps.Values(f.entries), func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
}

// Len returns how many files there are.
func (f *FileContext) Len() int { return len(f.entries) }

// Remove takes a file out and reports whether it was in.
func (f *FileContext) Remove(path string) bool {
	e, ok := f.find(path, false)
	f.drop(e)
	return ok
}

// Clear takes all files out and returns how many there were.
func (f *FileContext) Clear() int {
	n := len(f.entries)
	*f = FileContext{entries: map[string]Entry{}, version: f.version, latest: f.latest}
	return n
}

// SetState changes how much of a file is shown, which of its lines, and why. It reports whether the file is in.
func (f *FileContext) SetState(path string, state State, reason string, lines Range) bool {
	return f.update(path, func(e *Entry) { e.State, e.Reason, e.Range = state, reason, lines })
}

// Saved says that the file on disk counts again: the client wrote it. The next Refresh reads it. It reports whether the file is in.
func (f *FileContext) Saved(path string) bool {
	e, ok := f.find(path, false)
	if ok {
		e.Unsaved, e.stamp = false, stamp{}
		f.set(e)
	}
	return ok
}

// MarkSent says that a request was sent which held the version hash of a file: all of it, or only a part or an outline.
func (f *FileContext) MarkSent(path, hash string, whole bool) bool {
	return f.update(path, func(e *Entry) {
		e.Shown = true
		e.Held++
		if whole {
			e.Sent = hash
		}
	})
}

// AfterReply takes out the files that were wanted once and have been shown, and returns them by path.
func (f *FileContext) AfterReply() []Entry {
	var out []Entry
	for _, e := range f.List() {
		if e.Once && e.Shown {
			f.drop(e)
			out = append(out, e)
		}
	}
	return out
}

// find returns the entry for a path. On a disk that folds case another spelling of a path is the same file.
func (f *FileContext) find(path string, foldsCase bool) (Entry, bool) {
	if e, ok := f.entries[path]; ok {
		return e, true
	}
	for _, e := range f.entries {
		if (foldsCase || e.foldsCase) && strings.EqualFold(e.Path, path) {
			return e, true
		}
	}
	return Entry{}, false
}

// update changes what is known of a file, but not its content.
func (f *FileContext) update(path string, change func(*Entry)) bool {
	e, ok := f.find(path, false)
	if ok {
		change(&e)
		f.entries[e.Path] = e
	}
	return ok
}

// hasRoom reports whether the set stays within its bounds when e takes the place of old, which is zero for a new file.
func (f *FileContext) hasRoom(old, e Entry) bool {
	return f.bytes-len(old.Text)+len(e.Text) <= MaxBytes &&
		f.buffers-old.bufferBytes()+e.bufferBytes() <= MaxBufferBytes
}

// set stores e with a new version of its content.
func (f *FileContext) set(e Entry) Entry {
	f.drop(f.entries[e.Path])
	f.version++
	e.version = f.version
	f.entries[e.Path] = e
	f.bytes += len(e.Text)
	f.buffers += e.bufferBytes()
	return e
}

// touch returns e as the one that was asked for or changed last.
func (f *FileContext) touch(e Entry) Entry {
	f.latest++
	e.Since, e.Held = f.latest, 0
	return e
}

// drop takes out an entry as it is in the set; the zero Entry is in none.
func (f *FileContext) drop(e Entry) {
	delete(f.entries, e.Path)
	f.bytes -= len(e.Text)
	f.buffers -= e.bufferBytes()
}

func (e *Entry) bufferBytes() int {
	if !e.Unsaved {
		return 0
	}
	return len(e.Text)
}
