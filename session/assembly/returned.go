package assembly

import (
	"slices"

	"strata/history"
	"strata/session/fit"
)

// Returns returns the edit that brings back messages and texts that an earlier request omitted because they did not fit, if
// the built request has room for them again. shed are the edits that omitted them, oldest first: the newest comes back
// first. Pictures do not come back: they were too large for a request, not for the window.
func (s *State) Returns(b *Built, shed []history.Edit) (edit history.Edit, ok bool) {
	shed = slices.DeleteFunc(shed, func(e history.Edit) bool {
		return slices.ContainsFunc(e.Patches, func(p history.Patch) bool { return p.Origin != fit.ReasonTruncated })
	})
	if len(shed) == 0 || len(b.Changes.Evict)+len(b.Changes.Truncate) > 0 {
		return history.Edit{}, false
	}
	room := s.Kept() - (b.Counted - b.Plan.Dead)
	if most := s.Capacity(s.Profile.Budget.HistoryTokens); most > 0 {
		room = min(room, int(float64(most)*fit.KeepShare)-s.HistoryTokens)
	}
	newest := &shed[len(shed)-1]
	back := history.Edit{Kind: history.EditRestore, Undoes: newest.ID, Reason: fit.ReasonReturned}
	return back, newest.SavedTokens <= room
}
