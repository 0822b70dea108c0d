// Package prompts reads and counts the prompts of a session: those that are sent, and those that are still drafts.
//
// It must never store a prompt or send a request.
package prompts

import (
	"context"
	"encoding/json"
	"fmt"

	"strata/history"
	"strata/session/assembly"
	"strata/session/content"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/session/workspace"
)

// Admission is a prompt that was read, counted and found to fit.
type Admission struct {
	Message history.Message // without id, sequence number, turn and time, unless it is stored already
	Resent  bool            // the message is stored and in the view already
	Resume  *history.Edit   // removes the reply that broke off from the view; nil for none
	Files   []workspace.Attachment
	Omitted []fit.Omitted
}

// Admit reads the files that a prompt refers to, counts the message and checks that it can fit at all. The error is a
// *assembly.BudgetError for a prompt that is too large, a *workspace.RefusedError for a required file, and ErrInvalid for
// invalid content.
func Admit(ctx context.Context, s *assembly.State, reader *workspace.Reader, blocks []history.Block, meta json.RawMessage) (Admission, error) {
	var a Admission
	var err error
	if a.Message.Blocks, a.Files, a.Omitted, err = reader.Resolve(ctx, blocks); err != nil {
		return a, err
	}
	content.Identify(a.Message.Blocks)
	if err := content.Check(a.Message.Blocks, &s.Model); err != nil {
		return a, fmt.Errorf("%w: message: %w", mailbox.ErrInvalid, err)
	}
	a.Message.Role, a.Message.Status, a.Message.Meta = history.RoleUser, history.StatusComplete, meta
	a.Message.Tokens = content.Tokens(ctx, s.Counter, a.Message.Blocks)
	if err := s.CheckPrompt(a.Message.Tokens, workspace.RequiredTokens(ctx, a.Files, s.Counter)); err != nil {
		return a, err
	}
	before, unfinished, err := s.Resent(ctx, &a.Message)
	if before != nil {
		a.Message, a.Resent = *before, true
	}
	if unfinished != nil {
		a.Resume = &history.Edit{Kind: history.EditResume, Reason: "the prompt was sent again", Messages: []string{unfinished.ID}}
	}
	return a, err
}
