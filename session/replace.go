package session

import (
	"context"
	"fmt"

	"strata/compaction"
	"strata/history"
)

// Replaced is the answer to Replace.
type Replaced struct {
	Seq        int64    // the edit's sequence number
	MessageIDs []string // of the messages that the working history holds now
}

// Replace makes messages the whole working history, in one transaction. The transcript keeps what was
// there, and checkpoint/restore brings it back. It is refused while a turn runs.
func (s *Session) Replace(messages []history.Message, author *Cursor, reply func(Replaced, error)) {
	fail := func(err error) { reply(Replaced{}, err) }
	s.post(func() {
		if t := s.unfinished(); t != nil {
			fail(&BusyError{TurnID: t.record.ID})
			return
		}
		s.enqueue(op{fail: fail, begin: func() (work, error) { return s.replaceWork(messages, author, reply), nil }})
	}, fail)
}

func (s *Session) replaceWork(messages []history.Message, author *Cursor, reply func(Replaced, error)) work {
	edit := history.Edit{
		ID: s.deps.NewID("edit_"), Seq: s.context.NextSeq(), Kind: history.EditReplace, At: s.deps.Now(),
		Reason: "asked for", Before: s.context.Tokens(),
	}
	messages = s.number(messages)
	answer := Replaced{Seq: edit.Seq}
	for i := range messages {
		messages[i].Seq++ // behind the edit
		answer.MessageIDs = append(answer.MessageIDs, messages[i].ID)
	}
	counter, model := s.context.counter, s.model
	stored := func() {
		s.context.apply(edit)
		s.pause = compaction.Backoff{}
		s.context.append(messages)
		for i := range messages {
			s.emitMessage(&messages[i], author)
		}
		s.contextChanged("replace")
		s.tellUsage()
		reply(answer, nil)
	}
	return func(ctx context.Context) (step, error) {
		if err := admitMessages(counter, &model, messages); err != nil {
			return nil, err
		}
		for i := range messages {
			edit.After += messages[i].Tokens
		}
		edit.SavedTokens = edit.Before - edit.After
		return s.store("replace the history", history.Change{Edits: []history.Edit{edit}, Messages: messages}, stored)(ctx)
	}
}

// Count counts the tokens of a text and of messages as a request to the session's model would hold them,
// the framing of messages included. With nothing of either it is an error.
func (s *Session) Count(text string, messages []history.Message, reply func(int, error)) {
	fail := func(err error) { reply(0, err) }
	if text == "" && len(messages) == 0 {
		fail(fmt.Errorf("%w: a text or messages are wanted", ErrInvalid))
		return
	}
	s.post(func() {
		counter, model := s.context.counter, s.model.Name
		s.spawn(func() {
			countMessages(counter, messages)
			n := counter.Count(text)
			for i := range messages {
				n += messages[i].Tokens
			}
			reply(s.deps.Calibrations.Apply(model, n), nil)
		})
	}, fail)
}
