package session

import (
	"fmt"
	"slices"

	"strata/history"
)

// ForkRequest says at which state a session is forked. At most one field is set; none means the newest
// state without a turn that is not over.
type ForkRequest struct {
	Checkpoint string // id
	Seq        *int64
}

// Fork is what a session that is forked off another one starts with, under the ids of that one.
type Fork struct {
	history.Loaded       // without what belongs to a running turn, the layout and what calls have cost
	Seq            int64 // the state's
}

// Fork returns the session's state at a sequence number: messages, edits and checkpoints up to there, files and
// documents as they are now. It never holds a part of a turn that runs or whose end is not stored.
func (s *Session) Fork(req ForkRequest, reply func(Fork, error)) {
	fail := func(err error) { reply(Fork{}, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			seq, err := s.forkPoint(req)
			if err != nil {
				return nil, err
			}
			reply(Fork{Loaded: s.context.forkAt(s.record, seq), Seq: seq}, nil)
			return nil, nil
		}})
	}, fail)
}

// forkPoint returns the sequence number that a request means.
func (s *Session) forkPoint(req ForkRequest) (int64, error) {
	settled := s.settledSeq()
	seq := settled
	switch {
	case req.Checkpoint != "":
		c, ok := s.context.checkpoint(req.Checkpoint)
		if !ok {
			return 0, &MissingError{Kind: "checkpoint", ID: req.Checkpoint}
		}
		seq = c.Seq
	case req.Seq != nil:
		seq = *req.Seq
	}
	switch {
	case seq < 0 || seq > s.context.LastSeq():
		return 0, fmt.Errorf("%w: at: %d is not between 0 and %d, the newest number of the session", ErrInvalid, seq, s.context.LastSeq())
	case seq > settled:
		return 0, &BusyError{TurnID: s.unfinished().record.ID}
	}
	return seq, nil
}

// settledSeq returns the newest sequence number before a turn that is not over.
func (s *Session) settledSeq() int64 {
	t := s.unfinished()
	if t == nil {
		return s.context.LastSeq()
	}
	for _, h := range slices.Backward(s.context.Transcript()) {
		if h.ID == t.record.UserID {
			return h.Seq - 1
		}
	}
	return s.context.LastSeq() // its prompt is not stored yet
}

func (m *ContextManager) forkAt(record history.Session, seq int64) history.Loaded {
	l := history.Loaded{Session: record, Documents: m.documents}
	l.Heads, l.Edits = m.log.UpTo(seq)
	for _, c := range m.checkpoints {
		if c.Seq <= seq {
			l.Checkpoints = append(l.Checkpoints, c)
		}
	}
	for _, e := range m.files.List() {
		l.Files = append(l.Files, history.File(e.Stored()))
	}
	return l
}
