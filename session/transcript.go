package session

import (
	"context"
	"fmt"

	"strata/compaction"
	"strata/history"
)

// Append adds messages to the transcript without a model call. Their ids, times and sequence numbers
// are set here. It is refused while a turn runs or the end of one is not stored.
func (s *Session) Append(messages []history.Message, author *Cursor, reply func(ids []string, err error)) {
	fail := func(err error) { reply(nil, err) }
	s.post(func() {
		switch {
		case s.turn != nil:
			fail(&BusyError{TurnID: s.turn.record.ID})
			return
		case s.unsaved != nil:
			fail(s.unsaved.refusal())
			return
		}
		s.enqueue(op{fail: fail, begin: func() (work, error) { return s.appendWork(messages, author, reply), nil }})
	}, fail)
}

func (s *Session) appendWork(messages []history.Message, author *Cursor, reply func([]string, error)) work {
	counter, model := s.context.counter, s.model
	messages = s.number(messages)
	ids := make([]string, len(messages))
	for i := range messages {
		ids[i] = messages[i].ID
	}
	stored := func() {
		s.context.append(messages)
		for i := range messages {
			s.emitMessage(&messages[i], author)
			s.tellProgress(&messages[i])
		}
		s.contextChanged("append")
		reply(ids, nil)
		s.compactWhenDue()
	}
	return func(ctx context.Context) (step, error) {
		if err := admitMessages(counter, &model, messages); err != nil {
			return nil, err
		}
		return s.store("append messages", history.Change{Messages: messages}, stored)(ctx)
	}
}

// number gives new messages their ids, sequence numbers and times.
func (s *Session) number(messages []history.Message) []history.Message {
	seq := s.context.NextSeq()
	for i := range messages {
		m := &messages[i]
		m.ID, m.Seq, m.At, m.Status = s.deps.NewID("msg_"), seq+int64(i), s.deps.Now(), history.StatusComplete
	}
	return messages
}

func (s *Session) contextChanged(reason string) {
	s.active = s.deps.Now()
	s.emit(Event{Kind: EventContextChanged, Settled: s.context.LastSeq(), Data: ContextChanged{
		Reason: reason, Tokens: s.context.Tokens(), Seq: s.context.LastSeq(),
	}})
}

// Cleared is the answer to Clear.
type Cleared struct {
	Seq   int64  // the edit's sequence number, 0 where it is still to come
	After string // id of the running turn after which it takes effect; empty for at once
}

// Clear empties the working history; the transcript stays. While a turn runs or its end is not stored it
// takes effect after it, and the answer says so at once.
func (s *Session) Clear(reply func(Cleared, error)) {
	fail := func(err error) { reply(Cleared{}, err) }
	s.post(func() {
		after := s.unfinished()
		if after == nil {
			s.clear(func(seq int64, err error) { reply(Cleared{Seq: seq}, err) })
			return
		}
		if len(s.deferred) >= maxPending {
			fail(fmt.Errorf("session %s: %w", s.id, ErrOverload))
			return
		}
		s.deferred = append(s.deferred, deferral{
			do:   func() { s.clear(s.lateClear) },
			drop: func() { s.lateClear(0, after.unsaved()) },
		})
		reply(Cleared{After: after.record.ID}, nil)
	}, fail)
}

// lateClear tells the subscribers of a deferred clear that failed; one that worked tells them itself.
func (s *Session) lateClear(_ int64, err error) {
	if err != nil {
		s.emit(Event{Kind: EventNotice, Text: "The history could not be cleared: " + s.deps.Describe(err).Message})
	}
}

func (s *Session) clear(reply func(int64, error)) {
	s.enqueue(op{fail: func(err error) { reply(0, err) }, begin: func() (work, error) {
		edit := history.Edit{
			ID: s.deps.NewID("edit_"), Seq: s.context.NextSeq(), Kind: history.EditClear, At: s.deps.Now(),
			Reason: "asked for", Before: s.context.Tokens(), SavedTokens: s.context.Tokens(),
		}
		return s.store("clear history", history.Change{Edits: []history.Edit{edit}}, func() {
			s.context.apply(edit)
			s.pause = compaction.Backoff{}
			s.contextChanged("clear")
			s.tellUsage()
			reply(edit.Seq, nil)
		}), nil
	}})
}
