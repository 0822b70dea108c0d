package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"strata/history"
	"strata/session/accounts"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/events"
	"strata/session/mailbox"
	"strata/session/restoring"
)

// edits are the changes of the transcript and of its view other than by turns and compactions. They belong to the mailbox.
type edits struct {
	*core
	turns      *turns
	accounts   *accounts.Accounts
	compacting *compacting.Driver
}

// Append adds messages to the transcript without a model call. Their ids, times and sequence numbers are set here. It is
// refused while a turn runs or its result is not stored.
func (e *edits) Append(messages []history.Message, author *events.Cursor, reply func(ids []string, err error)) {
	mailbox.Ask(e.mailbox, reply, func() {
		fail := func(err error) { reply(nil, err) }
		if err := e.turns.refusal(); err != nil {
			fail(err)
			return
		}
		e.mailbox.Enqueue(mailbox.Op{Fail: fail, Begin: func() (work, error) { return e.append(messages, author, reply), nil }})
	})
}

func (e *edits) append(messages []history.Message, author *events.Cursor, reply func([]string, error)) work {
	state := e.state()
	messages = e.number(messages)
	ids := make([]string, len(messages))
	for i := range messages {
		ids[i] = messages[i].ID
	}
	var change history.Change
	stored := func() {
		e.extend(messages, change.Edits)
		for i := range messages {
			e.events.EmitMessage(&messages[i], author)
			e.tellProgress(&messages[i])
		}
		e.historyChanged("append")
		e.accounts.TellUsage()
		reply(ids, nil)
		e.compacting.WhenDue()
	}
	return func(ctx context.Context) (step, error) {
		late, err := measured(ctx, &state, messages)
		if err != nil {
			return nil, err
		}
		change = history.Change{Messages: messages, Edits: content.Placed(late, messages, e.deps.NewID)}
		return e.store("append messages", change, stored)(ctx)
	}
}

// Replaced is the response to Replace.
type Replaced struct {
	Seq        int64    // the edit's sequence number
	MessageIDs []string // of the messages of the working history
}

// Replace makes messages, which may be none, the whole working history, in one transaction. The transcript keeps the old
// ones, and checkpoint/restore restores them. It is refused while a turn runs or its result is not stored.
func (e *edits) Replace(messages []history.Message, author *events.Cursor, reply func(Replaced, error)) {
	mailbox.Ask(e.mailbox, reply, func() {
		fail := func(err error) { reply(Replaced{}, err) }
		if t := e.turns.unfinished(); t != nil {
			fail(&BusyError{TurnID: t.record.ID})
			return
		}
		e.mailbox.Enqueue(mailbox.Op{Fail: fail, Begin: func() (work, error) { return e.replace(messages, author, reply), nil }})
	})
}

func (e *edits) replace(messages []history.Message, author *events.Cursor, reply func(Replaced, error)) work {
	edit := history.Edit{
		ID: e.deps.NewID("edit_"), Seq: e.context.NextSeq(), Kind: history.EditReplace, At: e.deps.Now(),
		Reason: "asked for", Before: e.context.Tokens(),
	}
	messages = e.number(messages)
	replaced := Replaced{Seq: edit.Seq, MessageIDs: make([]string, 0, len(messages))}
	for i := range messages {
		messages[i].Seq++ // after the edit
		replaced.MessageIDs = append(replaced.MessageIDs, messages[i].ID)
	}
	state := e.state()
	state.View = nil
	var placed []history.Edit
	stored := func() {
		e.applied(edit, "replace", func() {
			e.extend(messages, placed)
			for i := range messages {
				e.events.EmitMessage(&messages[i], author)
			}
		})
		reply(replaced, nil)
	}
	return func(ctx context.Context) (step, error) {
		late, err := measured(ctx, &state, messages)
		if err != nil {
			return nil, err
		}
		placed = content.Placed(late, messages, e.deps.NewID)
		for i := range messages {
			edit.After += messages[i].Tokens
		}
		edit.SavedTokens = edit.Before - edit.After
		return e.store("replace the history", history.Change{Edits: append([]history.Edit{edit}, placed...), Messages: messages}, stored)(ctx)
	}
}

// applied applies a stored edit that a user asked for, and tells the subscribers. also runs before they are told.
func (e *edits) applied(edit history.Edit, reason string, also func()) {
	e.context.Apply(edit)
	e.compacting.ResetBackoff()
	also()
	e.historyChanged(reason)
	e.accounts.TellUsage()
}

// Cleared is the response to Clear.
type Cleared struct {
	Seq   int64  // the edit's sequence number, 0 if it is still to come
	After string // id of the running turn after which it takes effect; empty for immediately
}

// Clear empties the working history; the transcript stays. While a turn runs or its result is not stored it takes effect
// after the turn, and the response says so immediately.
func (e *edits) Clear(reply func(Cleared, error)) {
	mailbox.Ask(e.mailbox, reply, func() {
		after := e.turns.unfinished()
		if after == nil {
			e.clear(func(seq int64, err error) { reply(Cleared{Seq: seq}, err) })
			return
		}
		late := func(_ int64, err error) { e.tellLate("The history could not be cleared: ", err) }
		if err := e.turns.afterTurn(deferral{do: func() { e.clear(late) }, drop: func() { late(0, after.notStored()) }}); err != nil {
			reply(Cleared{}, err)
			return
		}
		reply(Cleared{After: after.record.ID}, nil)
	})
}

// tellLate tells the subscribers that a deferred change failed; a change that worked is told by its own events.
func (e *edits) tellLate(what string, err error) {
	if err != nil {
		e.emit(events.Event{Kind: events.Notice, Text: what + e.deps.Host.Describe(err).Message})
	}
}

func (e *edits) clear(reply func(int64, error)) {
	e.mailbox.Enqueue(mailbox.Op{Fail: func(err error) { reply(0, err) }, Begin: func() (work, error) {
		edit := history.Edit{
			ID: e.deps.NewID("edit_"), Seq: e.context.NextSeq(), Kind: history.EditClear, At: e.deps.Now(),
			Reason: "asked for", Before: e.context.Tokens(), SavedTokens: e.context.Tokens(),
		}
		return e.store("clear history", history.Change{Edits: []history.Edit{edit}}, func() {
			e.applied(edit, "clear", func() {})
			reply(edit.Seq, nil)
		}), nil
	}})
}

// RestoreRequest says to which state the view is restored. Exactly one of the first four fields is set.
type RestoreRequest struct {
	Checkpoint string // id
	Seq        int64
	Before     string // message id: to the state before it
	At         time.Time

	Files   bool // also revert the file changes of tools since then
	Preview bool // change nothing
}

// Restored is the response to a change that restores the view.
type Restored struct {
	Seq     int64           // of the edit; 0 if it is still to come
	Removed int             // messages that left the view
	After   string          // id of the running turn after which it takes effect; empty for immediately
	Files   *restoring.Done // nil: no files were asked for
}

// Restore restores an earlier state of the view: later edits no longer count and later messages leave the view. A place inside
// a step is the place before the step. The transcript stays, and the restore can be undone. While a turn runs it takes effect
// after the turn; with files, and as a preview, it is refused.
func (e *edits) Restore(req RestoreRequest, reply func(Restored, error)) {
	mailbox.Ask(e.mailbox, reply, func() {
		to, err := e.restorePoint(req)
		if err == nil && (req.Files || req.Preview) {
			err = e.turns.refusal()
		}
		if err != nil {
			reply(Restored{}, err)
			return
		}
		edit := history.Edit{Kind: history.EditRestore, To: e.context.Log.Place(to), Reason: "asked for"}
		var files *restoring.Request
		if req.Files {
			files = restoring.After(edit.To)
		}
		e.whenSettled(reply, func(reply func(Restored, error)) { e.rewind(edit, files, req.Preview, reply) })
	})
}

// Undo undoes the newest clear, compaction, restore or arrangement that is in force. Later messages stay. File changes that
// the restore has reverted are reapplied.
func (e *edits) Undo(reply func(Restored, error)) { e.UndoEdit(0, reply) }

// UndoEdit is like Undo, but refuses to undo another edit than that with a sequence number; 0: any.
func (e *edits) UndoEdit(seq int64, reply func(Restored, error)) {
	mailbox.Ask(e.mailbox, reply, func() {
		e.whenSettled(reply, func(reply func(Restored, error)) {
			undone, ok := e.context.Log.Undoable()
			if !ok {
				reply(Restored{}, fmt.Errorf("%w: nothing is in force that could be undone", ErrInvalid))
				return
			}
			if seq != 0 && seq != undone.Seq {
				reply(Restored{}, fmt.Errorf("%w: seq: the newest edit that can be undone is %d, not %d", ErrInvalid, undone.Seq, seq))
				return
			}
			var files *restoring.Request
			if undone.Kind == history.EditRestore {
				files = restoring.UndoOf(undone.ID)
			}
			e.rewind(history.Edit{Kind: history.EditRestore, Undoes: undone.ID, Reason: "undo of a " + string(undone.Kind)}, files, false, reply)
		})
	})
}

// whenSettled runs change now, or after the running turn; then the response says so now.
func (e *edits) whenSettled(reply func(Restored, error), change func(func(Restored, error))) {
	after := e.turns.unfinished()
	if after == nil {
		change(reply)
		return
	}
	late := func(r Restored, err error) {
		e.tellLate("The history could not be restored: ", err)
		if left := r.Files.Left(); left != "" {
			e.emit(events.Event{Kind: events.Notice, Text: left})
		}
	}
	err := e.turns.afterTurn(deferral{do: func() { change(late) }, drop: func() { late(Restored{}, after.notStored()) }})
	if err != nil {
		reply(Restored{}, err)
		return
	}
	reply(Restored{After: after.record.ID}, nil)
}

// rewind restores files, stores an edit that restores a state, and applies the edit; a preview only returns the result.
func (e *edits) rewind(edit history.Edit, request *restoring.Request, preview bool, reply func(Restored, error)) {
	e.mailbox.Enqueue(mailbox.Op{Fail: func(err error) { reply(Restored{}, err) }, Begin: func() (work, error) {
		edit.ID, edit.Seq, edit.At = e.deps.NewID("edit_"), e.context.NextSeq(), e.deps.Now()
		if edit.Undoes == "" && edit.To >= edit.Seq {
			return nil, fmt.Errorf("%w: seq: %d is not in the past of the session", ErrInvalid, edit.To)
		}
		edit.Before, edit.After = e.context.Tokens(), e.context.Log.TokensWith(edit)
		edit.SavedTokens = max(edit.Before-edit.After, 0)
		restored := Restored{Seq: edit.Seq, Removed: max(len(e.context.View())-e.context.Log.LengthWith(edit), 0)}
		done := func() { reply(restored, nil) }
		return e.withFiles(request, preview, func(files *restoring.Done) work {
			if restored.Files = files; preview {
				return func(context.Context) (step, error) { return mailbox.Done(done), nil }
			}
			change := history.Change{Edits: []history.Edit{edit}, PutFileChanges: files.Settled(edit.ID)}
			return e.store("restore", change, func() { e.applied(edit, "restore", func() {}); done() })
		}), nil
	}})
}

// withFiles returns the work that restores files, and then does the work that then returns.
func (e *edits) withFiles(request *restoring.Request, preview bool, then func(*restoring.Done) work) work {
	files := restoring.Files{Session: e.id, Store: e.deps.FileChanges, Saver: e.deps.Store, Roots: e.workspace.Roots()}
	return func(ctx context.Context) (step, error) {
		done, err := files.Do(ctx, request, preview)
		if unknown, ok := errors.AsType[*restoring.UnknownError](err); ok {
			return nil, &MissingError{Kind: "change", ID: unknown.ID}
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrInvalid) {
			err = fmt.Errorf("restore files: %w: %w", ErrStorage, err)
		}
		if err != nil {
			return nil, err
		}
		return then(done)(ctx)
	}
}

// RevertRequest names single changes of files.
type RevertRequest struct {
	IDs     []string
	Forward bool // reapply changes that were reverted
	Preview bool // nothing is done
}

// Revert reverts single file changes. The view does not change. Revert is refused while a turn runs or its result is not stored.
func (e *edits) Revert(req RevertRequest, reply func(*restoring.Done, error)) {
	mailbox.Change(e.mailbox, reply, func() (work, error) {
		if err := e.turns.refusal(); err != nil {
			return nil, err
		}
		return e.withFiles(restoring.Single(req.IDs, req.Forward), req.Preview, func(files *restoring.Done) work {
			settled, done := files.Settled(""), func() { reply(files, nil) }
			if req.Preview || len(settled) == 0 {
				return func(context.Context) (step, error) { return mailbox.Done(done), nil }
			}
			return e.store("revert files", history.Change{PutFileChanges: settled}, func() { e.historyChanged("revert"); done() })
		}), nil
	})
}

// EditInfo is an edit of the view as the timeline shows it.
type EditInfo struct {
	history.Edit
	Ranges  []history.Range `json:"ranges,omitempty"` // of messages that it concerns
	InForce bool            `json:"inForce"`
}

// Edits lists the edits of the view, oldest first, at most limit of those before a sequence number (0: the newest). older is
// the number to list before for the page of older ones, 0 for none.
func (e *edits) Edits(before int64, limit int, reply func(edits []EditInfo, older int64, err error)) {
	e.mailbox.Post(func() {
		all := e.context.Log.Edits()
		for len(all) > 0 && before > 0 && all[len(all)-1].Seq >= before {
			all = all[:len(all)-1]
		}
		older := int64(0)
		if len(all) > limit {
			all = all[len(all)-limit:]
			older = all[0].Seq
		}
		inForce, ranges := e.context.Log.InForce(), e.context.Log.Ranges(all)
		infos := make([]EditInfo, len(all))
		for i, edit := range all {
			infos[i] = EditInfo{Edit: edit, Ranges: ranges[i], InForce: inForce[edit.ID]}
		}
		reply(infos, older, nil)
	}, func(err error) { reply(nil, 0, err) })
}
