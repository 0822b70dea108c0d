package history

import (
	"fmt"

	"strata/internal/exact"
)

// Diff is the change of one file as clients are shown it.
type Diff struct {
	Path    string     `json:"path"`
	Created bool       `json:"created,omitempty"` // there was no file
	Deleted bool       `json:"deleted,omitempty"` // there is none after the change
	Hunks   []TextHunk `json:"hunks"`
	Cut     bool       `json:"cut,omitempty"` // lines or hunks are omitted for their size
}

// FirstLine returns the first line after the change that the diff shows, 0 for none.
func (d *Diff) FirstLine() int {
	if len(d.Hunks) == 0 {
		return 0
	}
	return d.Hunks[0].NewStart
}

// Size returns the size of the diff's texts, in bytes.
func (d *Diff) Size() int {
	n := len(d.Path)
	for i := range d.Hunks {
		n += len(d.Hunks[i].Old) + len(d.Hunks[i].New)
	}
	return n
}

// TextHunk is lines of a file before and after a change, with lines around them that did not change.
type TextHunk struct {
	OldStart int    `json:"oldStart"` // from 1
	NewStart int    `json:"newStart"`
	Old      string `json:"old,omitempty"` // with LF as line ends
	New      string `json:"new,omitempty"`
}

// The bounds of the diffs of a call.
const (
	MaxDiff      = 64 << 10 // bytes of all texts
	maxDiffHunks = 10_000   // which have few lines
	maxDiffs     = 100
)

// checkDiffs returns an error with the place of a diff that exceeds the bounds.
func checkDiffs(diffs []Diff) error {
	if n := len(diffs); n > maxDiffs {
		return &exact.Error{Path: "diffs", Want: fmt.Sprintf("%d elements exceeds the limit of %d", n, maxDiffs)}
	}
	size, hunks := 0, 0
	for i := range diffs {
		d := &diffs[i]
		if len(d.Path) > MaxShownText {
			return &exact.Error{Path: fmt.Sprintf("diffs[%d].path", i), Want: fmt.Sprintf("%d bytes exceeds the limit of %d", len(d.Path), MaxShownText)}
		}
		hunks += len(d.Hunks)
		for j, h := range d.Hunks {
			if min(h.OldStart, h.NewStart) < 0 || max(h.OldStart, h.NewStart) > maxShownLine {
				return &exact.Error{Path: fmt.Sprintf("diffs[%d].hunks[%d]", i, j), Want: fmt.Sprintf("must start at a line from 0 to %d", maxShownLine)}
			}
			size += len(h.Old) + len(h.New)
		}
	}
	if size > MaxDiff || hunks > maxDiffHunks {
		return &exact.Error{Path: "diffs", Want: fmt.Sprintf("%d bytes in %d hunks exceeds the limit of %d", size, hunks, MaxDiff)}
	}
	return nil
}
