package historystore

import (
	"errors"
	"fmt"
	"testing"

	"strata/history"
)

// A change whose result was lost is committed again: that succeeds and changes nothing, for every kind of change. A change
// that differs in what it inserts is refused, and leaves nothing.
func TestR11AChangeThatIsStoredSucceeds(t *testing.T) {
	failed := history.Change{Session: "sess_a", End: &history.Turn{ID: turnID(1), Status: history.TurnFailed},
		Calls: []history.Call{{ID: "call_9", Purpose: history.PurposeTurn}}}
	endReply := endTurn("sess_a", 1)
	endReply.End.ReplyID = "msg_9"
	for name, tt := range map[string]struct {
		change history.Change
		other  func(ch *history.Change) // makes another change with the same ids; nil: that replaces the first
	}{
		"session":    {createSession("sess_b"), func(ch *history.Change) { ch.Create = &history.Session{ID: "sess_b", CWD: "/elsewhere"} }},
		"begin":      {beginTurn("sess_a", 5), func(ch *history.Change) { begun := *ch.Begin; begun.UserID = "msg_other"; ch.Begin = &begun }},
		"partial":    {savePartial("sess_a", 1, 0, "ans"), func(ch *history.Change) { p := *ch.Partial; p.Text = "answ"; ch.Partial = &p }},
		"end":        {endTurn("sess_a", 1), func(ch *history.Change) { ended := *ch.End; ended.Status = history.TurnCancelled; ch.End = &ended }},
		"other end":  {endTurn("sess_a", 1), func(ch *history.Change) { ch.Messages[0].Blocks = nil }},
		"reply":      {endReply, func(ch *history.Change) { ended := *ch.End; ended.ReplyID = "msg_other"; ch.End = &ended }},
		"failed end": {failed, nil},
		"chunk":      {saveChunk("msg_7", 0, "ans"), func(ch *history.Change) { p := *ch.Partial; p.Message = "msg_8"; ch.Partial = &p }},
		"step":       {endStep(40), func(ch *history.Change) { ch.Messages[1].Blocks = nil }},
		"append":     {appendText("sess_a", 40, "appended"), func(ch *history.Change) { ch.Messages[0].Tokens++ }},
		"edit":       {compactEdit("sess_a", 40, "msg_1"), func(ch *history.Change) { ch.Edits[0].Summary = "another" }},
		"compaction": {history.Change{Session: "sess_a", Compaction: &history.Compaction{ID: "cmp_1", Outcome: "no_gain"}}, nil},
		"checkpoint": {history.Change{Session: "sess_a", PutCheckpoints: []history.Checkpoint{{ID: "cp_1", Seq: 1}}}, nil},
		"document":   {putDocuments("sess_a", document("rules", "text")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, "", Options{})
			commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0), beginTurn("sess_a", 1), savePartial("sess_a", 0, 9, "begun"), tt.change)
			before := load(t, s, tt.change.Session)
			for range 2 {
				if err := s.Commit(ctx, tt.change); err != nil {
					t.Fatal(err)
				}
				equal(t, "session", load(t, s, tt.change.Session), before)
			}
			if tt.other == nil {
				return
			}
			other := tt.change
			other.Messages = append([]history.Message(nil), other.Messages...)
			other.Edits = append([]history.Edit(nil), other.Edits...)
			tt.other(&other)
			err := s.Commit(ctx, other)
			wantError(t, err, ErrDuplicate)
			wantError(t, err, history.ErrUnchanged)
			equal(t, "session", load(t, s, tt.change.Session), before)
		})
	}
}

// The errors after which nothing is stored say so; any other may hide a change that is stored.
func TestErrorsThatLeaveNothing(t *testing.T) {
	for _, err := range []error{ErrBusy, ErrFull, ErrReadOnly, ErrDuplicate, ErrClosed} {
		if wrapped := fmt.Errorf("commit: %w", err); !errors.Is(wrapped, history.ErrUnchanged) || !errors.Is(wrapped, err) {
			t.Errorf("%v is not history.ErrUnchanged", err)
		}
	}
	for _, err := range []error{ErrDamaged, ErrCursor, errors.New("disk I/O error")} {
		if errors.Is(err, history.ErrUnchanged) {
			t.Errorf("%v is history.ErrUnchanged", err)
		}
	}
}
