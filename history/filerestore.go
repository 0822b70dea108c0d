package history

import (
	"maps"
	"slices"
)

// RestoreOutcome is what a restore does with a file.
type RestoreOutcome string

// The outcomes of a restore for a file.
const (
	FileRestored  RestoreOutcome = "restored"  // it is put back
	FileUnchanged RestoreOutcome = "unchanged" // it is already as it was
	FileConflict  RestoreOutcome = "conflict"  // it stays as it is, for the Reason
)

// ConflictReason says why a restore leaves a file as it is.
type ConflictReason string

// The reasons of conflicts.
const (
	ConflictChanged ConflictReason = "changed"  // the file does not have the content that the change left
	ConflictMissing ConflictReason = "missing"  // somebody else removed the file
	ConflictExists  ConflictReason = "exists"   // somebody else made a file at the path
	ConflictBetween ConflictReason = "between"  // somebody else wrote the file between two of the changes
	ConflictNoImage ConflictReason = "no_image" // the bytes to put back are not stored any more
	ConflictLinked  ConflictReason = "linked"   // changes moved the file to or from a path with a conflict
	ConflictLater   ConflictReason = "later"    // a later change of the file stays in force
	ConflictFailed  ConflictReason = "failed"   // the file could not be put back
)

// FileRestore is what a restore does at one path.
type FileRestore struct {
	Path    string
	Outcome RestoreOutcome
	Reason  ConflictReason // of a conflict
	Later   string         // id of the change of ConflictLater
	Group   int            // number of the files that moves link: all of them are put back, or none

	// Of a file that is put back: Now is replaced, and must still be there right before that. Put is put in its place; an
	// empty hash removes the file.
	Now, Put FileVersion

	// From is a path that has the bytes of Put now. It is empty if they are stored as an image.
	From string
}

// RestorePlan is what a restore of files does. It is also its preview.
type RestorePlan struct {
	Files []FileRestore // by path
	turns []turned
}

// turned is a change that the plan makes ineffective, or effective again.
type turned struct {
	change FileChange
	to     FileChangeState
	group  int
}

// PlanRestore returns the plan that puts files back as they were before changes, which are sorted, newest first: all changes
// after a place. now returns what is at a path.
//
// A file is put back only if it has the content that the newest change left, and each change found the content that the
// one before it left. Otherwise somebody else wrote the file, and it is a conflict; so are the files that moves link to it.
// A file that is already as it was is unchanged. Changes without effect, and those that are restored already, do not count.
// A change that is planned or unknown counts if the file has the content that it would have left.
//
// Before files are put back, their present bytes should be stored as images of their changes: PlanUndo needs them.
func PlanRestore(changes []FileChange, now func(path string) FileVersion) *RestorePlan {
	return PlanRevert(changes, func(*FileChange) bool { return true }, now)
}

// PlanRevert is PlanRestore for some of the changes after a place. The others stay in force: a file that they changed after a
// chosen one did is a conflict, whatever it contains.
func PlanRevert(changes []FileChange, chosen func(*FileChange) bool, now func(path string) FileVersion) *RestorePlan {
	p := newRestoring(now)
	for i := range changes {
		switch c := &changes[i]; {
		case c.State != FileChangeDone && c.State != FileChangePlanned && c.State != FileChangeUnknown:
		case chosen(c):
			var back []step
			for _, s := range c.steps() {
				back = append(back, step{s.path, s.to, s.from})
			}
			p.take(c, back, FileChangeRestored)
		case c.State == FileChangeDone:
			p.stays(c)
		}
	}
	return p.plan(changes)
}

// PlanUndo returns the plan that puts files forward again: it undoes a restore. The chosen ones of changes, which are sorted,
// oldest first, were put back. The rules are those of PlanRevert.
func PlanUndo(changes []FileChange, chosen func(*FileChange) bool, now func(path string) FileVersion) *RestorePlan {
	p := newRestoring(now)
	for i := range changes {
		switch c := &changes[i]; {
		case c.State == FileChangeRestored && chosen(c):
			p.take(c, c.steps(), FileChangeDone)
		case c.State == FileChangeRestored:
			p.skips(c)
		case c.State == FileChangeDone:
			p.covers(c)
		}
	}
	return p.plan(changes)
}

// Settle returns the changes with their new states, in the order of the plan's changes, once its files are put back.
// restore is the id of the restore's edit, empty for an undo. failed are the paths that could not be put back: the changes of
// these files, and of those that moves link to them, keep their states.
// A file that was removed is remembered with the mode that it had.
func (p *RestorePlan) Settle(restore string, failed map[string]bool) (settled []FileChange) {
	skip, modes := make(map[int]bool), make(map[string]uint32)
	for i := range p.Files {
		f := &p.Files[i]
		skip[f.Group] = skip[f.Group] || f.Outcome == FileConflict || failed[f.Path]
		if f.Outcome == FileRestored && f.Put.Hash == "" {
			modes[f.Path] = f.Now.Mode
		}
	}
	for _, t := range p.turns {
		if skip[t.group] {
			continue
		}
		t.change.State, t.change.RestoredBy = t.to, ""
		if t.to == FileChangeRestored {
			t.change.RestoredBy = restore
			if mode, removed := modes[t.change.leaves()]; removed {
				t.change.Mode = mode
			}
			if t.change.Kind == FileDeleted || t.change.Kind == FileMoved {
				delete(modes, t.change.Path) // older changes left another file there
			}
		}
		settled = append(settled, t.change)
	}
	return settled
}

// restoring is a plan under construction.
type restoring struct {
	now   func(path string) FileVersion
	files map[string]*restored
	later map[string]string // ids of changes that stay in force, by path: the oldest after those that were taken
	lacks map[string]bool   // paths with older changes that stay put back
	turns []turned
}

// restored is a path whose changes are being turned.
type restored struct {
	path      string
	now, then FileVersion // what is there, and what the changes so far lead to
	left      FileVersion // what the first change expects to be there
	gap       bool        // a change led to nothing, so that then is another file than now
	changes   int
	reason    ConflictReason // of the first change that does not fit; empty: none
	later     string         // of ConflictLater
	strict    bool           // a content that fits by chance does not do: the changes before are not in force
	linked    *restored      // towards the representative of the files that moves link; nil: this one
}

func newRestoring(now func(path string) FileVersion) *restoring {
	return &restoring{now: now, files: make(map[string]*restored), later: make(map[string]string), lacks: make(map[string]bool)}
}

func (p *restoring) file(path string) *restored {
	f := p.files[path]
	if f == nil {
		v := p.now(path)
		f = &restored{path: path, now: v, then: v}
		p.files[path] = f
	}
	return f
}

// stays notes a change that stays in force, while newer changes are put back.
func (p *restoring) stays(c *FileChange) {
	for _, s := range c.steps() {
		p.later[s.path] = c.ID
	}
}

// covers notes a change that is in force, while older changes are put forward.
func (p *restoring) covers(c *FileChange) {
	for _, s := range c.steps() {
		if f := p.files[s.path]; f != nil {
			f.covered(c.ID)
		}
	}
}

// skips notes a change that stays put back, while newer changes are put forward.
func (p *restoring) skips(c *FileChange) {
	for _, s := range c.steps() {
		p.lacks[s.path] = true
	}
}

// covered notes that a later change of the file stays in force.
func (f *restored) covered(by string) {
	if f.later == "" {
		f.reason, f.later = ConflictLater, by
	}
}

// take adds a change and what turning it does.
func (p *restoring) take(c *FileChange, steps []step, to FileChangeState) {
	certain := c.State == FileChangeDone || c.State == FileChangeRestored
	if !certain && p.without(steps) {
		to = FileChangeNotDone
	}
	for _, s := range steps {
		f := p.file(s.path)
		if to != FileChangeNotDone {
			f.take(s)
			f.strict = f.strict || p.lacks[s.path]
			if later := p.later[s.path]; later != "" {
				f.covered(later)
			}
		}
		f.root().join(p.file(steps[0].path).root())
	}
	p.turns = append(p.turns, turned{change: *c, to: to})
}

// without reports whether all paths are already as the steps would leave them.
func (p *restoring) without(steps []step) bool {
	for _, s := range steps {
		if !p.file(s.path).then.Same(s.to) {
			return false
		}
	}
	return true
}

// take goes on by a step.
func (f *restored) take(s step) {
	if f.reason == "" && !f.then.Same(s.from) {
		f.reason = f.mismatch(s.from)
	}
	if f.changes == 0 {
		f.left = s.from
	}
	f.then = s.to
	f.changes++
	f.gap = f.gap || !s.to.exists()
}

// mismatch returns why then is not the wanted version.
func (f *restored) mismatch(wanted FileVersion) ConflictReason {
	switch {
	case f.changes > 0:
		return ConflictBetween
	case !f.now.exists():
		return ConflictMissing
	case !wanted.exists():
		return ConflictExists
	}
	return ConflictChanged
}

func (f *restored) root() *restored {
	for f.linked != nil {
		if f.linked.linked != nil {
			f.linked = f.linked.linked // so that long chains of moves stay short
		}
		f = f.linked
	}
	return f
}

func (f *restored) join(to *restored) {
	if f != to {
		f.linked = to
	}
}

// plan completes the plan.
func (p *restoring) plan(changes []FileChange) *RestorePlan {
	done := &RestorePlan{turns: p.turns}
	sources := p.sources(changes)
	groups, causes := make(map[*restored]int), make(map[int]ConflictReason)
	for _, path := range slices.Sorted(maps.Keys(p.files)) {
		f := p.files[path]
		if _, known := groups[f.root()]; !known {
			groups[f.root()] = len(groups)
		}
		r := f.result(sources)
		r.Group = groups[f.root()]
		if causes[r.Group] == "" || r.Reason != "" && r.Reason != ConflictNoImage {
			causes[r.Group] = r.Reason
		}
		done.Files = append(done.Files, r)
	}
	for i := range done.Files {
		if f := &done.Files[i]; f.follows(causes[f.Group]) {
			*f = FileRestore{Path: f.Path, Outcome: FileConflict, Reason: ConflictLinked, Group: f.Group}
		}
	}
	for i := range done.turns {
		done.turns[i].group = groups[p.files[done.turns[i].change.Path].root()]
	}
	return done
}

// follows reports whether a file is in conflict only for a linked file with a reason. The bytes of a file that was moved away
// are not stored if they are expected at the other path.
func (r *FileRestore) follows(reason ConflictReason) bool {
	if r.Outcome != FileConflict {
		return reason != ""
	}
	return r.Reason == ConflictNoImage && reason != ConflictNoImage
}

// sources returns where the bytes of hashes are: an empty path for those that are stored, else the path of a file.
func (p *restoring) sources(changes []FileChange) map[string]string {
	at := make(map[string]string)
	for _, path := range slices.Sorted(maps.Keys(p.files)) {
		if now := p.files[path].now; now.Hash != "" && !now.Unreadable {
			at[now.Hash] = path
		}
	}
	for i := range changes {
		if c := &changes[i]; c.HasBefore {
			at[c.Before] = ""
		}
		if c := &changes[i]; c.HasAfter {
			at[c.After] = ""
		}
	}
	return at
}

// result returns what happens to the file, without regard to the files that are linked to it.
func (f *restored) result(sources map[string]string) FileRestore {
	r := FileRestore{Path: f.path}
	put := FileVersion{Hash: f.then.Hash, Mode: f.mode()}
	source, there := sources[put.Hash]
	switch {
	case f.isAlready(put):
		r.Outcome = FileUnchanged
	case f.reason != "":
		r.Outcome, r.Reason, r.Later = FileConflict, f.reason, f.later
	case put.Hash != "" && !there:
		r.Outcome, r.Reason = FileConflict, ConflictNoImage
	default:
		r.Outcome, r.Now, r.Put, r.From = FileRestored, f.now, put, source
	}
	return r
}

// isAlready reports whether the file is already as it should become.
func (f *restored) isAlready(put FileVersion) bool {
	if f.reason != "" {
		return f.now.Same(put) && f.later == "" && !f.strict
	}
	return f.now.Same(put) && f.now.Mode == put.Mode
}

// mode returns the mode of the file that is put back. Changes that keep a file keep its mode too: if it differs, somebody
// else set it, and it stays.
func (f *restored) mode() uint32 {
	switch {
	case !f.then.exists():
		return 0
	case f.now.exists() && (!f.gap || f.now.Mode != f.left.Mode):
		return f.now.Mode
	}
	return f.then.Mode
}
