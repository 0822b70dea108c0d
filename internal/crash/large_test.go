package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/internal/binary"
	"strata/rpc"
)

// The session of the case: half of its messages are calls of a tool, half are what the tool said.
const (
	largeMessages = 9000
	largeOutput   = 33 << 10 // bytes of each of the tool's outputs; 150 MB together
)

// What the case wants of it, and the room that a machine gets on which other things run.
const (
	firstPage   = 2 * time.Second
	otherDelay  = 200 * time.Millisecond
	slack       = 25
	largeMemory = 512 << 20 // bytes of the whole process
	largeFrame  = 256 << 10
)

// A very large session opens at once, page by page, and costs other sessions and the memory next to nothing.
func TestK4_05_LargeSession(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 150 MB")
	}
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	large, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	w.tell(e, &ask{session: other, name: "warm", parts: 3})
	w.Stop()
	seedLarge(t, w.Database, large)
	w.Restart(binary.Options{})

	pace := &ask{session: other, name: "paced", parts: 600, gap: 5 * time.Millisecond}
	steady := listen(w, pace)

	e = w.editor()
	start := time.Now()
	var first attachAnswer
	if err := e.Call("_strata/session/attach", map[string]any{"sessionId": large}, &first); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	t.Logf("the first page came after %v", took.Round(time.Millisecond))
	if took > slack*firstPage || len(first.Snapshot.Messages) == 0 || first.Snapshot.NextCursor == "" {
		t.Errorf("the first page came after %v with %d messages", took, len(first.Snapshot.Messages))
	}
	if err := e.Call("session/resume", map[string]any{"sessionId": large, "cwd": w.Home.Project, "mcpServers": []any{}}, nil); err != nil {
		t.Fatal(err)
	}
	replayed := replay(w, large)
	if gap := steady(); gap > slack*otherDelay {
		t.Errorf("a delta of another session was delayed by %v", gap)
	} else {
		t.Logf("deltas of another session, one each %v, came at most %v apart", pace.gap, gap.Round(time.Millisecond))
	}
	if replayed.messages != largeMessages || replayed.largest > largeFrame {
		t.Errorf("the replay has %d messages, and a frame of %d bytes", replayed.messages, replayed.largest)
	}
	t.Logf("the replay took %v, its largest frame has %d bytes", replayed.took.Round(time.Millisecond), replayed.largest)

	w.tell(e, &ask{session: large, name: "afterwards", parts: 3})
	if peak := peakMemory(t, w.PID); peak > largeMemory {
		t.Errorf("the process took %d MB of memory", peak>>20)
	} else {
		t.Logf("the process took %d MB of memory", peak>>20)
	}
}

// seedLarge puts the messages into a session.
func seedLarge(t *testing.T, path, session string) {
	t.Helper()
	store, err := historystore.Open(t.Context(), path, historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	line := strings.Repeat("0123456789abcdef", 12) + "\n" // of one word: many would only make the search index slow to write
	output := strings.Repeat(line, largeOutput/len(line))
	for seq := 1; seq <= largeMessages; {
		change := history.Change{Session: session}
		for range 500 {
			call := fmt.Sprintf("call_%d", (seq+1)/2)
			m := history.Message{ID: fmt.Sprintf("msg_%026d", seq), Seq: int64(seq), At: time.Now(), Status: history.StatusComplete}
			if seq%2 == 1 {
				m.Role, m.Tokens = history.RoleAssistant, 20
				m.Blocks = []history.Block{{Type: history.BlockToolCall, CallID: call, Name: "look", Args: "{}"}}
			} else {
				m.Role, m.Tokens = history.RoleTool, largeOutput/4
				m.Blocks = []history.Block{{Type: history.BlockToolResult, CallID: call, Content: []history.Block{
					{Type: history.BlockText, Text: fmt.Sprintf("output %d\n%s", seq, output)},
				}}}
			}
			change.Messages = append(change.Messages, m)
			seq++
		}
		if err := store.Commit(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the session was written in %v", time.Since(start).Round(time.Millisecond))
}

// client connects a client that keeps nothing of what it hears.
func client(w *world, hear func(method string, params json.RawMessage)) *rpc.Client {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	c, err := rpc.Dial(ctx, w.WebSocket(), rpc.DialOptions{Header: http.Header{"Authorization": {"Bearer " + w.Token}}, OnNotification: hear})
	if err == nil {
		err = c.Call(ctx, "initialize", map[string]any{"protocolVersion": 1}, nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

// listen starts a turn. The function that it returns waits for its end and returns the longest time in which no delta came.
func listen(w *world, a *ask) (longest func() time.Duration) {
	w.t.Helper()
	var mu sync.Mutex
	var last time.Time
	var gap time.Duration
	started := make(chan struct{})
	c := client(w, func(_ string, params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if strings.Contains(string(params), "agent_message_chunk") {
			if last.IsZero() {
				close(started)
			} else {
				gap = max(gap, now.Sub(last))
			}
			last = now
		}
	})
	ended := make(chan error, 1)
	go func() {
		ended <- c.Call(w.t.Context(), "session/prompt", map[string]any{
			"sessionId": a.session, "prompt": []any{map[string]any{"type": "text", "text": a.text()}},
		}, nil)
	}()
	within(w.t, "the first delta", started)
	return func() time.Duration {
		if err := within(w.t, "the end of the turn", ended); err != nil {
			w.t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		return gap
	}
}

type replayed struct {
	messages, largest int
	took              time.Duration
}

// replay loads a session and counts what comes.
func replay(w *world, session string) replayed {
	w.t.Helper()
	var r replayed
	c := client(w, func(_ string, params json.RawMessage) {
		r.largest = max(r.largest, len(params))
		if strings.Contains(string(params), `"sessionUpdate":"tool_call`) {
			r.messages++
		}
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	start := time.Now()
	err := c.Call(ctx, "session/load", map[string]any{"sessionId": session, "cwd": w.Home.Project, "mcpServers": []any{}}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	took := time.Since(start)
	c.Close() // from here on nothing is counted
	r.took = took
	return r
}

// peakMemory is the most memory that a process ever had, in bytes; 0 where the system does not tell.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Log(err)
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	return 0
}
