package server

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"strata/historystore"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/session/compacting"
)

// The case names 200 sessions of 5 MB, 500 connections and 2,000 turns. The test runs a tenth of each with a tenth of
// the size, to take only seconds: 10 MB in sessions, as much as the heap of an idle server. With the race detector it
// runs less.
const (
	memorySessions    = 20 / less
	memoryMessages    = 10     // in each session
	memoryBytes       = 50_000 // of each message, mostly an image, whose tokens need not be counted
	memoryConnections = 50 / less
	memoryTurns       = 200 / less
)

// Memory used by long sessions, compactions and changing clients is freed when sessions are unloaded.
func TestK9_05MemoryComesBack(t *testing.T) {
	long(t)
	ts := startServerOn(t, historystore.Options{CacheBytes: 1}, upstream.Options{}, withCompaction(t), func(o *Options) {
		o.Sessions.SummaryModel, o.Sessions.DetectionModel = "", ""
		o.Sessions.DefaultConfig.Model = "offline/digest"
	})
	work := func(t *testing.T) { // in a test of its own, whose end closes its clients
		e := testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal())
		e.Initialize()
		ts.largeSessions(t, e)
		ts.comeAndGo(t, e)
		ts.manyTurns(t, e)
		e.Close()
	}
	t.Run("once", work) // allocates what is kept permanently
	ts.unloadAll(t)
	before, goroutines := heap(), runtime.NumGoroutine()
	t.Run("again", work)
	ts.unloadAll(t)
	after, still := heap(), fewerGoroutines(goroutines*6/5)
	t.Logf("%d KiB and %d goroutines before, %d KiB and %d after", before>>10, goroutines, after>>10, still)
	if after > before*6/5 {
		t.Errorf("the heap has grown from %d to %d KiB", before>>10, after>>10)
	}
	if still > goroutines*6/5 {
		t.Errorf("there were %d goroutines, there are %d", goroutines, still)
	}
}

func (ts *testServer) largeSessions(t *testing.T, e *testclient.Editor) {
	t.Helper()
	for i := range memorySessions {
		sid := e.NewSession(ts.work)
		var messages []any
		for j := range memoryMessages {
			text := strings.Repeat(fmt.Sprintf("Message %d of session %d. ", j, i), 20)
			picture := map[string]any{"type": "image", "mimeType": "image/png", "data": png(64, 64, memoryBytes)}
			messages = append(messages, message("user", []any{words(text), picture}), message("assistant", text))
		}
		if err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil); err != nil {
			t.Fatal(err)
		}
		var c compacting.Result
		if err := e.Call("_strata/history/compact", map[string]any{"sessionId": sid, "strategy": "middle"}, &c); err != nil || c.Outcome != "compacted" {
			t.Fatalf("%+v, %v", c, err)
		}
		if err := e.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// comeAndGo attaches clients to a session and disconnects them while its reply streams.
func (ts *testServer) comeAndGo(t *testing.T, e *testclient.Editor) {
	t.Helper()
	sid := e.NewSession(ts.work)
	if err := e.Call("session/set_config_option", map[string]any{"sessionId": sid, "configId": "model", "value": "local/test"}, nil); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "first", ", rest"))
	turn := e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	for range memoryConnections {
		hud := testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal())
		hud.Initialize()
		if at, err := hud.Attach(sid, testclient.Place{}); err != nil || at.Running == "" {
			t.Fatalf("attached as %+v, %v", at, err)
		}
		hud.Vanish()
	}
	close(gate)
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (ts *testServer) manyTurns(t *testing.T, e *testclient.Editor) {
	t.Helper()
	sid := e.NewSession(ts.work)
	for i := range memoryTurns {
		if _, err := e.Prompt(sid, fmt.Sprintf("Question %d about the parser.", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// fewerGoroutines waits for at most a minute until there are at most the given number of goroutines, because clients end
// after their connections. It returns the number.
func fewerGoroutines(most int) int {
	ticker, patience := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer ticker.Stop()
	for runtime.NumGoroutine() > most {
		select {
		case <-ticker.C:
		case <-patience:
			return runtime.NumGoroutine()
		}
	}
	return runtime.NumGoroutine()
}

// unloadAll unloads all unused sessions, which must be all sessions.
func (ts *testServer) unloadAll(t *testing.T) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		ts.server.sessions.unloadIdle(ts.server.now().Add(time.Hour))
		if ts.server.sessions.count() == 0 {
			return
		}
	}
}
