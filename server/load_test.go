package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"strata/history"
	"strata/internal/leak"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

func TestManySessionsWithAStalledReader(t *testing.T) {
	const (
		connections = 5
		perClient   = 40 // of at most 64 subscriptions per connection
		deltas      = 25
		heapBytes   = 96 << 20 // maximum for everything: the sessions' logs, caches, the clients' own records
	)
	before := heap()
	leaks := goleak.IgnoreCurrent()
	ts := startServer(t)
	gate := make(chan struct{})
	ts.upstream.Choose(func(r *upstream.Request) upstream.Script {
		word := r.LastText()
		script := upstream.Script{Steps: []upstream.Step{upstream.Text("begin "), upstream.Hold(gate)}}
		for i := range deltas {
			script.Steps = append(script.Steps, upstream.Text(strings.Repeat(fmt.Sprint(word, " ", i, " "), 2)))
		}
		return script
	})

	var editors []*testclient.Editor
	owner := make(map[string]*testclient.Editor)
	var mu sync.Mutex
	var making sync.WaitGroup
	for range connections {
		e := ts.editor()
		editors = append(editors, e)
		making.Go(func() {
			for range perClient {
				sid := e.NewSession(ts.work)
				mu.Lock()
				owner[sid] = e
				mu.Unlock()
			}
		})
	}
	making.Wait()
	stalled := stallOn(t, ts, owner)
	turns := make(map[string]*testclient.Turn)
	for sid, e := range owner {
		turns[sid] = e.Start(sid, sid)
	}
	for sid, e := range owner { // all stream concurrently
		e.Expect(testclient.Says(sid, testclient.AgentChunk, "begin"))
	}
	close(gate)
	said := make(map[string]string)
	for sid, turn := range turns {
		reply, err := turn.Wait()
		if err != nil || reply.StopReason != "end_turn" {
			t.Fatalf("ended with %q, error %v", reply.StopReason, err)
		}
		said[sid] = reply.Said()
	}
	if grown := int64(heap()) - int64(before); grown > heapBytes {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	var checks sync.WaitGroup
	for _, e := range editors {
		checks.Go(func() {
			for sid := range turns {
				if owner[sid] != e {
					continue
				}
				var page struct{ Messages []wire.Message }
				if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &page); err != nil || len(page.Messages) == 0 {
					t.Errorf("%d messages, error %v", len(page.Messages), err)
					return
				}
				if m := page.Messages[len(page.Messages)-1]; m.Status != history.StatusComplete || m.PlainText() != said[sid] {
					t.Errorf("stored as %s with %d bytes, %d were shown", m.Status, len(m.PlainText()), len(said[sid]))
				}
			}
		})
	}
	checks.Wait()

	ts.close()
	for _, e := range editors {
		e.Close()
	}
	stalled.conn.CloseNow()
	ts.upstream.Close()
	if err := leak.Find(leaks); err != nil {
		t.Error(err)
	}
}

// stallOn returns a client with 50 subscriptions that has not read the events of the last session, and stops reading.
func stallOn(t *testing.T, ts *testServer, owner map[string]*testclient.Editor) *rawSocket {
	t.Helper()
	c := dialStalling(t, ts)
	watched := 0
	var sid string
	for sid = range owner {
		c.call(watched, "session/resume", map[string]any{"sessionId": sid, "cwd": ts.work})
		if watched++; watched == 50 {
			break
		}
	}
	picture := map[string]any{"type": "image", "mimeType": "image/png", "data": png(64, 64, 1<<20)}
	for range 8 { // more than the system buffers for a client
		message := map[string]any{"role": "user", "content": []any{picture}}
		if err := owner[sid].Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": []any{message}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := owner[sid].Call("_strata/history/clear", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	return c
}
