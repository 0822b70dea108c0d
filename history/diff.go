package history

// Diff is the change of one file as clients are shown it.
type Diff struct {
	Path    string     `json:"path"`
	Created bool       `json:"created,omitempty"` // there was no file
	Deleted bool       `json:"deleted,omitempty"` // there is none after the change
	Hunks   []TextHunk `json:"hunks"`
	Cut     bool       `json:"cut,omitempty"` // lines or hunks are omitted for their size
}

// TextHunk is lines of a file before and after a change, with lines around them that did not change.
type TextHunk struct {
	OldStart int    `json:"oldStart"` // from 1
	NewStart int    `json:"newStart"`
	Old      string `json:"old,omitempty"` // with LF as line ends
	New      string `json:"new,omitempty"`
}

// MaxDiff is the maximum size of the texts in the diffs of a call, in bytes.
const MaxDiff = 64 << 10
