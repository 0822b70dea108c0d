package compacting

import (
	"context"
	"fmt"
	"unicode/utf8"

	"strata/compaction"
	"strata/history"
	"strata/session/fit"
)

// copies are the copies of files that a compaction removes from the history before anything else.
type copies struct {
	patches []history.Patch
	tokens  int // that they save
	chars   int
	origins map[string]int // number of copies by origin
}

// dedupe finds the copies of files in the history, and subtracts what they save from its messages.
func (j *job) dedupe(ctx context.Context, h *compaction.History) error {
	changes, err := j.state.Copies(ctx)
	if err != nil {
		return err
	}
	j.copies = copies{patches: changes.Dedupe, tokens: fit.Saved(changes.Dedupe), chars: changes.Chars, origins: changes.Origins}
	at := make(map[string]int, len(h.Messages))
	for i := range h.Messages {
		at[h.Messages[i].ID] = i
	}
	for _, p := range j.copies.patches {
		m := &h.Messages[at[p.Message]]
		m.Tokens = max(m.Tokens-p.Saved, 0)
	}
	return nil
}

// suffices reports whether the copies have at least percent of the characters of the messages.
func (c *copies) suffices(messages []compaction.Message, percent int) bool {
	all := 0
	for i := range messages {
		all += utf8.RuneCountInString(messages[i].Text)
	}
	return len(c.patches) > 0 && c.chars*100 >= all*percent
}

// lighten runs the compaction of a profile that removes copies of files first. If these are percent of the history nothing
// else leaves it.
func (j *job) lighten(ctx context.Context, h compaction.History, percent int, compact func(compaction.History) compaction.Outcome) compaction.Outcome {
	before := h.Tokens()
	if err := j.dedupe(ctx, &h); err != nil {
		return compaction.Outcome{Result: compaction.Failed, Before: before, After: before, Err: err}
	}
	alone := compaction.Outcome{
		Result: compaction.Compacted, Before: before, After: before - j.copies.tokens,
		Plan: compaction.Plan{Reason: fmt.Sprintf("%d copies of files removed", len(j.copies.patches))},
	}
	if j.copies.suffices(h.Messages, percent) {
		return alone
	}
	out := compact(h)
	switch {
	case out.Result == compaction.Compacted:
		out.Before = before
		if len(j.copies.patches) > 0 {
			out.Plan.Reason = alone.Plan.Reason + ", " + out.Plan.Reason
		}
	case out.Result == compaction.Cancelled || len(j.copies.patches) == 0:
		j.copies = copies{}
		out.Before, out.After = before, before
	default:
		return alone
	}
	return out
}
