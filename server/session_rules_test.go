package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/rpc"
)

// transcript returns all messages of a session, oldest first.
func transcript(t testing.TB, e *testclient.Editor, sid string) []wireMessage {
	t.Helper()
	var all []wireMessage
	params := map[string]any{"sessionId": sid, "limit": maxPage}
	for {
		var page struct {
			Messages   []wireMessage `json:"messages"`
			NextCursor string        `json:"nextCursor"`
		}
		if err := e.Call("_strata/history/list", params, &page); err != nil {
			t.Fatal(err)
		}
		all = append(page.Messages, all...)
		if page.NextCursor == "" {
			return all
		}
		params["cursor"] = page.NextCursor
	}
}

// lastMessage returns the newest message of a session.
func lastMessage(t testing.TB, e *testclient.Editor, sid string) wireMessage {
	t.Helper()
	all := transcript(t, e, sid)
	if len(all) == 0 {
		t.Fatalf("session %s has no messages", sid)
	}
	return all[len(all)-1]
}

// wireFault returns the error that the server answered with. The test fails where there was none, or one
// with another code.
func wireFault(t testing.TB, err error, code int) *rpc.Error {
	t.Helper()
	fault, ok := errors.AsType[*rpc.Error](err)
	if !ok || fault.Code != code {
		t.Fatalf("answered with %v, code %d is wanted", err, code)
	}
	return fault
}

// faultData decodes the data of an error.
func faultData[T any](t testing.TB, fault *rpc.Error) (data T) {
	t.Helper()
	if err := json.Unmarshal(fault.Data.(json.RawMessage), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// chatOf says what is in a transcript, a line each message: role, status and text.
func chatOf(messages []wireMessage) string {
	var out strings.Builder
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(&out, "%s %s %q\n", m.Role, m.Status, m.PlainText())
	}
	return out.String()
}

// held returns a script that says first, waits until the gate is closed, and says rest.
func held(gate <-chan struct{}, first, rest string) upstream.Script {
	return upstream.Script{Steps: []upstream.Step{upstream.Text(first), upstream.Hold(gate), upstream.Text(rest)}}
}

func TestCancelOfARefusedPromptLeavesTheTurnAlone(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "first", ", rest"))
	turn := e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	for range 50 {
		second := e.Start(sid, "me too")
		if err := second.Cancel(); err != nil {
			t.Fatal(err)
		}
		_, err := second.Wait()
		wireFault(t, err, codeBusy)
	}
	close(gate)
	reply, err := turn.Wait()
	if err != nil || reply.StopReason != "end_turn" || reply.Said() != "first, rest" {
		t.Errorf("the turn ended with %q, said %q, error %v", reply.StopReason, reply.Said(), err)
	}
}

// instantly is a provider that answers before it is asked properly.
type instantly struct{}

func (instantly) Stream(_ context.Context, _ llm.Request, on func(llm.Event)) (llm.Result, error) {
	on(llm.Event{Kind: llm.EventText, Text: "yes"})
	return llm.Result{
		Blocks: []history.Block{{Type: history.BlockText, Text: "yes"}}, StopReason: llm.StopEndTurn,
		Usage: history.Usage{Input: 40, Output: 1}, UsageReported: true,
	}, nil
}

// What a request held goes into the usage log and the calibration, however soon its answer is there.
func TestRequestIsKnownBeforeItsAnswer(t *testing.T) {
	ts := startServer(t, func(o *Options) { o.Sessions.Streamer = instantly{} })
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for range 20 {
		turn := e.Start(sid, "quick")
		var asked []*testclient.Request // keep the mailbox from waiting for the request
		for range 50 {
			asked = append(asked, e.Go("_strata/session/info", map[string]any{"sessionId": sid}))
		}
		if _, err := turn.Wait(); err != nil {
			t.Fatal(err)
		}
		for _, r := range asked {
			if err := r.Wait(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	var page struct{ Calls []wireCall }
	if err := e.Call("_strata/usage/list", map[string]any{"sessionId": sid}, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Calls) != 20 {
		t.Errorf("%d calls in the usage log", len(page.Calls))
	}
	for i, c := range page.Calls {
		if c.Categories["history"] == 0 {
			t.Errorf("call %d has the categories %v", i, c.Categories)
		}
	}
}
