// Package filecontext manages the files of a session: their location, their content, and how much of them the model has
// seen.
//
// Roots reads files and is safe for concurrent use. FileContext is the state: a set of files, without I/O, for use by one
// goroutine. The package must never read anything outside the roots or reveal whether it exists, never wait for a pipe
// or a device, and never allow an edit of a file unless the model has seen its whole current version.
package filecontext

import (
	"maps"
	"slices"
	"strings"
)

// Bounds of a session's files.
const (
	MaxFiles       = 2000
	MaxBytes       = 64 << 20 // of all texts
	MaxBufferBytes = 16 << 20 // of the unsaved texts, which are stored with the session
)

// State is how much of a file is shown to the model.
type State string

// The states, from least to most.
const (
	NotAvailable State = "not_available"
	SummaryOnly  State = "summary_only" // its outline
	Partial      State = "partial"      // a range of lines, or a truncated text
	Full         State = "full"
)

// Entry is one file of a session.
type Entry struct {
	Content

	State       State
	Reason      string // for State
	Range       Range  // the requested lines, possibly beyond the end of the file; zero: all
	Wanted      Range  // the requested lines while fewer are shown to make a request fit; zero: all
	Once        bool   // removed after the next reply
	Pinned      bool   // never evicted
	LineNumbers bool
	Unsaved     bool   // Text is the client's unsaved text, and the file on disk has not changed since it came
	Allowed     bool   // the user allowed it although it looks like a secret
	Problem     Reason // why the file cannot be read now; Text is empty in this case
	Sent        string // hash of the newest version that was sent whole; empty: none
	Shown       bool   // part or all of it was sent since it was added
	Since       uint64 // orders files by the time of the last Put or change
	Held        int    // requests that contained it since then

	version uint64 // of the content; increases with each change
}

// FileContext is the set of a session's files. It is not safe for concurrent use. Its methods return copies.
type FileContext struct {
	entries map[string]Entry // by path
	bytes   int              // total of all texts
	buffers int              // total of the unsaved texts
	version uint64
	latest  uint64 // highest Since
}

// New returns an empty set.
func New() *FileContext { return &FileContext{entries: map[string]Entry{}} }

// Clone returns a copy of the set.
func (f *FileContext) Clone() *FileContext {
	c := *f
	c.entries = maps.Clone(f.entries)
	return &c
}

// AddOptions are the options of Put.
type AddOptions struct {
	State       State // empty: Full, or Partial with a Range
	Reason      string
	Range       Range
	Once        bool
	Pinned      bool
	LineNumbers bool
	Unsaved     bool // the content is the client's unsaved text
	Saved       bool // the content is the client's text and that of the disk: it replaces unsaved text
	Allowed     bool // the user allows the file even if it looks like a secret
}

// Put adds or replaces a file. If the file in the set has unsaved text and content is from disk, the unsaved text
// remains the content unless the file on disk has changed since it came. The error is a *RefusedError: the file does not
// have the lines, or the set is full.
func (f *FileContext) Put(content Content, opt AddOptions) (Entry, error) {
	e, err := f.Try(content, opt)
	if err != nil {
		return Entry{}, err
	}
	return f.set(f.touch(e)), nil
}

// Try returns the entry that Put would add, without a change to the set, so that the entry can be stored first.
func (f *FileContext) Try(content Content, opt AddOptions) (Entry, error) {
	old, known := f.find(content.Path, content.foldsCase)
	e := Entry{Content: content, State: opt.State, Reason: opt.Reason, Range: opt.Range, Once: opt.Once, Pinned: opt.Pinned,
		LineNumbers: opt.LineNumbers, Unsaved: opt.Unsaved, Allowed: opt.Allowed || old.Allowed, Sent: old.Sent, Since: f.latest + 1}
	if known {
		e.Path = old.Path
	}
	if old.Unsaved && !opt.Unsaved && !opt.Saved && !old.overtakenBy(content) {
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

// stateOf returns the state of a file of which the given lines are shown.
func stateOf(lines Range) State {
	if lines.IsWhole() {
		return Full
	}
	return Partial
}

// Visible returns the part of the requested Range that exists in the current version, or Range unchanged if the file
// ends before it. The zero Range is the whole file.
func (e *Entry) Visible() Range {
	if e.Range.IsWhole() || e.Range.Start > e.Lines {
		return e.Range
	}
	return Range{Start: e.Range.Start, End: min(e.Range.End, e.Lines)}
}

// Get returns the file at path.
func (f *FileContext) Get(path string) (Entry, bool) { return f.find(path, false) }

// List returns all files, sorted by path.
func (f *FileContext) List() []Entry {
	return slices.SortedFunc(maps.Values(f.entries), func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
}

// Len returns the number of files.
func (f *FileContext) Len() int { return len(f.entries) }

// Remove removes a file and reports whether it was in the set.
func (f *FileContext) Remove(path string) bool {
	e, ok := f.find(path, false)
	f.drop(e)
	return ok
}

// Clear removes all files and returns their number.
func (f *FileContext) Clear() int {
	n := len(f.entries)
	*f = FileContext{entries: map[string]Entry{}, version: f.version, latest: f.latest}
	return n
}

// Shorten sets State, Reason and Range of a file that shows less of itself, or more again, to make a request fit, and the
// lines that were requested. It reports whether the file is in the set.
func (f *FileContext) Shorten(path string, state State, reason string, lines, wanted Range) bool {
	return f.update(path, func(e *Entry) { e.State, e.Reason, e.Range, e.Wanted = state, reason, lines, wanted })
}

// Saved discards the unsaved text of a file after the client has written it: the next Refresh reads the file from disk.
// It reports whether the file is in the set.
func (f *FileContext) Saved(path string) bool {
	e, ok := f.find(path, false)
	if ok {
		e.Unsaved, e.stamp, e.disk = false, stamp{}, ""
		f.set(e)
	}
	return ok
}

// MarkSent records that a request contained the version of a file with this hash: the whole file if whole is set, else a
// part or an outline. It reports whether the file is in the set.
func (f *FileContext) MarkSent(path, hash string, whole bool) bool {
	return f.update(path, func(e *Entry) {
		e.Shown = true
		e.Held++
		if whole {
			e.Sent = hash
		}
	})
}

// AfterReply removes the files with Once that have been shown, and returns them, sorted by path.
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

// find returns the entry for a path. On a file system that ignores case, it matches other spellings, too.
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

// update changes fields of an entry other than its content. It reports whether the file is in the set.
func (f *FileContext) update(path string, change func(*Entry)) bool {
	e, ok := f.find(path, false)
	if ok {
		change(&e)
		f.entries[e.Path] = e
	}
	return ok
}

// hasRoom reports whether the set stays within its bounds when e replaces old, which is zero for a new file.
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

// touch returns e with the highest Since.
func (f *FileContext) touch(e Entry) Entry {
	f.latest++
	e.Since, e.Held = f.latest, 0
	return e
}

// drop removes e, which must be an entry of the set or zero.
func (f *FileContext) drop(e Entry) {
	delete(f.entries, e.Path)
	f.bytes -= len(e.Text)
	f.buffers -= e.bufferBytes()
}

// overtakenBy reports whether content is from the disk and newer than the unsaved text of e.
func (e *Entry) overtakenBy(content Content) bool {
	return content.disk == "" && e.disk != "" && content.Hash != e.disk
}

func (e *Entry) bufferBytes() int {
	if !e.Unsaved {
		return 0
	}
	return len(e.Text)
}
