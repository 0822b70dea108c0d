package changing

import (
	"fmt"
	"strings"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
)

// diffContext is the number of lines around the lines of a hunk that did not change.
const diffContext = 3

// fileDiff is the difference between two versions of a file, as lines with LF at their ends.
type fileDiff struct {
	path     string
	old, new []string
	hunks    []change.Hunk // without lines around them
}

// diffOf returns the difference between two texts; nil is no file.
func diffOf(path string, before, after *filecontext.Content) *fileDiff {
	old, text := unixText(before), unixText(after)
	return &fileDiff{path: path, old: linesOf(old), new: linesOf(text), hunks: change.Hunks(old, text)}
}

func unixText(c *filecontext.Content) string {
	if c == nil {
		return ""
	}
	return c.UnixText()
}

func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	return lines[:len(lines)-1+min(len(lines[len(lines)-1]), 1)]
}

// group is hunks with the lines around them, which would touch those of the next group otherwise. Ends are not included.
type group struct {
	hunks            []change.Hunk
	oldStart, oldEnd int // indexes of lines
	newStart, newEnd int
}

func (d *fileDiff) groups() (groups []group) {
	for _, h := range d.hunks {
		start, end := h.OldStart-1, h.OldStart-1+h.OldLines
		if n := len(groups) - 1; n >= 0 && start-diffContext <= groups[n].oldEnd+diffContext {
			groups[n].hunks = append(groups[n].hunks, h)
			groups[n].oldEnd, groups[n].newEnd = end, h.NewStart-1+h.NewLines
			continue
		}
		groups = append(groups, group{hunks: []change.Hunk{h}, oldStart: start, oldEnd: end, newStart: h.NewStart - 1, newEnd: h.NewStart - 1 + h.NewLines})
	}
	for i := range groups {
		g := &groups[i]
		before, after := min(diffContext, g.oldStart), min(diffContext, len(d.old)-g.oldEnd)
		g.oldStart, g.newStart = g.oldStart-before, g.newStart-before
		g.oldEnd, g.newEnd = g.oldEnd+after, g.newEnd+after
	}
	return groups
}

// shown returns the diff as clients are shown it, with at most limit bytes of text.
func (d *fileDiff) shown(limit int) history.Diff {
	shown := history.Diff{Path: d.path, Hunks: []history.TextHunk{}}
	for _, g := range d.groups() {
		h := history.TextHunk{OldStart: g.oldStart + 1, NewStart: g.newStart + 1}
		old, oldCut := joined(d.old[g.oldStart:g.oldEnd], limit/2)
		text, newCut := joined(d.new[g.newStart:g.newEnd], limit-len(old))
		if shown.Cut = oldCut || newCut || len(shown.Hunks) == maxHunks; shown.Cut && len(shown.Hunks) > 0 {
			break
		}
		h.Old, h.New = old, text
		limit -= len(old) + len(text)
		if shown.Hunks = append(shown.Hunks, h); shown.Cut {
			break
		}
	}
	return shown
}

// joined returns lines as one text, and whether some are omitted because it would have more than limit bytes.
func joined(lines []string, limit int) (text string, cut bool) {
	var b strings.Builder
	for _, line := range lines {
		if b.Len()+len(line) > limit {
			return b.String(), true
		}
		b.WriteString(line)
	}
	return b.String(), false
}

// unified returns the diff as a model reads it: a line begins with a blank, - or +.
func (d *fileDiff) unified() string {
	var b strings.Builder
	for _, g := range d.groups() {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", g.oldStart+1, g.oldEnd-g.oldStart, g.newStart+1, g.newEnd-g.newStart)
		at := g.oldStart
		for _, h := range g.hunks {
			start, end := h.OldStart-1, h.OldStart-1+h.OldLines
			writeLines(&b, " ", d.old[at:start])
			writeLines(&b, "-", d.old[start:end])
			writeLines(&b, "+", d.new[h.NewStart-1:h.NewStart-1+h.NewLines])
			at = end
		}
		writeLines(&b, " ", d.old[at:g.oldEnd])
	}
	return b.String()
}

func writeLines(b *strings.Builder, mark string, lines []string) {
	for _, line := range lines {
		b.WriteString(mark)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ no line end at the end of the file\n")
		}
	}
}

// newLines returns the lines of the new version that the diff has.
func (d *fileDiff) newLines() (shown []history.Lines) {
	for _, g := range d.groups() {
		if g.newEnd > g.newStart {
			shown = append(shown, history.Lines{Start: g.newStart + 1, End: g.newEnd})
		}
	}
	return history.MergedLines(shown)
}

// changedLines returns the lines of the new version that are not in the old one.
func (d *fileDiff) changedLines() (changed []history.Lines) {
	for _, h := range d.hunks {
		if h.NewLines > 0 {
			changed = append(changed, history.Lines{Start: h.NewStart, End: h.NewStart + h.NewLines - 1})
		}
	}
	return history.MergedLines(changed)
}

// sameLines returns the lines of the new version that are in the old one, too.
func (d *fileDiff) sameLines() (same []history.Lines) {
	next := 1
	for _, h := range d.hunks {
		if h.NewStart > next {
			same = append(same, history.Lines{Start: next, End: h.NewStart - 1})
		}
		next = h.NewStart + h.NewLines
	}
	if last := len(d.new); last >= next {
		same = append(same, history.Lines{Start: next, End: last})
	}
	return same
}

// lineHunks returns the hunks as a result remembers them.
func (d *fileDiff) lineHunks() []history.LineHunk {
	hunks := make([]history.LineHunk, len(d.hunks))
	for i, h := range d.hunks {
		hunks[i] = history.LineHunk(h)
	}
	return hunks
}

// maxHunks is the maximum number of hunks that clients are shown, and that a result remembers.
const maxHunks = 1000

// merged returns hunks of which there are too many as one.
func merged(hunks []history.LineHunk) []history.LineHunk {
	if len(hunks) <= maxHunks {
		return hunks
	}
	first, last := hunks[0], hunks[len(hunks)-1]
	first.OldLines = last.OldStart + last.OldLines - first.OldStart
	first.NewLines = last.NewStart + last.NewLines - first.NewStart
	return []history.LineHunk{first}
}
