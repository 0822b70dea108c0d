package session

import (
	"fmt"
	"slices"
	"time"

	"strata/history"
	"strata/session/content"
	"strata/session/mailbox"
)

// The limits of a session's checkpoints.
const (
	MaxCheckpoints    = 1000
	maxCheckpointName = 200
)

// checkpoints are the named states of a session, and the states from which it can be forked. They belong to the mailbox.
type checkpoints struct {
	*core
	turns *turns
}

// CreateCheckpoint names the present state of the session; while a turn runs, the state before its prompt.
func (c *checkpoints) CreateCheckpoint(name string, reply func(history.Checkpoint, error)) {
	mailbox.Change(c.mailbox, reply, func() (work, error) {
		if len(c.context.Checkpoints) >= MaxCheckpoints {
			return nil, fmt.Errorf("%w: the session has %d checkpoints, the limit; delete one", ErrInvalid, MaxCheckpoints)
		}
		named := history.Checkpoint{
			ID: c.deps.NewID("cp_"), Seq: c.settledSeq(), Name: content.TidyTitle(name, maxCheckpointName), At: c.deps.Now(),
		}
		return c.store("create checkpoint", history.Change{PutCheckpoints: []history.Checkpoint{named}}, func() {
			c.context.Checkpoints = append(slices.Clone(c.context.Checkpoints), named)
			reply(named, nil)
		}), nil
	})
}

// Checkpoints lists the checkpoints, oldest first.
func (c *checkpoints) Checkpoints(reply func([]history.Checkpoint, error)) {
	mailbox.Ask(c.mailbox, reply, func() { reply(c.context.Checkpoints, nil) })
}

// DeleteCheckpoint deletes a name and tells whether it existed. The state that it named stays.
func (c *checkpoints) DeleteCheckpoint(id string, reply func(bool, error)) {
	mailbox.Change(c.mailbox, reply, func() (work, error) {
		if _, ok := c.context.Checkpoint(id); !ok {
			reply(false, nil)
			return nil, nil
		}
		return c.store("delete checkpoint", history.Change{DropCheckpoints: []string{id}}, func() {
			c.context.Checkpoints = slices.DeleteFunc(slices.Clone(c.context.Checkpoints), func(cp history.Checkpoint) bool { return cp.ID == id })
			reply(true, nil)
		}), nil
	})
}

// restorePoint returns the sequence number that a request means.
func (c *core) restorePoint(req RestoreRequest) (int64, error) {
	given := 0
	for _, set := range []bool{req.Checkpoint != "", req.Seq != 0, req.Before != "", !req.At.IsZero()} {
		if set {
			given++
		}
	}
	if given != 1 {
		return 0, fmt.Errorf("%w: exactly one of checkpointId, seq, beforeMessageId and at is required", ErrInvalid)
	}
	switch {
	case req.Checkpoint != "":
		named, ok := c.context.Checkpoint(req.Checkpoint)
		if !ok {
			return 0, &MissingError{Kind: "checkpoint", ID: req.Checkpoint}
		}
		return named.Seq, nil
	case req.Before != "":
		i := slices.IndexFunc(c.context.Transcript(), func(h history.Head) bool { return h.ID == req.Before })
		if i < 0 {
			return 0, &MissingError{Kind: "message", ID: req.Before}
		}
		return c.context.Transcript()[i].Seq - 1, nil
	case !req.At.IsZero():
		if seq := c.context.Log.SeqAt(req.At); seq > 0 {
			return seq, nil
		}
		return 0, fmt.Errorf("%w: at: the session has nothing from %s or before", ErrInvalid, req.At.Format(time.RFC3339))
	case req.Seq < 0:
		return 0, fmt.Errorf("%w: seq: %d is below 0", ErrInvalid, req.Seq)
	}
	return req.Seq, nil
}
