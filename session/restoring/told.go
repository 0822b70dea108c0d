package restoring

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
	"strata/internal/clip"
)

// Outcome is the outcome of a restore for a file.
type Outcome string

// The outcomes.
const (
	Restored    Outcome = "restored"
	Unchanged   Outcome = "unchanged"   // it already has the content to restore
	Conflict    Outcome = "conflict"    // it was not changed, for the reason
	Unavailable Outcome = "unavailable" // it was not changed: the content to restore is no longer stored
)

// Effect is how a file is restored.
type Effect string

// The effects.
const (
	PutBack Effect = "put_back" // it has its former content and mode again
	Created Effect = "created"  // it exists again
	Deleted Effect = "deleted"
	Moved   Effect = "moved" // to another path
)

// File is the outcome of a restore for one file.
type File struct {
	Path    string  `json:"path"`
	To      string  `json:"to,omitempty"` // of a file that is moved
	Outcome Outcome `json:"outcome"`
	Change  Effect  `json:"change,omitempty"` // of a restored file

	Reason history.ConflictReason `json:"reason,omitempty"` // of a conflict
	Later  string                 `json:"later,omitempty"`  // id of the later change, for the reason "later"
	Detail string                 `json:"detail,omitempty"` // of the reason "failed"

	Diff *history.Diff `json:"diff,omitempty"` // of a restored text
}

// tell returns the files of a plan: conflicts first, then by path. It omits diffs and files that exceed the limits.
func (f *Files) tell(ctx context.Context, plan *history.RestorePlan) (told []File, omitted int, err error) {
	moves, room := movesOf(plan), newRoom()
	for _, r := range sorted(plan.Files) {
		if moves[r.Path] != nil && r.Put.Hash != "" {
			continue // told with the path from which it moves
		}
		file := outcomeOf(r, moves[r.Path])
		if !room.row(len(file.Path) + len(file.To)) {
			omitted++
			continue
		}
		if file.Outcome == Restored && file.Change != Moved {
			if file.Diff, err = f.diff(ctx, r, room); err != nil {
				return nil, 0, err
			}
		}
		told = append(told, file)
	}
	return told, omitted, nil
}

// sorted returns files with conflicts first, else in their order.
func sorted(files []history.FileRestore) []*history.FileRestore {
	all := make([]*history.FileRestore, len(files))
	for i := range files {
		all[i] = &files[i]
	}
	slices.SortStableFunc(all, func(a, b *history.FileRestore) int {
		return stayFirst(a.Outcome == history.FileConflict, b.Outcome == history.FileConflict)
	})
	return all
}

// stayFirst compares two files by whether they stay as they are.
func stayFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// movesOf returns the files that are only moved: it maps each of the two paths to the file at the other one.
func movesOf(plan *history.RestorePlan) map[string]*history.FileRestore {
	type content struct {
		group int
		hash  string
	}
	gone := make(map[content]*history.FileRestore)
	pairs := make(map[string]*history.FileRestore)
	for i := range plan.Files {
		if r := &plan.Files[i]; r.Outcome == history.FileRestored && r.Put.Hash == "" {
			gone[content{r.Group, r.Now.Hash}] = r
		}
	}
	for i := range plan.Files {
		r := &plan.Files[i]
		at := content{r.Group, r.Put.Hash}
		if from := gone[at]; r.Outcome == history.FileRestored && r.Now.Hash == "" && from != nil {
			pairs[from.Path], pairs[r.Path] = r, from
			delete(gone, at)
		}
	}
	return pairs
}

func outcomeOf(r, moved *history.FileRestore) File {
	file := File{Path: r.Path, Outcome: Restored, Later: r.Later}
	switch {
	case r.Outcome == history.FileUnchanged:
		file.Outcome = Unchanged
	case r.Outcome == history.FileConflict:
		file.blame(fault{reason: r.Reason})
	case moved != nil:
		file.Change, file.To = Moved, moved.Path
	case r.Put.Hash == "":
		file.Change = Deleted
	case r.Now.Hash == "":
		file.Change = Created
	default:
		file.Change = PutBack
	}
	return file
}

// blame sets the reason why a file is not restored.
func (f *File) blame(why fault) {
	f.Outcome, f.Change, f.Diff, f.To = Conflict, "", nil, ""
	f.Reason, f.Detail = why.reason, why.detail
	if why.reason == history.ConflictNoImage {
		f.Outcome, f.Reason = Unavailable, ""
	}
}

// fail sets the reasons of the files that could not be restored, and of those that moves link to them.
func (d *Done) fail(faults map[string]fault) {
	if d.failed = make(map[string]bool); len(faults) == 0 {
		return
	}
	groups, broken := make(map[string]int), make(map[int]bool)
	for i := range d.plan.Files {
		r := &d.plan.Files[i]
		groups[r.Path] = r.Group
		if _, failed := faults[r.Path]; failed {
			d.failed[r.Path], broken[r.Group] = true, true
		}
	}
	for i := range d.Files {
		file := &d.Files[i]
		if file.Outcome != Restored || !broken[groups[file.Path]] {
			continue
		}
		why, known := faults[file.Path]
		if !known {
			why, known = faults[file.To]
		}
		if !known {
			why = fault{reason: history.ConflictLinked}
		}
		file.blame(why)
	}
	slices.SortStableFunc(d.Files, func(a, b File) int { return stayFirst(a.stays(), b.stays()) })
}

// stays reports whether the file was not restored.
func (f *File) stays() bool { return f.Outcome == Conflict || f.Outcome == Unavailable }

// maxNamed is the number of files that a sentence names.
const maxNamed = 5

// Left returns a sentence with the files that were not restored, empty for none.
func (d *Done) Left() string {
	if d == nil {
		return ""
	}
	var names []string
	for i := range d.Files {
		if f := &d.Files[i]; f.stays() {
			names = append(names, filecontext.Printable(clip.Path(f.Path)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return "These files were not restored: " + strings.Join(names, ", ") + "."
}

// diff returns the diff of a restored file, nil if the file is not text or cannot be read.
func (f *Files) diff(ctx context.Context, r *history.FileRestore, room *room) (*history.Diff, error) {
	d := history.Diff{Path: r.Path, Created: r.Now.Hash == "", Deleted: r.Put.Hash == ""}
	return room.diff(d, func() (before, after []byte, err error) {
		if r.Now.Hash != "" {
			v, err := change.Files{Roots: f.Roots}.Look(ctx, r.Path)
			if err != nil || v.Hash() != r.Now.Hash {
				return nil, nil, cmp.Or(ctx.Err(), errNoImage)
			}
			before = v.Bytes
		}
		if r.Put.Hash != "" {
			after, err = image(ctx, f.Store, f.Session, r.Put.Hash)
		}
		return before, after, err
	})
}
