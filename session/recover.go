package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/content"
	"strata/session/saving"
)

// recover ends a turn that the last server left running: interrupted, with the text that had been saved. It runs while the
// session is loading.
func (c *core) recover(ctx context.Context, loaded *history.Loaded) error {
	if loaded.Unfinished == nil {
		return nil
	}
	record := *loaded.Unfinished
	record.Status, record.EndedAt = history.TurnInterrupted, c.deps.Now()
	failure := c.deps.Host.Describe(fmt.Errorf("turn %s: %w", record.ID, ErrInterrupted))
	record.Failure = &failure
	change := history.Change{Session: c.id, End: &record}
	if blocks := content.Joined(loaded.Partials); len(blocks) > 0 {
		change.Messages = []history.Message{{
			ID: record.ReplyID, Seq: c.context.NextSeq(), Turn: record.ID, Role: history.RoleAssistant, Blocks: blocks,
			Tokens: content.Tokens(ctx, c.counter(), blocks), At: record.EndedAt, Model: c.choices.Model.Name, Status: history.StatusInterrupted,
		}}
	}
	change.Edits = c.unanswered(&record, len(change.Messages) > 0)
	if err := saving.Commit(ctx, c.deps.Store, change); err != nil {
		return fmt.Errorf("recover turn %s: %w: %w", record.ID, ErrStorage, err)
	}
	c.extend(change.Messages, change.Edits)
	return nil
}
