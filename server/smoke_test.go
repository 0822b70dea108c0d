package server

import (
	"testing"

	"strata/internal/upstream"
	"strata/server/wire"
)

func TestPromptIsStreamedAndStored(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("Hel", "lo", " there")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	reply, err := e.Prompt(sid, "Say hello")
	if err != nil {
		t.Fatal(err)
	}
	if reply.StopReason != "end_turn" || reply.Said() != "Hello there" {
		t.Errorf("got %q and stop reason %q", reply.Said(), reply.StopReason)
	}
	var page struct{ Messages []wire.Message }
	if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Messages) != 2 || page.Messages[1].PlainText() != "Hello there" {
		t.Errorf("transcript: %+v", page.Messages)
	}
}
