package server

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

// jumpyClock is the system's clock after some jumps.
type jumpyClock struct {
	off atomic.Int64
}

func (c *jumpyClock) now() time.Time { return time.Now().Add(time.Duration(c.off.Load())) }

// jump sets the clock.
func (c *jumpyClock) jump(by time.Duration) { c.off.Add(int64(by)) }

// When the clock jumps, before and during a turn, nothing is lost, nothing ends early, and the order stays.
func TestClockJumps(t *testing.T) {
	clock := new(jumpyClock)
	ts := startServer(t, func(o *Options) {
		setClock(o, clock.now)
		o.IdleUnload = 80 * time.Millisecond // idle sessions are looked for every 20 ms
	})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	const day = 24 * time.Hour
	for n, by := range []time.Duration{-time.Hour, 400 * day, -800 * day, 10_000 * day, -9_000 * day} {
		gate := make(chan struct{})
		ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("begin "), upstream.Hold(gate), upstream.Text("end")}})
		turn := e.Start(sid, fmt.Sprint("prompt ", n))
		e.Expect(testclient.Says(sid, testclient.AgentChunk, "begin"))
		clock.jump(by)
		time.Sleep(60 * time.Millisecond) // idle sessions are looked for
		close(gate)
		if reply, err := turn.Wait(); err != nil || reply.StopReason != "end_turn" || reply.Said() != "begin end" {
			t.Fatalf("after a jump by %v the turn ended with %q %q, %v", by, reply.StopReason, reply.Said(), err)
		}
		e.Close()
		e = ts.editor() // without a connection the session is idle, and a jump lets it be unloaded
		clock.jump(by / 2)
		time.Sleep(60 * time.Millisecond)
		var page struct{ Messages []wire.Message }
		if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &page); err != nil || len(page.Messages) != 2*n+2 {
			t.Fatalf("after a jump by %v: %d messages, %v", by, len(page.Messages), err)
		}
		for i, m := range page.Messages {
			if want := fmt.Sprint("prompt ", i/2); i%2 == 0 && m.PlainText() != want {
				t.Errorf("message %d is %q", i, m.PlainText())
			}
		}
		var all struct{ Sessions []struct{ SessionID string } }
		if err := e.Call("session/list", map[string]any{}, &all); err != nil || len(all.Sessions) != 1 {
			t.Errorf("after a jump by %v: sessions %v, %v", by, all.Sessions, err)
		}
		if err := e.Call("session/load", map[string]any{"sessionId": sid, "cwd": ts.work, "mcpServers": []any{}}, nil); err != nil {
			t.Fatal(err)
		}
	}
}
