// Package restoring reverts the changes that tools made to files, and reapplies them.
//
// It must never replace or remove a file whose content differs from what the changes left, and never write before the store has
// the replaced content. A restore that a crash interrupts can be repeated.
package restoring

import (
	"context"
	"fmt"
	"slices"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
	"strata/session/mailbox"
	"strata/session/saving"
)

// Store is the part of the store with the file changes of sessions and their images, the contents before and after.
type Store interface {
	// List returns file changes, oldest first, with HasBefore and HasAfter set.
	List(ctx context.Context, session string, q history.FileChangeQuery) ([]history.FileChange, error)
	// ByTurn returns the changes of a page of turns, newest turn first, and the number of the page of older turns, 0 for none.
	ByTurn(ctx context.Context, session string, before int64, limit int) (turns [][]history.FileChange, older int64, err error)
	// Images returns the contents of changed files by their hashes. Missing ones are omitted.
	Images(ctx context.Context, session string, hashes []string) (map[string][]byte, error)
}

// Note says which changes a restore does not cover.
const Note = "Only changes made with edit_file, write_file, delete_file and move_file are included, not those made by commands " +
	"or by tools of clients."

// Files reverts and reapplies the file changes of a session. One goroutine may use it, also outside the mailbox.
type Files struct {
	Session string
	Store   Store // nil: there are no changes
	Saver   saving.Store
	Roots   *filecontext.Roots // nil: the session's folder cannot be opened
}

// ErrNoFolder is the error of a restore in a session whose folder cannot be opened.
var ErrNoFolder = fmt.Errorf("%w: the session's folder cannot be opened", mailbox.ErrInvalid)

// ErrAway is the error of a restore in a session whose files a client has that is not connected.
var ErrAway = fmt.Errorf("%w: the client that has the session's files is not connected", mailbox.ErrInvalid)

// UnknownError reports that a session has no file change with an id.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string { return fmt.Sprintf("file change %q not found", e.ID) }

// Request selects the changes to revert or to reapply.
type Request struct {
	find    history.FileChangeQuery
	ids     []string // of the changes; nil: those that find finds
	forward bool
}

// After reverts all changes after a place.
func After(place int64) *Request { return &Request{find: history.FileChangeQuery{After: place}} }

// UndoOf reapplies the changes that the restore with an edit has reverted.
func UndoOf(edit string) *Request {
	return &Request{find: history.FileChangeQuery{RestoredBy: edit}, forward: true}
}

// Single reverts single changes, or, with forward, reapplies those that were reverted.
func Single(ids []string, forward bool) *Request {
	return &Request{ids: append([]string{}, ids...), forward: forward}
}

// Done is the outcome of a restore, or of its preview. A nil *Done did nothing.
type Done struct {
	Files   []File
	Omitted int // files that have no room in Files

	plan   *history.RestorePlan
	failed map[string]bool
}

// Settled returns the changes with their new states, which the caller must store. edit is the id of the restore's edit, empty
// for none.
func (d *Done) Settled(edit string) []history.FileChange {
	if d == nil {
		return nil
	}
	return d.plan.Settle(edit, d.failed)
}

// Do reverts or reapplies changes; with preview it changes nothing and returns the outcome that Do would have now. It returns
// nil for a nil request, and for the undo of a restore without files. The caller must store the changes of Settled. The error is
// ErrNoFolder, ErrAway, an *UnknownError, or one of the store or of ctx. After an error some files may be restored; the same request
// restores the others.
func (f *Files) Do(ctx context.Context, req *Request, preview bool) (*Done, error) {
	if req == nil || f.Store == nil {
		return nil, nil
	}
	plan, changes, err := f.plan(ctx, req)
	if err != nil || len(changes) == 0 && req.find.RestoredBy != "" {
		return nil, err
	}
	done := &Done{plan: plan}
	if done.Files, done.Omitted, err = f.tell(ctx, plan); err != nil || preview {
		return done, err
	}
	faults, err := f.apply(ctx, plan, changes)
	if err != nil {
		return nil, err
	}
	done.fail(faults)
	return done, nil
}

// plan returns the plan for a request, and the changes that it concerns.
func (f *Files) plan(ctx context.Context, req *Request) (*history.RestorePlan, []history.FileChange, error) {
	changes, chosen, err := f.find(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	if len(changes) > 0 {
		if err := f.reachable(ctx); err != nil {
			return nil, nil, err
		}
	}
	var plan *history.RestorePlan
	now := func(path string) history.FileVersion { return f.now(ctx, path) }
	if req.forward {
		plan = history.PlanUndo(changes, chosen, now)
	} else {
		slices.Reverse(changes)
		plan = history.PlanRevert(changes, chosen, now)
	}
	return plan, changes, ctx.Err()
}

// reachable returns the error of a restore if no file of the session can be read now.
func (f *Files) reachable(ctx context.Context) error {
	switch {
	case f.Roots == nil:
		return ErrNoFolder
	case !f.Roots.IsRemote():
		return nil
	}
	_, err := f.Roots.Source().List(ctx)
	if err != nil && ctx.Err() == nil && filecontext.ReasonOf(err) == filecontext.ReasonAway {
		return ErrAway
	}
	return ctx.Err()
}

// find returns the changes from the oldest chosen one on, oldest first.
func (f *Files) find(ctx context.Context, req *Request) (changes []history.FileChange, chosen func(*history.FileChange) bool, err error) {
	if changes, err = f.Store.List(ctx, f.Session, req.find); err != nil {
		return nil, nil, err
	}
	ids := make(map[string]bool)
	for _, id := range req.ids {
		if !slices.ContainsFunc(changes, func(c history.FileChange) bool { return c.ID == id }) {
			return nil, nil, &UnknownError{ID: id}
		}
		ids[id] = true
	}
	if req.ids == nil {
		for i := range changes {
			ids[changes[i].ID] = true
		}
	}
	chosen = func(c *history.FileChange) bool { return ids[c.ID] }
	if req.find.RestoredBy == "" || len(changes) == 0 {
		return changes, chosen, nil
	}
	changes, err = f.Store.List(ctx, f.Session, history.FileChangeQuery{After: changes[0].Seq - 1}) // those in between, too
	return changes, chosen, err
}

// now returns what is at a path.
func (f *Files) now(ctx context.Context, path string) history.FileVersion {
	v, err := change.Files{Roots: f.Roots}.Look(ctx, path)
	switch {
	case err != nil:
		return history.FileVersion{Unreadable: true}
	case !v.Exists:
		return history.FileVersion{}
	}
	return history.FileVersion{Hash: v.Hash(), Mode: v.Mode}
}
