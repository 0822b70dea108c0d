package history

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// FileChangeKind is what a tool does to a file.
type FileChangeKind string

// The kinds of file changes.
const (
	FileEdited  FileChangeKind = "edit" // its content is replaced
	FileCreated FileChangeKind = "create"
	FileDeleted FileChangeKind = "delete"
	FileMoved   FileChangeKind = "move" // to a path where there was no file
)

// FileChangeState says whether a file change is in force.
type FileChangeState string

// The states of a file change.
const (
	FileChangePlanned  FileChangeState = "planned"  // stored before the effect, whose result is not stored yet
	FileChangeDone     FileChangeState = "done"     // the effect is on disk
	FileChangeNotDone  FileChangeState = "not_done" // there was no effect
	FileChangeUnknown  FileChangeState = "unknown"  // after a crash the file had neither of its two contents
	FileChangeRestored FileChangeState = "restored" // a restore put the file back
)

// FileChange is the stored record of one change of one file by a tool. It is stored before its effect, and again with
// each new state.
type FileChange struct {
	ID   string `json:"id"` // unique in the session
	Turn string `json:"turnId"`
	Step int    `json:"step"` // of the turn, from 1
	Call string `json:"callId"`
	Seq  int64  `json:"seq"` // of the message with the call: every smaller sequence number is a place before the change

	Kind FileChangeKind `json:"kind"`
	Path string         `json:"path"`         // of the file itself, not of a link to it
	To   string         `json:"to,omitempty"` // of a move

	// SHA-256 of the bytes before the change, in hex; empty: there was no file. Once an editor has made the change, a text that
	// it had not saved counts as saved before.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"` // likewise after the change; of a move the same as Before
	Mode   uint32 `json:"mode"`            // permission bits of the file; 0 for a new file: the system decided

	At         time.Time       `json:"at"`
	State      FileChangeState `json:"state"`
	RestoredBy string          `json:"restoredBy,omitempty"` // id of the edit of the restore that put the file back

	// The store sets these when it reads a change: whether it has the bytes of Before and of After.
	HasBefore bool `json:"hasBefore,omitempty"`
	HasAfter  bool `json:"hasAfter,omitempty"`
}

// FileChangeQuery selects changes of files. Each field that is set limits the result further.
type FileChangeQuery struct {
	Turn       string // only changes of this turn
	After      int64  // only changes after this sequence number
	RestoredBy string // only changes that the restore with this edit put back
	Planned    bool   // only changes whose effect is not known
}

// WithIDs returns a copy of c for another session. own maps ids. The id of the call stays, as those in messages do.
func (c FileChange) WithIDs(own func(id string) string) FileChange {
	c.ID, c.Turn, c.RestoredBy = own(c.ID), own(c.Turn), own(c.RestoredBy)
	return c
}

// maxMode is the largest mode: permission bits, set-user-id, set-group-id and sticky bit.
const maxMode = 0o7777

// Check returns an error if c contradicts itself, as a damaged record does.
func (c *FileChange) Check() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("file change %q: %w", c.ID, err)
	}
	return nil
}

func (c *FileChange) check() error {
	switch {
	case c.ID == "":
		return errors.New("no id")
	case c.Turn == "":
		return errors.New("no turn")
	case c.Seq < 1:
		return fmt.Errorf("sequence number %d", c.Seq)
	case c.Step < 0 || c.Step > maxStep:
		return fmt.Errorf("step %d", c.Step)
	case c.Path == "":
		return errors.New("no path")
	case c.Mode > maxMode:
		return fmt.Errorf("mode %#o", c.Mode)
	case !c.State.valid():
		return fmt.Errorf("state %q", c.State)
	}
	return c.checkKind()
}

func (s FileChangeState) valid() bool {
	switch s {
	case FileChangePlanned, FileChangeDone, FileChangeNotDone, FileChangeUnknown, FileChangeRestored:
		return true
	}
	return false
}

// checkKind checks the fields that depend on the kind.
func (c *FileChange) checkKind() error {
	var before, after, to bool
	switch c.Kind {
	case FileEdited:
		before, after = true, true
	case FileCreated:
		after = true
	case FileDeleted:
		before = true
	case FileMoved:
		before, after, to = true, true, true
		if c.Before != c.After || c.To == c.Path {
			return errors.New("a move keeps the content and changes the path")
		}
	default:
		return fmt.Errorf("kind %q", c.Kind)
	}
	switch {
	case !isHash(c.Before, before):
		return fmt.Errorf("%s: hash before %q", c.Kind, c.Before)
	case !isHash(c.After, after):
		return fmt.Errorf("%s: hash after %q", c.Kind, c.After)
	case (c.To != "") != to:
		return fmt.Errorf("%s: path of a move %q", c.Kind, c.To)
	}
	return nil
}

// isHash reports whether hash is a SHA-256 in hex, or empty if none is wanted.
func isHash(hash string, wanted bool) bool {
	if !wanted {
		return hash == ""
	}
	return len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == ""
}

// FileVersion is what is at a path.
type FileVersion struct {
	Hash string // SHA-256 of the bytes, in hex; empty: nothing is there
	Mode uint32 // permission bits

	// Unreadable means that something is there that is no file, or that cannot be read. It equals no version.
	Unreadable bool
}

// Same reports whether v and of have the same content, or are both nothing.
func (v FileVersion) Same(of FileVersion) bool {
	return !v.Unreadable && !of.Unreadable && v.Hash == of.Hash
}

// exists reports whether something is at the path.
func (v FileVersion) exists() bool { return v.Unreadable || v.Hash != "" }

// step is what a change does at one path.
type step struct {
	path     string
	from, to FileVersion
}

// steps returns what the change does: a move has two steps, any other change has one.
func (c *FileChange) steps() []step {
	before, after := FileVersion{Hash: c.Before}, FileVersion{Hash: c.After}
	if c.Before != "" {
		before.Mode = c.Mode
	}
	if c.After != "" {
		after.Mode = c.Mode
	}
	if c.Kind == FileMoved {
		return []step{{c.Path, before, FileVersion{}}, {c.To, FileVersion{}, after}}
	}
	return []step{{c.Path, before, after}}
}

// leaves returns the path at which the change leaves a file, "" for a deletion.
func (c *FileChange) leaves() string {
	switch c.Kind {
	case FileDeleted:
		return ""
	case FileMoved:
		return c.To
	}
	return c.Path
}
