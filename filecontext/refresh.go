package filecontext

import (
	"context"
	"errors"
)

// ChangeKind is the kind of a change of a file on disk.
type ChangeKind string

// The kinds of changes.
const (
	Changed    ChangeKind = "changed"
	Deleted    ChangeKind = "deleted"
	Unreadable ChangeKind = "unreadable"
	Created    ChangeKind = "created" // was unreadable, is readable now

	// touched is not reported: the content is the same, but has a new stamp or was not in memory.
	touched ChangeKind = ""
)

// Change is a change of one file found by Refresh.
type Change struct {
	Path    string
	Kind    ChangeKind
	Content Content // of Changed and Created
	Reason  Reason  // of Unreadable
	Detail  string  // likewise; may be empty

	version uint64 // of the compared entry
}

// Explain returns a description of the reason for which a file is unreadable, to follow the path in a sentence.
func (c *Change) Explain() string {
	if c.Detail == "" {
		return c.Reason.Explain()
	}
	return c.Reason.Explain() + " (" + c.Detail + ")"
}

// Refresh compares entries to the disk and returns the changes. It compares stamps, and reads the files whose stamps do
// not prove that they are unchanged, including files of a restored FileContext, which have no text. It skips entries with
// unsaved text. The error is that of ctx.
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

// look compares one file to its entry and reports whether there is a change to apply.
func (r *Roots) look(ctx context.Context, e Entry) (Change, bool) {
	ref, err := r.Locate(e.Path)
	if err != nil {
		return lost(e, err)
	}
	ref.Allow = e.Allowed
	now, err := r.stat(ctx, ref)
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

// lost returns the change for a file that cannot be read. It returns false if the entry already has this problem.
func lost(e Entry, err error) (Change, bool) {
	reason := ReasonOf(err)
	if reason == ReasonMissing {
		return Change{Kind: Deleted}, true
	}
	change := Change{Kind: Unreadable, Reason: reason}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		change.Detail = refused.Detail
	}
	return change, e.Problem != reason
}

// Apply updates the set with changes found by Refresh and returns those to report, in the same order. It skips changes of
// entries that were changed or removed since.
func (f *FileContext) Apply(changes []Change) []Change {
	var reported []Change
	for _, change := range changes {
		e, ok := f.entries[change.Path]
		if !ok || e.version != change.version {
			continue
		}
		if change = f.apply(e, change); change.Kind != touched {
			reported = append(reported, change)
		}
	}
	return reported
}

// apply updates one entry and returns the effective change: if the content exceeds the bounds, the file becomes
// unreadable.
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
