package session

import (
	"fmt"
	"slices"

	"strata/history"
	"strata/session/mailbox"
	"strata/session/servers"
)

// ForkRequest says at which state a session is forked. At most one field is set; none means the newest state without an
// unfinished turn.
type ForkRequest struct {
	Checkpoint string // id
	Seq        *int64
}

// Fork is the initial state of a session that is forked from another one, with the ids of that one.
type Fork struct {
	history.Loaded       // without the running turn, the layout and the cost of calls
	Seq            int64 // the state's

	Servers servers.Opening // for the MCP servers; in memory only
}

// Fork returns the session's state at a sequence number: messages, edits and checkpoints up to there, files and documents as
// they are now. It never contains a part of a turn that runs or whose result is not stored.
func (c *checkpoints) Fork(req ForkRequest, reply func(Fork, error)) {
	mailbox.Change(c.mailbox, reply, func() (work, error) {
		seq, err := c.forkPoint(req)
		if err != nil {
			return nil, err
		}
		reply(Fork{Loaded: c.context.ForkAt(c.choices.Record, seq), Seq: seq, Servers: c.turns.servers.Opening()}, nil)
		return nil, nil
	})
}

// forkPoint returns the sequence number that a request means.
func (c *checkpoints) forkPoint(req ForkRequest) (int64, error) {
	settled := c.settledSeq()
	seq := settled
	switch {
	case req.Checkpoint != "":
		named, ok := c.context.Checkpoint(req.Checkpoint)
		if !ok {
			return 0, &MissingError{Kind: "checkpoint", ID: req.Checkpoint}
		}
		seq = named.Seq
	case req.Seq != nil:
		seq = *req.Seq
	}
	switch {
	case seq < 0 || seq > c.context.LastSeq():
		return 0, fmt.Errorf("%w: at: %d is not between 0 and %d, the newest number of the session", ErrInvalid, seq, c.context.LastSeq())
	case seq > settled:
		return 0, &BusyError{TurnID: c.turns.unfinished().record.ID}
	}
	return c.context.Log.Place(seq), nil
}

// settledSeq returns the newest sequence number before an unfinished turn.
func (c *checkpoints) settledSeq() int64 {
	t := c.turns.unfinished()
	if t == nil {
		return c.context.LastSeq()
	}
	for _, h := range slices.Backward(c.context.Transcript()) {
		if h.ID == t.record.UserID {
			return h.Seq - 1
		}
	}
	return c.context.LastSeq() // its prompt is not stored yet
}
