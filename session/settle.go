package session

import (
	"errors"
	"fmt"

	"strata/history"
)

// ErrInterrupted is how a turn ended that was running when the server died.
var ErrInterrupted = errors.New("the server ended before the answer was complete; what had arrived is kept")

// settle gives a turn that the last server left running its end: interrupted, with the text that had
// been saved. It runs while the session is loading.
func (s *Session) settle(loaded history.Loaded) error {
	if loaded.Unfinished == nil {
		return nil
	}
	record := *loaded.Unfinished
	record.Status, record.EndedAt = history.TurnInterrupted, s.deps.Now()
	failure := s.deps.Describe(fmt.Errorf("turn %s: %w", record.ID, ErrInterrupted))
	record.Failure = &failure
	change := history.Change{Session: s.id, End: &record}
	if blocks := joinPartials(loaded.Partials); len(blocks) > 0 {
		change.Messages = []history.Message{{
			ID: record.ReplyID, Seq: s.context.NextSeq(), Turn: record.ID, Role: history.RoleAssistant, Blocks: blocks,
			Tokens: countBlocks(s.context.counter, blocks), At: record.EndedAt, Model: s.model.Name, Status: history.StatusInterrupted,
		}}
	}
	if err := s.deps.Store.Commit(s.ctx, change); err != nil {
		return fmt.Errorf("settle turn %s: %w: %w", record.ID, ErrStorage, err)
	}
	s.context.append(change.Messages)
	return nil
}

// joinPartials returns saved pieces of an answer as blocks, one for each run of one kind.
func joinPartials(partials []history.Partial) []history.Block {
	var blocks []history.Block
	for _, p := range partials {
		if n := len(blocks); n > 0 && blocks[n-1].Type == p.Kind {
			blocks[n-1].Text += p.Text
			continue
		}
		blocks = append(blocks, history.Block{Type: p.Kind, Text: p.Text})
	}
	return blocks
}
