package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/content"
	"strata/session/saving"
)

// unsettled returns the ending of a turn that the last server left running, nil for none: the one in a recovery file, else
// interrupted, with the text that had been saved.
func (t *turns) unsettled(ctx context.Context, loaded *opening) *ending {
	if loaded.Unfinished == nil {
		return nil
	}
	for _, kept := range loaded.kept {
		if kept.End != nil && kept.End.ID == loaded.Unfinished.ID {
			e := t.endingOf(kept)
			e.kept = true
			return e
		}
	}
	record := *loaded.Unfinished
	record.Status, record.EndedAt = history.TurnInterrupted, t.deps.Now()
	failure := t.deps.Host.Describe(fmt.Errorf("turn %s: %w", record.ID, ErrInterrupted))
	record.Failure = &failure
	change := history.Change{Session: t.id, End: &record}
	if blocks := content.Joined(loaded.Partials); len(blocks) > 0 {
		change.Messages = []history.Message{{
			ID: record.ReplyID, Seq: t.context.NextSeq(), Turn: record.ID, Role: history.RoleAssistant, Blocks: blocks,
			Tokens: content.Tokens(ctx, t.counter(), blocks), At: record.EndedAt, Model: t.choices.Model.Name, Status: history.StatusInterrupted,
		}}
	}
	change.Edits = t.unanswered(&record, len(change.Messages) > 0)
	return t.endingOf(change)
}

// endingOf returns the result of a turn of the last server with what is stored of it.
func (t *turns) endingOf(change history.Change) *ending {
	of := &turn{record: *change.End, model: t.choices.Model, stored: true}
	e := &ending{turn: of, change: change}
	if of.record.Failure != nil {
		e.err = &StoredError{Failure: *of.record.Failure}
	}
	for i := range change.Messages {
		if m := &change.Messages[i]; m.ID == of.record.ReplyID {
			e.reply = m
			of.show(m.Blocks)
		}
	}
	return e
}

// show makes the blocks of a message the reply so far.
func (t *turn) show(blocks []history.Block) {
	for i := range blocks {
		switch blocks[i].Type {
		case history.BlockText:
			t.text.WriteString(blocks[i].Text)
		case history.BlockThinking:
			t.thought.WriteString(blocks[i].Text)
		}
	}
}

// settle stores the ending of a turn that the last server left running, while the session is loading. Until an ending that
// cannot be stored is stored, the session can be read, and takes no prompt.
func (t *turns) settle(ctx context.Context, e *ending) error {
	if e == nil {
		return nil
	}
	if err := saving.Commit(ctx, t.deps.Store, e.change); err != nil {
		return err
	}
	t.extend(e.change.Messages, e.change.Edits)
	return nil
}
