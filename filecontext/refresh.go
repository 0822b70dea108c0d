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

	// touched is not reported: the content is the same, but has a new stamp, was not in memory, or learned its version on
	// disk.
	touched ChangeKind = ""
)

// Change is a change of one file found by Refresh.
type Change struct {
	Path    string
	Kind    ChangeKind
	Content Content // of Changed and Created
	Reason  Reason  // of Unreadable
	Detail  string  // likewise; may be empty

	unsaved bool   // Content is still the client's unsaved text
	version uint64 // of the compared entry
}

// On returns e with the new content, which a change of another kind than Deleted and Unreadable has.
func (c *Change) On(e Entry) Entry {
	path := e.Path
	e.Content, e.Problem, e.Unsaved = c.Content, "", c.unsaved
	e.Path = path
	return e
}

// Explain returns a description of the reason for which a file is unreadable, to follow the path in a sentence.
func (c *Change) Explain() string {
	if c.Detail == "" {
		return c.Reason.Explain()
	}
	return c.Reason.Explain() + " (" + c.Detail + ")"
}

// Refresh compares entries to the disk and returns the changes. It compares stamps, and reads the files whose stamps do
// not prove that they are unchanged, including files of a restored FileContext, which have no text. Of a file with unsaved
// text it returns a change if the file on disk has changed since the text came. The error is that of ctx.
func (r *Roots) Refresh(ctx context.Context, entries []Entry) ([]Change, error) {
	var changes []Change
	stamps := r.stamps(ctx, entries)
	for _, e := range entries {
		look := r.look
		if e.Unsaved {
			look = r.lookBehind
		}
		change, found := look(ctx, e, stamps)
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
func (r *Roots) look(ctx context.Context, e Entry, stamps map[string]stamped) (Change, bool) {
	ref, err := r.Locate(e.Path)
	if err != nil {
		return lost(e, err)
	}
	ref.Allow = e.Allowed
	now, err := r.known(ctx, ref, stamps)
	if err != nil {
		return e.missed(err)
	}
	if e.stamp.current(now) {
		return Change{}, false
	}
	content, err := r.Read(ctx, ref)
	if err != nil {
		return e.missed(err)
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

// lookBehind compares the file on disk with the version that it had when the unsaved text of e came, and reports whether
// there is a change to apply. Unsaved text of a file that is missing or cannot be read stays: nothing else has it.
func (r *Roots) lookBehind(ctx context.Context, e Entry, stamps map[string]stamped) (Change, bool) {
	ref, err := r.Locate(e.Path)
	if err != nil {
		return Change{}, false
	}
	ref.Allow = e.Allowed
	now, err := r.known(ctx, ref, stamps)
	if err != nil || e.stamp.current(now) {
		return Change{}, false
	}
	content, err := r.Read(ctx, ref)
	switch {
	case err != nil:
		return Change{}, false
	case e.disk == "", e.disk == content.Hash:
		kept := e.Content
		kept.disk, kept.stamp = content.Hash, content.stamp
		return Change{Kind: touched, Content: kept, unsaved: true}, true
	}
	return Change{Kind: Changed, Content: content}, true
}

// known returns the stamp of a file, from stamps if it is there.
func (r *Roots) known(ctx context.Context, ref Ref, stamps map[string]stamped) (stamp, error) {
	if s, ok := stamps[ref.Path]; ok {
		return s.stamp, s.err
	}
	return r.stat(ctx, ref)
}

// missed is lost for a file that may come back: its known text remains while the client that has the file is away.
func (e *Entry) missed(err error) (Change, bool) {
	if ReasonOf(err) == ReasonAway && e.Problem == "" && e.Text != "" {
		return Change{}, false
	}
	return lost(*e, err)
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
		e = change.On(e)
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
