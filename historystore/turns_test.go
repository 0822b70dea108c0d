package historystore

import (
	"testing"

	"strata/history"
)

// A prompt that is sent again has several turns, of which the newest counts, also if those of other prompts are newer.
func TestNewestTurnOfEachPrompt(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"))
	var prompts []history.Message
	fail := func(id string, status history.TurnStatus) {
		commit(t, s, history.Change{Session: "sess_a", End: &history.Turn{ID: id, Status: status, Failure: &history.Failure{Code: 1, Message: id}}})
	}
	for n := range int64(3) {
		begin := beginTurn("sess_a", n)
		prompts = append(prompts, begin.Messages[0])
		commit(t, s, begin, beginTurn("sess_b", n))
		fail(turnID(n), history.TurnFailed)
	}
	again := history.Turn{ID: "turn_again", UserID: prompts[1].ID, ReplyID: "msg_again", Status: history.TurnRunning}
	commit(t, s, history.Change{Session: "sess_a", Begin: &again})
	prompts = append(prompts, textMessage(99, history.RoleUser, "appended by a client"))

	want := func(ids ...string) {
		t.Helper()
		turns, err := s.NewestTurns(ctx, "sess_a", prompts)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "prompts with turns", len(turns), len(ids))
		for i, id := range ids {
			equal(t, "the newest turn", turns[prompts[i].ID].ID, id)
		}
	}
	want(turnID(0), "turn_again", turnID(2))
	fail("turn_again", history.TurnInterrupted)
	turns, err := s.NewestTurns(ctx, "sess_a", prompts[1:2])
	if err != nil || turns[prompts[1].ID].Status != history.TurnInterrupted || turns[prompts[1].ID].Failure.Message != "turn_again" {
		t.Errorf("the turn that was sent again is %+v, %v", turns, err)
	}
	prompts = prompts[3:]
	want()
}
