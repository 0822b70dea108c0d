package filecontext

import "context"

// ChangeKind says what happened to a file.
type ChangeKind string

// The kinds of changes.
const (
	Changed    ChangeKind = "changed"
	Deleted    ChangeKind = "deleted"
	Unreadable ChangeKind = "unreadable"
	Created    ChangeKind = "created" // it could not be read, and now it can

	// touched is no change that anybody is told: the content is the same, but has a new stamp, or was not in memory.
	touched ChangeKind = ""
)

// Change is what a look at the disk found out about one file.
type Change struct {
	Path    string
	Kind    ChangeKind
	Content Content // of Changed and Created
	Reason  Reason  // of Unreadable

	version uint64 // of the entry that was looked at
}

// Refresh looks whether files are still as they are in entries, and reads those that may not be: by the stamp that stat gives, then by hash.
// Unsaved texts are left alone. Files that a restored FileContext has without their text are read in any case.
// The error is that of ctx.
func (r *Roots) Refresh(ctx context.Context, entries []Entry) ([]Change, error) {
	var changes []Change
	for _, e := range entries {
		if e.Unsaved {
			continue
		}
		change, found := r.look(ctx, e)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if found {
			change.Path, change.version = e.Path, e.version
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// look compares one file with its entry and reports whether there is anything to apply.
func (r *Roots) look(ctx context.Context, e Entry) (Change, bool) {
	ref, err := r.Locate(e.Path)
	if err != nil {
		return lost(e, err)
	}
	now, err := r.stat(ref)
	if err != nil {
		return lost(e, err)
	}
	if e.stamp.current(now) {
		return Change{}, false
	}
	content, err := r.Read(ctx, ref)
	if err != nil {
		return lost(e, err)
	}
	kind := Changed
	switch {
	case e.Problem != "":
		kind = Created
	case e.Hash == content.Hash:
		kind = touched
	}
	return Change{Kind: kind, Content: content}, true
}

// lost is the change of a file that cannot be read, unless that is known.
func lost(e Entry, err error) (Change, bool) {
	reason := ReasonOf(err)
	if reason == ReasonMissing {
		return Change{Kind: Deleted}, true
	}
	return Change{Kind: Unreadable, Reason: reason}, e.Problem != reason
}

// Apply takes over what Refresh found and returns the changes that are to be told, in the same order. What was found about
// entries that have been changed or removed since is passed over.
func (f *FileContext) Apply(changes []Change) []Change {
	var told []Change
	for _, change := range changes {
		e, ok := f.entries[change.Path]
		if !ok || e.version != change.version {
			continue
		}
		if change = f.apply(e, change); change.Kind != touched {
			told = append(told, change)
		}
	}
	return told
}

// apply returns the change as it came about: a content for which there is no room makes the file unreadable.
func (f *FileContext) apply(old Entry, change Change) Change {
	e := old
	switch change.Kind {
	case Deleted:
		f.drop(old)
		return change
	case Unreadable:
		e.Content, e.Problem = Content{Path: old.Path, foldsCase: old.foldsCase}, change.Reason
	default:
		e.Content, e.Problem = change.Content, ""
		e.Path = old.Path
	}
	if !f.hasRoom(old, e) {
		return f.apply(old, Change{Path: old.Path, Kind: Unreadable, Reason: ReasonFull})
	}
	if change.Kind != touched {
		e = f.touch(e)
	}
	f.set(e)
	return change
}
