package session

import (
	"fmt"
	"slices"

	"strata/compaction"
	"strata/history"
)

// The bounds of a session's checkpoints.
const (
	MaxCheckpoints    = 1000
	maxCheckpointName = 200
)

// CreateCheckpoint names the present state of the session.
func (s *Session) CreateCheckpoint(name string, reply func(history.Checkpoint, error)) {
	fail := func(err error) { reply(history.Checkpoint{}, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			if len(s.context.checkpoints) >= MaxCheckpoints {
				return nil, fmt.Errorf("%w: the session has %d checkpoints already, the most there can be", ErrInvalid, MaxCheckpoints)
			}
			c := history.Checkpoint{
				ID: s.deps.NewID("cp_"), Seq: s.context.LastSeq(), Name: tidyTitle(name, maxCheckpointName), At: s.deps.Now(),
			}
			return s.store("create checkpoint", history.Change{PutCheckpoints: []history.Checkpoint{c}}, func() {
				s.context.checkpoints = append(slices.Clone(s.context.checkpoints), c)
				reply(c, nil)
			}), nil
		}})
	}, fail)
}

// Checkpoints lists the checkpoints, oldest first.
func (s *Session) Checkpoints(reply func([]history.Checkpoint, error)) {
	s.post(func() { reply(s.context.checkpoints, nil) }, func(err error) { reply(nil, err) })
}

// DeleteCheckpoint takes a name away and tells whether it was there. What it named stays.
func (s *Session) DeleteCheckpoint(id string, reply func(bool, error)) {
	fail := func(err error) { reply(false, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			if _, ok := s.context.checkpoint(id); !ok {
				reply(false, nil)
				return nil, nil
			}
			return s.store("delete checkpoint", history.Change{DropCheckpoints: []string{id}}, func() {
				s.context.checkpoints = slices.DeleteFunc(slices.Clone(s.context.checkpoints), func(c history.Checkpoint) bool { return c.ID == id })
				reply(true, nil)
			}), nil
		}})
	}, fail)
}

func (m *ContextManager) checkpoint(id string) (history.Checkpoint, bool) {
	i := slices.IndexFunc(m.checkpoints, func(c history.Checkpoint) bool { return c.ID == id })
	if i < 0 {
		return history.Checkpoint{}, false
	}
	return m.checkpoints[i], true
}

// RestoreRequest says to which state the view is taken back. Exactly one field is set.
type RestoreRequest struct {
	Checkpoint string // id
	Seq        int64
	Before     string // message id: to what was before it
}

// Restored is the answer to a change of the view that goes back.
type Restored struct {
	Seq     int64  // of the edit; 0 where it is still to come
	Removed int    // messages that left the view
	After   string // id of the running turn after which it takes effect; empty for at once
}

// MissingError says that something of a session is not there.
type MissingError struct{ Kind, ID string }

func (e *MissingError) Error() string { return fmt.Sprintf("%s %s not found", e.Kind, e.ID) }

// Restore takes the view back to an earlier state: later edits no longer count and later messages leave
// the view. The transcript stays, and the restore can be undone. While a turn runs it takes effect after it.
func (s *Session) Restore(req RestoreRequest, reply func(Restored, error)) {
	fail := func(err error) { reply(Restored{}, err) }
	s.post(func() {
		to, err := s.context.restorePoint(req)
		if err != nil {
			fail(err)
			return
		}
		s.whenSettled(reply, func(reply func(Restored, error)) {
			s.rewind(history.Edit{Kind: history.EditRestore, To: to, Reason: "asked for"}, reply)
		})
	}, fail)
}

// Undo makes the newest clear, compaction or restore that is in force ineffective. Messages that came
// after it stay.
func (s *Session) Undo(reply func(Restored, error)) {
	fail := func(err error) { reply(Restored{}, err) }
	s.post(func() {
		s.whenSettled(reply, func(reply func(Restored, error)) {
			undone, ok := s.context.log.Undoable()
			if !ok {
				reply(Restored{}, fmt.Errorf("%w: nothing is in force that could be undone", ErrInvalid))
				return
			}
			s.rewind(history.Edit{Kind: history.EditRestore, Undoes: undone.ID, Reason: "undo of a " + string(undone.Kind)}, reply)
		})
	}, fail)
}

// whenSettled runs change at once, or after the running turn; then the answer says so at once.
func (s *Session) whenSettled(reply func(Restored, error), change func(func(Restored, error))) {
	after := s.unfinished()
	if after == nil {
		change(reply)
		return
	}
	if len(s.deferred) >= maxPending {
		reply(Restored{}, fmt.Errorf("session %s: %w", s.id, ErrOverload))
		return
	}
	s.deferred = append(s.deferred, deferral{
		do:   func() { change(s.lateRestore) },
		drop: func() { s.lateRestore(Restored{}, after.unsaved()) },
	})
	reply(Restored{After: after.record.ID}, nil)
}

// lateRestore tells the subscribers of a deferred change that failed; one that worked tells them itself.
func (s *Session) lateRestore(_ Restored, err error) {
	if err != nil {
		s.emit(Event{Kind: EventNotice, Text: "The history could not be taken back: " + s.deps.Describe(err).Message})
	}
}

// rewind stores an edit that goes back, and applies it.
func (s *Session) rewind(edit history.Edit, reply func(Restored, error)) {
	s.enqueue(op{fail: func(err error) { reply(Restored{}, err) }, begin: func() (work, error) {
		edit.ID, edit.Seq, edit.At = s.deps.NewID("edit_"), s.context.NextSeq(), s.deps.Now()
		if edit.Undoes == "" && edit.To >= edit.Seq {
			return nil, fmt.Errorf("%w: seq: %d is not in the past of the session", ErrInvalid, edit.To)
		}
		edit.Before, edit.After = s.context.Tokens(), s.context.log.TokensWith(edit)
		edit.SavedTokens = max(edit.Before-edit.After, 0)
		return s.store("restore", history.Change{Edits: []history.Edit{edit}}, func() {
			before := len(s.context.View())
			s.context.apply(edit)
			s.pause = compaction.Backoff{}
			s.contextChanged("restore")
			s.tellUsage()
			reply(Restored{Seq: edit.Seq, Removed: max(before-len(s.context.View()), 0)}, nil)
		}), nil
	}})
}

// restorePoint returns the sequence number that a request means.
func (m *ContextManager) restorePoint(req RestoreRequest) (int64, error) {
	named := 0
	for _, given := range []bool{req.Checkpoint != "", req.Seq != 0, req.Before != ""} {
		if given {
			named++
		}
	}
	if named != 1 {
		return 0, fmt.Errorf("%w: exactly one of checkpointId, seq and beforeMessageId is wanted", ErrInvalid)
	}
	switch {
	case req.Checkpoint != "":
		c, ok := m.checkpoint(req.Checkpoint)
		if !ok {
			return 0, &MissingError{Kind: "checkpoint", ID: req.Checkpoint}
		}
		return c.Seq, nil
	case req.Before != "":
		i := slices.IndexFunc(m.Transcript(), func(h history.Head) bool { return h.ID == req.Before })
		if i < 0 {
			return 0, &MissingError{Kind: "message", ID: req.Before}
		}
		return m.Transcript()[i].Seq - 1, nil
	case req.Seq < 0:
		return 0, fmt.Errorf("%w: seq: %d is below 0", ErrInvalid, req.Seq)
	}
	return req.Seq, nil
}

// EditInfo is an edit of the view as the timeline shows it.
type EditInfo struct {
	history.Edit
	Ranges  []history.Range `json:"ranges,omitempty"` // of messages that it concerns
	InForce bool            `json:"inForce"`
}

// Edits lists the edits of the view, oldest first, at most limit of those before a sequence number
// (0: the newest). older is the number to list before for the page of older ones, 0 for none.
func (s *Session) Edits(before int64, limit int, reply func(edits []EditInfo, older int64, err error)) {
	s.post(func() {
		all := s.context.log.Edits()
		for len(all) > 0 && before > 0 && all[len(all)-1].Seq >= before {
			all = all[:len(all)-1]
		}
		older := int64(0)
		if len(all) > limit {
			all = all[len(all)-limit:]
			older = all[0].Seq
		}
		inForce, ranges := s.context.log.InForce(), s.context.log.Ranges(all)
		infos := make([]EditInfo, len(all))
		for i, e := range all {
			infos[i] = EditInfo{Edit: e, Ranges: ranges[i], InForce: inForce[e.ID]}
		}
		reply(infos, older, nil)
	}, func(err error) { reply(nil, 0, err) })
}
