package changing

import (
	"strata/filecontext/change"
	"strata/history"
)

// Diff returns the diff of two texts with LF line ends, in the form for clients and with at most limit bytes of text.
func Diff(path, before, after string, limit int) history.Diff {
	d := &fileDiff{path: path, old: linesOf(before), new: linesOf(after), hunks: change.Hunks(before, after)}
	return d.shown(limit)
}
