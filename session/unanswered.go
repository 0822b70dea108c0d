package session

import "strata/history"

// unanswered returns the note that a turn failed before the model said anything; none for other turns. A prompt that was
// sent before the newest message is not noted: it stays where it is.
func (c *core) unanswered(of *history.Turn, replied bool) []history.Edit {
	transcript := c.context.Transcript()
	failed := of.Status == history.TurnFailed || of.Status == history.TurnInterrupted
	if !failed || replied || c.context.log.Unanswered(of.UserID) || len(transcript) == 0 || transcript[len(transcript)-1].ID != of.UserID {
		return nil
	}
	return []history.Edit{{
		ID: c.deps.NewID("edit_"), Seq: c.context.NextSeq(), Kind: history.EditUnanswered, At: of.EndedAt,
		Reason: "no reply", Messages: []string{of.UserID}, Before: c.context.Tokens(), After: c.context.Tokens(),
	}}
}
