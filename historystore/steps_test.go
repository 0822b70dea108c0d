package historystore

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"strata/history"
)

// saveChunk returns the change that saves a chunk of a message of turn 0.
func saveChunk(message string, n int, text string) history.Change {
	ch := savePartial("sess_a", 0, n, text)
	ch.Partial.Message = message
	return ch
}

// endStep returns the change that stores a step of turn 0: its call, and its result.
func endStep(seq int64) history.Change {
	reply := textMessage(seq, history.RoleAssistant, "I read it")
	reply.Blocks = append(reply.Blocks, history.Block{Type: history.BlockToolCall, CallID: "tc_1", Name: "read_file", Args: "{}"})
	result := textMessage(seq+1, history.RoleTool, "")
	result.Blocks = []history.Block{{Type: history.BlockToolResult, CallID: "tc_1", Content: result.Blocks,
		Call: &history.CallShown{Title: "Read a.go", Kind: "read", Locations: []history.Location{{Path: "/src/a.go", Line: 7}, {Path: "/src/b.go"}}}}}
	reply.Turn, result.Turn = turnID(0), turnID(0)
	return history.Change{Session: "sess_a", Messages: []history.Message{reply, result}, DropPartials: turnID(0),
		Calls: []history.Call{{ID: reply.ID + "_call", Turn: turnID(0), Step: 1, Purpose: history.PurposeTurn, At: epoch}}}
}

// partials returns the saved chunks of the running turn.
func partials(t *testing.T, s *Store) (found []history.Partial) {
	t.Helper()
	l := load(t, s, "sess_a")
	if l.Unfinished == nil {
		t.Fatal("no turn is running")
	}
	return l.Partials
}

// The chunks of a step are deleted with the transaction that stores its message, whenever their saves arrive; those of the
// next step are kept until it is stored.
func TestChunksOfSteps(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"), beginTurn("sess_a", 0), beginTurn("sess_b", 0), savePartial("sess_b", 0, 0, "other"))
	first, late := saveChunk("msg_2", 0, "I "), saveChunk("msg_2", 1, "read it")
	commit(t, s, first, endStep(2))
	equal(t, "chunks after the first step", len(partials(t, s)), 0)

	commit(t, s, late, savePartial("sess_a", 0, 2, "of the turn's reply id"), late)
	equal(t, "late chunks", len(partials(t, s)), 0)
	second := saveChunk("msg_4", 0, "It says")
	commit(t, s, second, late)
	equal(t, "chunks of the second step", partials(t, s), []history.Partial{*second.Partial})
	commit(t, s, endStep(2)) // its result was lost: it drops nothing of the next step
	equal(t, "chunks of the second step", partials(t, s), []history.Partial{*second.Partial})

	step := endStep(4)
	step.Partial = saveChunk("msg_6", 1, "The third").Partial
	commit(t, s, step)
	equal(t, "chunks of the third step", partials(t, s), []history.Partial{*step.Partial})
	equal(t, "chunks of another session", len(load(t, s, "sess_b").Partials), 1)
}

// A step that cannot be stored leaves the chunks of its text.
func TestARefusedStepKeepsItsChunks(t *testing.T) {
	s := openTest(t, "", Options{})
	chunk := saveChunk("msg_2", 0, "I read")
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0), chunk)
	step := endStep(2)
	step.Messages[1].Seq = 1
	wantError(t, s.Commit(ctx, step), ErrDuplicate)
	equal(t, "chunks", partials(t, s), []history.Partial{*chunk.Partial})
}

// A prompt that is sent again gets the message of the last step. A result without one, as a recovery file of an earlier
// version has, keeps the id that was assigned in advance.
func TestTheLastStepIsTheReply(t *testing.T) {
	for reply, want := range map[string]string{"msg_4": "msg_4", "": "msg_2"} {
		s := openTest(t, "", Options{})
		commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0), endStep(2), history.Change{Session: "sess_a",
			Messages: []history.Message{textMessage(4, history.RoleAssistant, "It says hello.")},
			End:      &history.Turn{ID: turnID(0), ReplyID: reply, Status: history.TurnCompleted, StopReason: "max_turn_requests"}})
		turn, err := s.TurnByPrompt(ctx, "sess_a", "prompt_0")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "reply", turn.ReplyID, want)
		equal(t, "stop reason", turn.StopReason, "max_turn_requests")
	}
}

func TestCallsKnowTheirStep(t *testing.T) {
	s := openTest(t, "", Options{CacheBytes: 1})
	step := endStep(2)
	step.Calls = append(step.Calls, history.Call{ID: "call_summary", Purpose: history.PurposeSummary, At: epoch})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0), step)
	calls, _, err := s.Calls(ctx, "sess_a", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range step.Calls { // which a log of an earlier version says of none
		step.Calls[i].Status, step.Calls[i].Attempts = history.CallComplete, 1
	}
	equal(t, "calls", calls, step.Calls)
	messages, err := s.Messages(ctx, "sess_a", []int64{2, 3})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "messages", messages, step.Messages)
}

// A turn that is still running is loaded with the usage of its stored steps, and of no other call.
func TestARunningTurnHasTheUsageOfItsSteps(t *testing.T) {
	s := openTest(t, "", Options{})
	first, second := endStep(2), endStep(4)
	first.Calls[0].Usage, first.Calls[0].Cost = history.Usage{Input: 100, Output: 10, CacheRead: 7}, 0.5
	second.Calls[0].Usage, second.Calls[0].Cost = history.Usage{Input: 1000, Output: 20, CacheWrite: 3}, 0.25
	summary := history.Call{ID: "call_summary", Turn: turnID(0), Purpose: history.PurposeSummary, Usage: history.Usage{Input: 5}, Cost: 1, At: epoch}
	before := history.Call{ID: "call_before", Turn: turnID(7), Purpose: history.PurposeTurn, Usage: history.Usage{Input: 5}, Cost: 1, At: epoch}
	first.Calls = append(first.Calls, summary, before)
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0))
	equal(t, "usage before the first step", load(t, s, "sess_a").Unfinished.Usage, history.Usage{})
	commit(t, s, first, second)
	turn := load(t, s, "sess_a").Unfinished
	equal(t, "usage", turn.Usage, history.Usage{Input: 1100, Output: 30, CacheRead: 7, CacheWrite: 3})
	equal(t, "cost", turn.Cost, 0.75)
}

// A turn that was running in a database without steps goes on: its chunks belong to the turn's reply, its calls to no step.
func TestRunningTurnOfADatabaseOfVersion11(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	db := databaseOfVersion(t, path, 11)
	for _, statement := range []string{
		`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden, running)
			VALUES ('sess_a', '/', '[]', '', 0, '{}', 1, 1, 0, 1)`,
		`INSERT INTO turn SELECT 'sess_a', 'turn_0', NULL, 'msg_1', 'msg_2', 'running', '', NULL, 0, 0, 0, 0, 0, 3, 0`,
		`INSERT INTO partial VALUES ('sess_a', 'turn_0', 0, 'text', 'begun')`,
		`INSERT INTO usage (session, id, turn, purpose, model, input, output, cache_read, cache_write, cost, expected, categories, at)
			VALUES ('sess_a', 'call_1', 'turn_0', 'turn', 'm', 1, 2, 3, 4, 0.25, 0, '{}', 1)`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Options{})
	equal(t, "chunks", partials(t, s), []history.Partial{{Turn: turnID(0), Kind: history.BlockText, Text: "begun"}})
	calls, _, err := s.Calls(ctx, "sess_a", "", 0)
	if err != nil || len(calls) != 1 || calls[0].Step != 0 {
		t.Fatalf("%+v, error %v", calls, err)
	}
	commit(t, s, endStep(2), savePartial("sess_a", 0, 1, "late"))
	equal(t, "chunks", len(partials(t, s)), 0)
}

// Calls that were stopped or failed are rows with their reasons, and are counted.
func TestCallsThatDidNotEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, Options{})
	failure := &history.Failure{Code: -32011, Message: "no key", Data: json.RawMessage(`{"kind":"auth"}`)}
	want := []history.Call{
		{ID: "call_1", Purpose: history.PurposeTurn, Model: "a/b", At: epoch, Status: history.CallComplete, Attempts: 1, Usage: history.Usage{Input: 3}},
		{ID: "call_2", Purpose: history.PurposeTurn, Model: "a/b", At: epoch, Status: history.CallStopped, Attempts: 2, Usage: history.Usage{Input: 4}, Estimated: true, Duration: 900, FirstToken: 20},
		{ID: "call_3", Purpose: history.PurposeSummary, Model: "a/b", At: epoch, Status: history.CallFailed, Failure: failure},
	}
	commit(t, s, createSession("sess_a"), history.Change{Session: "sess_a", Calls: want})
	calls, _, err := s.NewestCalls(ctx, "sess_a", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "calls", calls, want)
	sums, err := s.CallTotals(ctx, "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	totals := history.Totals{Calls: 3, Usage: history.Usage{Input: 7}}
	equal(t, "totals", sums, []ModelTotals{{Model: "a/b", Totals: totals, Stopped: 1, Failed: 1}})
	equal(t, "totals of the session", load(t, s, "sess_a").Totals, totals)
}
