package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/internal/stuckfs"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

// stuckTurn is a turn with a step whose first call has a result, while something else never ends.
type stuckTurn struct {
	*testServer
	*testclient.Editor
	sid  string
	turn *testclient.Turn
	disk *stuckfs.Disk // of its folder; nil for none

	asked testclient.Frame // request to the editor that gets no response; zero for none
	calls []string         // tools that are called, in the transcript
	stuck int              // index of the call that has no result
	said  string           // of a reply that was cut off
}

const planInput = `{"entries":[{"content":"look","priority":"high","status":"pending"}]}`

// startStuck starts a turn whose first step makes a plan and calls a tool.
func startStuck(t *testing.T, model string, onDisk bool, tool, input string, further ...upstream.Script) *stuckTurn {
	t.Helper()
	ts := startServer(t, withTools)
	s := &stuckTurn{testServer: ts, Editor: testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal()), calls: []string{"update_plan", tool}, stuck: 1}
	folder := ts.work
	if onDisk {
		s.disk = stuckfs.Mount(t)
		folder = s.disk.Folder
		s.Initialize()
	} else {
		s.InitializeWith(map[string]any{"fs": map[string]any{"readTextFile": true}})
	}
	s.sid = s.NewSession(folder)
	ts.choose(s.Editor, s.sid, "model", model)
	first := slices.Concat(upstream.Texts("I look."), upstream.Call("call_1", "update_plan", planInput), upstream.Call("call_2", tool, input))
	ts.upstream.Push(append([]upstream.Script{{Steps: first}}, further...)...)
	s.turn = s.Start(s.sid, "What is there?")
	return s
}

// stuckTurns are the places at which a turn with steps can be stuck.
var stuckTurns = map[string]func(t *testing.T, model string) *stuckTurn{
	"a read by the editor": func(t *testing.T, model string) *stuckTurn {
		s := startStuck(t, model, false, "read_file", `{"path":"a.go"}`)
		s.asked = s.Asked("fs/read_text_file", 1)
		s.Expect(s.called("in_progress"))
		return s
	},
	"a read from disk": func(t *testing.T, model string) *stuckTurn {
		s := startStuck(t, model, true, "read_file", fmt.Sprintf(`{"path":%q}`, stuckfs.Stuck))
		return s.onDisk()
	},
	"a search": func(t *testing.T, model string) *stuckTurn {
		s := startStuck(t, model, true, "search", `{"pattern":"file"}`)
		return s.onDisk()
	},
	"a stream with a call": func(t *testing.T, model string) *stuckTurn {
		second := slices.Concat(upstream.Texts("There is", " more"), upstream.Call("call_3", "search", `{"pattern":`), []upstream.Step{upstream.Hold(nil)})
		s := startStuck(t, model, false, "list_files", `{}`, upstream.Script{Steps: second})
		s.calls, s.stuck, s.said = append(s.calls, "search"), 2, "There is more"
		s.Expect(testclient.Says(s.sid, testclient.AgentChunk, s.said), s.called("pending"))
		return s
	},
}

// onDisk waits until the second call waits for the disk.
func (s *stuckTurn) onDisk() *stuckTurn {
	s.Expect(s.called("in_progress"))
	for s.disk.Unanswered() == 0 {
		time.Sleep(time.Millisecond)
	}
	return s
}

// toolFrame is what a client is told of a call.
type toolFrame struct {
	Update struct {
		ToolCallID, Title, Status string
		Meta                      wire.CallMeta `json:"_meta"`
	}
}

// called holds when the call that gets stuck has a status, and those before it have completed.
func (s *stuckTurn) called(status string) testclient.Condition {
	return testclient.Condition{Name: "a call that is " + status, Met: func(fs testclient.Frames) bool {
		told := calls(fs.Of(s.sid))
		for i, id := range told.ids {
			if i < s.stuck && told.status[id] != "completed" {
				return false
			}
		}
		return len(told.ids) > s.stuck && told.status[told.ids[s.stuck]] == status
	}}
}

// toldCalls are the calls that a client was told of, in order, with their newest status.
type toldCalls struct {
	ids     []string
	status  map[string]string
	outcome map[string]history.CallOutcome
	last    int // index of the newest frame of a call
}

func calls(fs testclient.Frames) toldCalls {
	told := toldCalls{status: make(map[string]string), outcome: make(map[string]history.CallOutcome)}
	for i, f := range fs {
		var frame toolFrame
		if !strings.HasPrefix(f.Kind, "tool_call") || json.Unmarshal(f.Params, &frame) != nil {
			continue
		}
		id := frame.Update.ToolCallID
		if !slices.Contains(told.ids, id) {
			told.ids = append(told.ids, id)
		}
		if frame.Update.Status != "" {
			told.status[id] = frame.Update.Status
		}
		told.outcome[id] = frame.Update.Meta.Strata.Outcome
		told.last = i
	}
	return told
}

// stops are the ways in which a turn is stopped, each with the reason that its calls get.
var stops = map[string]struct {
	stop    func(s *stuckTurn)
	reason  string
	outcome history.CallOutcome
	status  history.MessageStatus
}{
	"cancelled":         {func(s *stuckTurn) { must(s.t, s.Cancel(s.sid)) }, "cancelled by the user", history.CallCancelled, history.StatusCancelled},
	"request cancelled": {func(s *stuckTurn) { must(s.t, s.turn.Cancel()) }, "cancelled by the user", history.CallCancelled, history.StatusCancelled},
	"closed": {func(s *stuckTurn) {
		call[any](s.testServer, s.Editor, "session/close", s.sid, nil)
	}, "interrupted: the session was closed", history.CallInterrupted, history.StatusCancelled},
	"deleted": {func(s *stuckTurn) {
		call[any](s.testServer, s.Editor, "session/delete", s.sid, nil)
		call[any](s.testServer, s.Editor, "_strata/session/undelete", s.sid, nil)
	}, "interrupted: the session was closed", history.CallInterrupted, history.StatusCancelled},
	"shut down": {func(s *stuckTurn) {
		s.testServer.close()
		s.testServer.start(withTools)
	}, "interrupted: the session was closed", history.CallInterrupted, history.StatusInterrupted},
}

// Whatever a turn waits for, it ends without that when it is stopped: each call has a result, told and stored, and the next
// prompt works. What comes later is dropped.
func TestAStoppedTurnWaitsForNobody(t *testing.T) {
	t.Parallel()
	for place, start := range stuckTurns {
		for how, stop := range stops {
			for _, model := range []string{"local/test", "claude/test"} {
				t.Run(strings.Join([]string{place, how, model}, ", "), func(t *testing.T) {
					t.Parallel()
					s := start(t, model)
					begun := time.Now()
					stop.stop(s)
					reply, err := s.turn.Wait()
					t.Logf("ended after %v", time.Since(begun).Round(time.Microsecond))
					if how != "shut down" || err == nil { // the connection may end before the response
						if err != nil || reply.StopReason != "cancelled" {
							t.Fatalf("ended with %q, %v", reply.StopReason, err)
						}
						s.told(reply, stop.outcome)
					}
					if how == "shut down" {
						s.Editor = s.testServer.editor()
					}
					s.stored(stop.reason, stop.outcome, stop.status)
					s.goesOn(how != "shut down")
				})
			}
		}
	}
}

// told checks that the subscribers were told the end of each call before that of the turn.
func (s *stuckTurn) told(reply testclient.Reply, outcome history.CallOutcome) {
	s.t.Helper()
	told := calls(reply.Frames)
	for i, id := range told.ids {
		if want := map[bool]string{true: "failed", false: "completed"}[i == s.stuck]; told.status[id] != want {
			s.t.Errorf("call %d is told as %s, want %s", i, told.status[id], want)
		}
		if want := map[bool]history.CallOutcome{true: outcome}[i == s.stuck]; told.outcome[id] != want {
			s.t.Errorf("call %d is told with the outcome %q, want %q", i, told.outcome[id], want)
		}
	}
	finished := slices.IndexFunc(reply.Frames, func(f testclient.Frame) bool { return f.Kind == "turn_finished" })
	if len(told.ids) != len(s.calls) || finished >= 0 && told.last > finished {
		s.t.Errorf("%d calls are told, the last at %d, the end of the turn at %d", len(told.ids), told.last, finished)
	}
	if s.asked.ID == nil {
		return
	}
	cancelled := testclient.Condition{Name: "the cancellation of the read", Met: func(fs testclient.Frames) bool {
		return slices.ContainsFunc(fs, func(f testclient.Frame) bool {
			return f.Method == "$/cancel_request" && strings.Contains(string(f.Params), string(s.asked.ID))
		})
	}}
	if err := s.Await(cancelled); err != nil {
		s.t.Error(err)
	}
}

// stored checks the transcript.
func (s *stuckTurn) stored(reason string, outcome history.CallOutcome, status history.MessageStatus) {
	s.t.Helper()
	var tools, results []string
	all := transcript(s.t, s.Editor, s.sid)
	for i := range all {
		m := &all[i]
		for _, b := range m.Blocks {
			switch b.Type {
			case history.BlockToolCall:
				tools = append(tools, b.Name)
			case history.BlockToolResult:
				if i == 0 || all[i-1].Role != history.RoleAssistant {
					s.t.Errorf("results follow a message of %s", all[i-1].Role)
				}
				text := ""
				if b.IsError {
					text = b.Content[0].Text
				}
				if want := map[bool]history.CallOutcome{true: outcome}[b.IsError]; b.Call.Outcome != want {
					s.t.Errorf("the outcome of a call is stored as %q, want %q", b.Call.Outcome, want)
				}
				results = append(results, text)
			}
		}
	}
	want := make([]string, len(s.calls))
	want[s.stuck] = reason
	if !slices.Equal(tools, s.calls) || !slices.Equal(results, want) {
		s.t.Errorf("calls %q with results %q, want %q with %q", tools, results, s.calls, want)
	}
	cut := slices.IndexFunc(all, func(m wire.Message) bool { return m.PlainText() == s.said })
	if s.said != "" && (cut < 0 || all[cut].Status != status) {
		s.t.Errorf("the text that was cut off is not stored as %s: %s", status, chatOf(all))
	}
}

// goesOn sends the next prompt, and checks its request. A late response of the editor changes nothing.
func (s *stuckTurn) goesOn(connected bool) {
	s.t.Helper()
	late := func() {
		if s.asked.ID != nil && connected {
			must(s.t, s.Respond(s.asked, map[string]any{"content": "too late"}))
		}
	}
	late()
	reply, err := s.Prompt(s.sid, "And now?")
	if err != nil || reply.StopReason != "end_turn" {
		s.t.Fatalf("the next prompt ended with %q, %v", reply.StopReason, err)
	}
	late()
	last := s.upstream.Last()
	if reason := upstream.Refusal(last, 0); reason != "" || strings.Contains(string(last.Body), "too late") || !strings.Contains(string(last.Body), "I look.") {
		s.t.Errorf("the next request: %s\n%s", reason, last.Body)
	}
	if n := len(transcript(s.t, s.Editor, s.sid)); n != map[bool]int{true: 5, false: 7}[s.said == ""] {
		s.t.Errorf("%d messages", n)
	}
}
