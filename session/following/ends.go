package following

import (
	"context"

	"strata/history"
)

// Ending says how the newest turn of a prompt ended without a complete reply.
type Ending struct {
	Turn   string             `json:"turnId"`
	Status history.TurnStatus `json:"status"` // failed, cancelled or interrupted
	Error  *history.Failure   `json:"error,omitempty"`
}

// turnStore reads turns of the database.
type turnStore interface {
	// NewestTurns returns the newest turn of each of these user messages, by their ids; none for those that no turn answers.
	NewestTurns(ctx context.Context, session string, prompts []history.Message) (map[string]history.Turn, error)
}

// read returns messages, and how the turns of the prompts among them ended. unsaved is the turn whose end is not in the store
// yet, nil for none.
func (f *Following) read(ctx context.Context, seqs []int64, unsaved *history.Turn) ([]history.Message, map[string]Ending, error) {
	messages, err := f.store.Messages(ctx, f.session, seqs)
	if err != nil {
		return nil, nil, err
	}
	var prompts []history.Message
	for i := range messages {
		if messages[i].Role == history.RoleUser {
			prompts = append(prompts, messages[i])
		}
	}
	turns, err := f.store.NewestTurns(ctx, f.session, prompts)
	if err != nil {
		return nil, nil, err
	}
	ends := make(map[string]Ending)
	for prompt, t := range turns {
		if unsaved != nil && unsaved.ID == t.ID {
			t = *unsaved
		}
		if t.Status != history.TurnCompleted && t.Status != history.TurnRunning {
			ends[prompt] = Ending{Turn: t.ID, Status: t.Status, Error: t.Failure}
		}
	}
	return messages, ends, nil
}
