package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm/reply"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/assembly"
)

// A tool call whose arguments never end is ended at the limit of a reply, and the session goes on. A turn with long
// arguments can be cancelled, and ends with the server.
func TestR05ArgumentsThatNeverEnd(t *testing.T) {
	long(t)
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	args := make([]string, 200)
	for i := range args {
		args[i] = strings.Repeat("x", 1<<20)
	}
	ts.upstream.Push(upstream.Script{Steps: upstream.Call("c1", "write", append([]string{`{"text":"`}, args...)...)})
	_, err := e.Prompt(sid, "write")
	wireFault(t, err, wire.CodeProvider)
	last := lastReply(t, e, sid)
	if last.Status != history.StatusFailed || len(last.Blocks) != 1 || len(last.Blocks[0].Args) > reply.MaxAnswer || !last.Blocks[0].Incomplete {
		t.Errorf("the reply is %s, with %d blocks", last.Status, len(last.Blocks))
	}

	gate := make(chan struct{})
	defer close(gate)
	long := append(upstream.Call("c2", "write", `{"text":"`, args[0]), upstream.Text("and"), upstream.Hold(gate))
	ts.upstream.Push(upstream.Script{Steps: long}, upstream.Script{Steps: long})
	turn := e.Start(sid, "again")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "and"))
	must(t, e.Cancel(sid))
	if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
		t.Errorf("the cancelled turn ended with %q, %v", reply.StopReason, err)
	}
	e.Start(sid, "once more")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "andand"))
	ts.close()
}

// Clients receive exactly the text of a reply that is stored, also if the reply is ended at the limit.
func TestR06WhatIsShownIsStored(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	long := strings.Repeat("€", 100<<10)
	ts.upstream.Push(upstream.Script{Steps: append([]upstream.Step{upstream.Thinking("hm", "")}, upstream.Texts(long, long, long, long, long, long, long, long)...)})
	_, err := e.Prompt(sid, "write")
	wireFault(t, err, wire.CodeProvider)
	last := lastMessage(t, e, sid)
	shown, stored := e.Frames().Of(sid).Text(testclient.AgentChunk), last.PlainText()
	if shown != stored || len(stored) > reply.MaxAnswer || len(stored) < reply.MaxAnswer-100 {
		t.Errorf("%d bytes are shown, %d are stored, the limit is %d", len(shown), len(stored), reply.MaxAnswer)
	}
}

// outcomeOf returns what a prompt's result says beyond ACP.
func outcomeOf(t *testing.T, r testclient.Reply) wire.PromptOutcome {
	t.Helper()
	var result wire.PromptResult
	must(t, json.Unmarshal(r.Result, &result))
	return result.Meta.Strata
}

// A reply that the end of the server interrupts is told from one that the user cancelled: in the response, in the events,
// in the transcript, and when the prompt is sent again after a restart.
func TestF34InterruptedIsNotCancelled(t *testing.T) {
	t.Parallel()
	for status, end := range map[history.TurnStatus]func(ts *testServer, e *testclient.Editor, sid string){
		history.TurnCancelled:   func(ts *testServer, e *testclient.Editor, sid string) { must(t, e.Cancel(sid)) },
		history.TurnInterrupted: func(ts *testServer, e *testclient.Editor, sid string) { ts.close() },
	} {
		ts := startServer(t)
		gate := make(chan struct{})
		ts.upstream.Push(held(gate, "the first words", ""))
		e, sid := attached(t, ts)
		prompt := []any{words("hello")}
		turn := e.StartWith(sid, prompt, "p1")
		e.Expect(testclient.Says(sid, testclient.AgentChunk, "the first words"))
		end(ts, e, sid)
		answer, err := turn.Wait()
		close(gate)
		if err != nil || answer.StopReason != "cancelled" || outcomeOf(t, answer).Status != status {
			t.Errorf("%s: the response is %s, %v", status, answer.Result, err)
		}
		if got := rawOf(e.Frames().Kind("turn_finished")); !strings.Contains(got, `"status":"`+string(status)+`"`) {
			t.Errorf("%s: the event is %s", status, got)
		}
		ts.close()
		ts.start()
		e = ts.editor()
		if last := lastMessage(t, e, sid); string(last.Status) != string(status) || last.PlainText() != "the first words" {
			t.Errorf("%s: the transcript ends with %s %q", status, last.Status, last.PlainText())
		}
		again, err := e.StartWith(sid, prompt, "p1").Wait()
		if err != nil || again.StopReason != "cancelled" || outcomeOf(t, again).Status != status {
			t.Errorf("%s: sent again, the response is %s, %v", status, again.Result, err)
		}
		ts.close()
	}
}

// A reply that says nothing is stored as it is, with the id that the response names, and told by a notice. The next request
// and a summary know of it.
func TestF23EmptyReplies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script upstream.Script
		blocks int
		notice string
	}{
		"nothing":       {upstream.Script{}, 0, "The model's reply is empty."},
		"thinking only": {upstream.Script{Steps: []upstream.Step{upstream.Thinking("hm", "")}}, 1, "The model's reply is empty."},
		"blanks only":   {upstream.Script{Steps: upstream.Texts(" \n", "  ")}, 1, "The model's reply is empty."},
		"cut thinking": {upstream.Script{Steps: []upstream.Step{upstream.Thinking("hm", "")}, StopReason: "max_tokens"}, 1,
			"The model's reply is empty: it reached its output limit before any text."},
	} {
		for _, model := range []string{"local/test", "claude/test"} {
			t.Run(name+" "+model, func(t *testing.T) {
				t.Parallel()
				ts := startServerOn(t, storeDefaults, upstream.Options{Strict: true}, func(o *Options) { o.Sessions.DefaultConfig.Model = model })
				e, sid := attached(t, ts)
				ts.upstream.Push(tt.script)
				answer, err := e.Prompt(sid, "first")
				must(t, err)
				last := lastMessage(t, e, sid)
				if last.Role != history.RoleAssistant || last.Status != history.StatusComplete || len(last.Blocks) != tt.blocks || last.Blocks == nil || !last.InView {
					t.Errorf("the reply is %+v", last)
				}
				if id := outcomeOf(t, answer).MessageID; id == "" || id != last.ID {
					t.Errorf("the response names %q, the reply is %s", id, last.ID)
				}
				if got := rawOf(answer.Frames.Kind("notice")); !strings.Contains(got, tt.notice+`"`) {
					t.Errorf("the notice is %s", got)
				}
				ts.close() // what follows is built of what is stored
				ts.start(func(o *Options) { o.Sessions.DefaultConfig.Model = model })
				e = ts.editor()
				mustPrompt(t, e, sid, "second")
				sent := ts.upstream.Last().Messages
				if !strings.Contains(fmt.Sprint(sent), "(empty reply)") || len(sent) < 3 {
					t.Errorf("sent: %+v", sent)
				}
			})
		}
	}
}

// A turn that ends before the model says anything has no reply, and its response names none.
func TestF23NoReplyHasNoID(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	gate := make(chan struct{})
	defer close(gate)
	ts.upstream.Choose(func(*upstream.Request) upstream.Script {
		return upstream.Script{Steps: []upstream.Step{upstream.Hold(gate)}}
	})
	prompt := []any{words("hello")}
	turn := e.StartWith(sid, prompt, "p1")
	e.Expect(testclient.Sees(sid, "turn_started"))
	must(t, e.Cancel(sid))
	for range 2 { // the second time it is the stored result
		answer, err := turn.Wait()
		if err != nil || answer.StopReason != "cancelled" || outcomeOf(t, answer).MessageID != "" {
			t.Errorf("the response is %s, %v", answer.Result, err)
		}
		turn = e.StartWith(sid, prompt, "p1")
	}
	if _, err := turn.Wait(); err != nil {
		t.Error(err)
	}
	if last := lastMessage(t, e, sid); last.Role != history.RoleUser {
		t.Errorf("the transcript ends with %+v", last)
	}
}

// A frontend can append and commit an empty reply; other messages must say something.
func TestF23EmptyRepliesOfFrontends(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	for _, content := range []any{"", []any{}, []any{words("")}} {
		call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": []any{message("user", "question"), message("assistant", content)}})
		if last := lastMessage(t, e, sid); last.Role != history.RoleAssistant || last.Blocks == nil || len(last.Blocks) != 0 {
			t.Errorf("%v: stored as %+v", content, last)
		}
		for _, role := range []string{"user", "tool"} {
			err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": []any{message(role, content)}}, nil)
			if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, "messages[0].content") {
				t.Errorf("%s %v: %v", role, content, err)
			}
		}
	}
	assembled := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, nil)
	call[map[string]any](ts, e, "_strata/context/commit", sid, map[string]any{"assemblyId": assembled.AssemblyID, "messages": []any{message("assistant", "")}})
	for _, m := range assembled.Messages {
		for i := range m.Content {
			if b := &m.Content[i]; b.Type == history.BlockText && strings.TrimSpace(b.Text) == "" {
				t.Errorf("a blank text is sent as %s", m.Role)
			}
		}
	}
}

// sentTexts returns the texts of the user's messages in the newest request.
func sentTexts(ts *testServer) (all []string) {
	for _, m := range ts.upstream.Last().Messages {
		if m.Role == "user" {
			for _, b := range m.Blocks {
				all = append(all, b.Text)
			}
		}
	}
	return all
}

// A prompt that failed without a reply is not sent again with the next one. The same prompt takes its place; the transcript
// keeps all of them.
func TestF17FailedPrompts(t *testing.T) {
	t.Parallel()
	unauthorized := upstream.Script{Status: 401}
	for name, tt := range map[string]struct {
		prompts []string
		sent    string // of the user, with the last prompt, which is answered
		stored  string // messages, and their states in the view
	}{
		"again":             {[]string{"hello", "hello"}, "hello", "user:hello assistant:fine"},
		"again and again":   {[]string{"hello", "hello", "hello"}, "hello", "user:hello assistant:fine"},
		"another":           {[]string{"hello", "good day"}, "good day", "user:hello:unanswered user:good day assistant:fine"},
		"several":           {[]string{"one", "two", "two", "three"}, "three", "user:one:unanswered user:two:unanswered user:three assistant:fine"},
		"the first of them": {[]string{"one", "two", "one"}, "one", "user:one:unanswered user:two:unanswered user:one assistant:fine"},
	} {
		for _, reload := range []bool{false, true} {
			ts := startServer(t)
			e, sid := attached(t, ts)
			for i, text := range tt.prompts {
				if i == len(tt.prompts)-1 {
					break
				}
				ts.upstream.Push(unauthorized)
				_, err := e.Prompt(sid, text)
				wireFault(t, err, wire.CodeProvider)
				if last := lastMessage(t, e, sid); last.PlainText() != text || !last.InView {
					t.Errorf("%s: the failed prompt is %+v", name, last)
				}
				if reload {
					ts.close()
					ts.start()
					e = ts.editor()
				}
			}
			ts.upstream.Push(upstream.Script{Steps: upstream.Texts("fine")})
			answer := mustPrompt(t, e, sid, tt.prompts[len(tt.prompts)-1])
			if got := strings.Join(sentTexts(ts), "|"); got != tt.sent {
				t.Errorf("%s, reload %v: sent %q, want %q", name, reload, got, tt.sent)
			}
			for range 2 { // the second time it is loaded
				var stored []string
				all := transcript(t, e, sid)
				for i := range all {
					m := string(all[i].Role) + ":" + all[i].PlainText()
					if all[i].View != nil {
						m += ":" + string(all[i].View.State)
					}
					stored = append(stored, m)
				}
				if got := strings.Join(stored, " "); got != tt.stored {
					t.Errorf("%s, reload %v: stored %q, want %q", name, reload, got, tt.stored)
				}
				if id := outcomeOf(t, answer).UserID; id != all[len(all)-2].ID {
					t.Errorf("%s: the response names %s, the prompt is %s", name, id, all[len(all)-2].ID)
				}
				ts.close()
				ts.start()
				e = ts.editor()
			}
			mustPrompt(t, e, sid, "and then")
			if got := strings.Join(sentTexts(ts), "|"); got != tt.sent+"|and then" {
				t.Errorf("%s, reload %v: then sent %q", name, reload, got)
			}
			ts.close()
		}
	}
}

// A restore to the state with the failed prompt brings it back, until another follows. A cancelled prompt stays, but is not
// repeated; one that was answered is another matter.
func TestF17RestoredAndCancelledPrompts(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	mustPrompt(t, e, sid, "first")
	mustPrompt(t, e, sid, "first") // was answered, so it is another prompt
	if got := sentTexts(ts); strings.Join(got, "|") != "first|first" {
		t.Errorf("sent %q", got)
	}
	ts.upstream.Push(upstream.Script{Status: 401})
	_, err := e.Prompt(sid, "failed")
	wireFault(t, err, wire.CodeProvider)
	failed := lastMessage(t, e, sid)
	mustPrompt(t, e, sid, "second")
	for _, seq := range []int64{failed.Seq, failed.Seq + 1} { // before and after the note
		call[map[string]any](ts, e, "_strata/checkpoint/restore", sid, map[string]any{"seq": seq})
		if last := transcript(t, e, sid)[4]; last.ID != failed.ID || !last.InView {
			t.Errorf("restored to %d: %+v", seq, last)
		}
		mustPrompt(t, e, sid, "third")
		if got := sentTexts(ts); strings.Join(got, "|") != "first|first|third" {
			t.Errorf("restored to %d: sent %q", seq, got)
		}
	}

	gate := make(chan struct{})
	defer close(gate)
	call[map[string]any](ts, e, "_strata/history/clear", sid, nil)
	ts.upstream.Choose(func(req *upstream.Request) upstream.Script {
		if strings.HasSuffix(req.LastText(), "cancelled") {
			return upstream.Script{Steps: []upstream.Step{upstream.Hold(gate)}}
		}
		return upstream.Default(req)
	})
	for _, prompt := range []string{"cancelled", "cancelled"} {
		seen := len(e.Frames().Kind("turn_started"))
		turn := e.Start(sid, prompt)
		e.Expect(testclient.SeesTimes(sid, "turn_started", seen+1))
		must(t, e.Cancel(sid))
		if answer, err := turn.Wait(); err != nil || answer.StopReason != "cancelled" {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	mustPrompt(t, e, sid, "and more")
	if got := sentTexts(ts); strings.Join(got, "|") != "cancelled|and more" {
		t.Errorf("sent %q", got)
	}
}

// A prompt whose server ended before the first word is like one that failed.
func TestF17InterruptedPrompts(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	gate := make(chan struct{})
	defer close(gate)
	ts.upstream.Choose(func(req *upstream.Request) upstream.Script {
		if strings.HasSuffix(req.LastText(), "hello") {
			return upstream.Script{Steps: []upstream.Step{upstream.Hold(gate)}}
		}
		return upstream.Default(req)
	})
	e.Start(sid, "hello")
	e.Expect(testclient.Sees(sid, "turn_started"))
	ts.close()
	ts.start()
	e = ts.editor()
	mustPrompt(t, e, sid, "good day")
	if got := sentTexts(ts); strings.Join(got, "|") != "good day" {
		t.Errorf("sent %q", got)
	}
}
