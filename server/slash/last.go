package slash

import (
	"context"
	"encoding/json"
	"fmt"

	"strata/history"
	"strata/internal/await"
	"strata/session"
)

// last is the newest prompt of a view, with what follows it there.
type last struct {
	prompt    history.Message
	patched   bool // an edit has changed the prompt in the view
	following int  // messages after it
	open      bool // the turn has no complete reply: only finished steps and a partial reply follow
}

// The pages of the transcript that are searched for the prompt.
const (
	pageSize = 100
	maxPages = 500
)

// findLast returns the newest prompt of the view, nil if the view has none.
func findLast(ctx context.Context, s *session.Session) (*last, error) {
	var after []history.Message // of the view, the newest first
	before := int64(0)
	for range maxPages {
		page, err := await.Reply(ctx, func(reply func(session.List, error)) { s.List(before, pageSize, reply) })
		if err != nil {
			return nil, err
		}
		for i := len(page.Messages) - 1; i >= 0; i-- {
			m := page.Messages[i]
			switch {
			case !page.Fates[i].InView:
				continue
			case m.Role == history.RoleUser && m.Turn != "":
				return &last{prompt: m, patched: len(page.Fates[i].Patches) > 0, following: len(after), open: isOpen(after)}, nil
			}
			m.Blocks = nil
			after = append(after, m)
		}
		if before = page.Older; before == 0 {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("%w: the last turn has too many messages", session.ErrInvalid)
}

// isOpen reports whether the messages after a prompt, newest first, are only finished steps of its turn and a partial reply:
// then the same prompt continues the turn.
func isOpen(after []history.Message) bool {
	if len(after) > 1 && after[0].Role == history.RoleAssistant && after[0].Status != history.StatusComplete && after[1].Role == history.RoleTool {
		after = after[1:]
	}
	return len(after) == 0 || after[0].Role == history.RoleTool && after[0].Turn != ""
}

// Prompt is the prompt that /retry sends again.
type Prompt struct {
	Blocks []history.Block
	Meta   json.RawMessage

	instead string // id of the prompt that it replaces in the view; empty: the prompt is the newest one without a reply
}

// LastPrompt returns the last prompt of the view for commands.Retry. If the view has no prompt, the error wraps
// session.ErrInvalid.
func LastPrompt(ctx context.Context, s *session.Session) (Prompt, error) {
	last, err := findLast(ctx, s)
	switch {
	case err != nil:
		return Prompt{}, err
	case last == nil:
		return Prompt{}, fmt.Errorf("%w: the working history has no prompt to send again", session.ErrInvalid)
	}
	p := Prompt{Meta: last.prompt.Meta}
	for _, b := range last.prompt.Blocks {
		switch b.Type {
		case history.BlockText, history.BlockImage, history.BlockLink, history.BlockResource:
			p.Blocks = append(p.Blocks, b)
		}
	}
	if !last.open || last.patched {
		p.instead = last.prompt.ID
	}
	return p, nil
}

// Prepare removes the turn of the prompt from the view if it has a reply. The error is a *session.BusyError if a turn runs.
func (p Prompt) Prepare(ctx context.Context, s *session.Session) error {
	if p.instead == "" {
		return nil
	}
	restored, err := await.Reply(ctx, func(reply func(session.Restored, error)) {
		s.Restore(session.RestoreRequest{Before: p.instead}, reply)
	})
	if err == nil && restored.After != "" {
		err = &session.BusyError{TurnID: restored.After}
	}
	return err
}
