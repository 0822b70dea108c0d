package history

import (
	"cmp"
	"slices"
)

// FileLines are lines of one version of a file that a tool result shows to the model. A patch of the text removes them: it
// does not show the same lines.
type FileLines struct {
	Path    string  `json:"path"`            // as filecontext names the file
	Version string  `json:"version"`         // of the whole file, as filecontext identifies it
	Lines   []Lines `json:"lines"`           // sorted, without overlaps
	Of      int     `json:"of"`              // lines in the file
	Lossy   bool    `json:"lossy,omitempty"` // they have U+FFFD for bytes that are not text
	Disk    string  `json:"disk,omitempty"`  // of a client's unsaved text: hash of the file on disk, or filecontext.NoFile

	From *Derivation `json:"from,omitempty"` // of a change that the call has made: the version before it. Version is empty for a deleted file
}

// Derivation is how the model made a version of a file from an earlier one. Lines outside of the hunks are in both.
type Derivation struct {
	Path    string     `json:"path,omitempty"` // of the earlier version, if the file was moved
	Version string     `json:"version"`        // the earlier one
	Hunks   []LineHunk `json:"hunks,omitempty"`
}

// LineHunk is lines of an earlier version of a file and the lines in their place. Lines are counted from 1; a side without
// lines starts at the line before which they would be.
type LineHunk struct {
	OldStart int `json:"oldStart"`
	OldLines int `json:"oldLines"`
	NewStart int `json:"newStart"`
	NewLines int `json:"newLines"`
}

// Carried returns those of the lines of the earlier version that are in the later one, with their numbers there.
func (c *Derivation) Carried(lines []Lines) (carried []Lines) {
	for _, one := range lines {
		shift := 0
		for _, h := range c.Hunks {
			if before := (Lines{one.Start, min(one.End, h.OldStart-1)}); before.Start <= before.End {
				carried = append(carried, Lines{before.Start + shift, before.End + shift})
			}
			one.Start = max(one.Start, h.OldStart+h.OldLines)
			shift += h.NewLines - h.OldLines
		}
		if one.Start <= one.End {
			carried = append(carried, Lines{one.Start + shift, one.End + shift})
		}
	}
	return carried
}

// Lines is a range of lines, counted from 1; End is included.
type Lines struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// MergedLines returns ranges sorted, with those that touch each other as one.
func MergedLines(all []Lines) (out []Lines) {
	slices.SortFunc(all, func(a, b Lines) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	for _, next := range all {
		if n := len(out) - 1; n >= 0 && next.Start <= out[n].End+1 {
			out[n].End = max(out[n].End, next.End)
			continue
		}
		out = append(out, next)
	}
	return out
}

// Whole reports whether f is the whole file.
func (f *FileLines) Whole() bool {
	return f.Of == 0 || len(f.Lines) == 1 && f.Lines[0].Start <= 1 && f.Lines[0].End >= f.Of
}

// ShownLines returns the lines of files that the tool results of messages show, in their order. The messages are those of
// the view, with patches applied.
func ShownLines(messages []Message) (shown []FileLines) {
	for i := range messages {
		for j := range messages[i].Blocks {
			if b := &messages[i].Blocks[j]; b.Type == BlockToolResult {
				shown = append(shown, shownIn(b.Content)...)
			}
		}
	}
	return shown
}

func shownIn(content []Block) (shown []FileLines) {
	for i := range content {
		if content[i].File != nil {
			shown = append(shown, *content[i].File)
		}
		shown = append(shown, content[i].Shows...)
	}
	return shown
}
