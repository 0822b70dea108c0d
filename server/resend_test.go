package server

import (
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

// A client that lost its connection sends its prompt again, possibly during another client's turn. That turn does not
// matter if the prompt has a reply.
func TestPromptSentAgainWhileAnotherTurnRuns(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	gate := make(chan struct{})
	ts.upstream.Push(
		upstream.Script{Steps: upstream.Texts("first answer")},
		upstream.Script{Steps: []upstream.Step{upstream.Text("second"), upstream.Hold(gate)}},
	)
	e, other := ts.editor(), ts.editor()
	sid := e.NewSession(ts.work)
	blocks := []any{map[string]any{"type": "text", "text": "one"}}
	first, err := e.StartWith(sid, blocks, "prompt-1").Wait()
	if err != nil {
		t.Fatal(err)
	}
	running := other.Start(sid, "two")
	other.Expect(testclient.Says(sid, testclient.AgentChunk, "second"))

	again, err := e.StartWith(sid, blocks, "prompt-1").Wait()
	if err != nil {
		t.Fatalf("the prompt with a stored reply: %v", err)
	}
	if string(again.Result) != string(first.Result) {
		t.Errorf("sent again it ended as %s, the first time as %s", again.Result, first.Result)
	}
	_, err = e.StartWith(sid, blocks, "prompt-2").Wait()
	wireFault(t, err, wire.CodeBusy)
	close(gate)
	if _, err := running.Wait(); err != nil {
		t.Error(err)
	}
	if n := len(transcript(t, e, sid)); n != 4 {
		t.Errorf("%d messages are stored", n)
	}
}

func TestUnsubscribedHearsNothing(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, other := ts.editor(), ts.editor()
	sid := e.NewSession(ts.work)
	if err := e.Call("_strata/session/detach", map[string]any{"sessionId": sid, "unsubscribe": true}, nil); err != nil {
		t.Fatal(err)
	}
	mustPrompt(t, other, sid, "hello")
	attached, err := e.Attach(sid, testclient.Place{})
	if err != nil || attached.Snapshot == nil {
		t.Fatalf("attached as %+v, error %v", attached, err)
	}
	for _, f := range e.Frames().Of(sid) {
		if f.Kind != testclient.Commands { // they follow session/new and attach
			t.Errorf("it received %s", f.Raw)
		}
	}
	mustPrompt(t, other, sid, "again")
	e.Expect(testclient.Sees(sid, "turn_finished"))
	if faults := e.Frames().Faults(sid); len(faults) > 0 {
		t.Error(strings.Join(faults, "; "))
	}
}
