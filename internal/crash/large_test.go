package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/internal/binary"
	"strata/internal/upstream"
	"strata/rpc"
)

// largeOutput is the size of each tool result in bytes. Half of the messages are tool calls, half are tool results: with
// 9,000 messages, as in the case, the results have 150 MB.
const largeOutput = 33 << 10

// The limits of the case. Durations are only logged, as they depend on the load of the machine.
const (
	firstPageRead = 4 << 20   // bytes that the server reads from files to show the first page, however many messages there are
	largeRun      = 2000      // messages of the replay between two deltas of another session, at most half of all
	largeMemory   = 512 << 20 // bytes of the whole process
	largeFrame    = 256 << 10
)

// A very large session opens page by page without being read completely, with little memory, and other sessions continue
// meanwhile.
func TestK4_05_LargeSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	large, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	w.tell(e, &ask{session: other, name: "warm", parts: 3})
	w.Stop()
	seedLarge(t, w.Database, large)
	w.Restart(binary.Options{})

	beside := listen(w, other)

	eventually(t, "the end of the check at the start, which reads all of the database", func() bool {
		return strings.Contains(w.Log(), "database check passed")
	})
	e = w.editor()
	read, start := bytesRead(t, w.PID), time.Now()
	attach := e.Go("_strata/session/attach", map[string]any{"sessionId": large})
	var first attachAnswer
	if err := attach.Wait(&first); err != nil {
		t.Fatal(err)
	}
	read = bytesRead(t, w.PID) - read
	t.Logf("the first page took %v, and the server read %d KB for it", time.Since(start).Round(time.Millisecond), read>>10)
	if read > firstPageRead || len(first.Snapshot.Messages) == 0 || first.Snapshot.NextCursor == "" {
		t.Errorf("the first page has %d messages; the server read %d KB for it", len(first.Snapshot.Messages), read>>10)
	}
	if err := e.Call("session/resume", map[string]any{"sessionId": large, "cwd": w.Home.Project, "mcpServers": []any{}}, nil); err != nil {
		t.Fatal(err)
	}
	replayed := replay(w, large, &beside.deltas)
	beside.stop()
	if replayed.run > min(largeRun, *messages/2) {
		t.Errorf("no delta of another session arrived between %d messages of the replay", replayed.run)
	}
	if replayed.messages != *messages || replayed.largest > largeFrame {
		t.Errorf("the replay has %d messages, and a frame of %d bytes", replayed.messages, replayed.largest)
	}
	t.Logf("the replay took %v, its largest frame has %d bytes; between deltas of another session were at most %d messages and %v",
		replayed.took.Round(time.Millisecond), replayed.largest, replayed.run, beside.gap.Round(time.Millisecond))

	start = time.Now()
	w.tell(e, &ask{session: large, name: "afterwards", parts: 3})
	t.Logf("a prompt after it took %v", time.Since(start).Round(time.Millisecond))
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
	line := strings.Repeat("0123456789abcdef", 12) + "\n" // one word: more would only slow down the search index
	output := strings.Repeat(line, largeOutput/len(line))
	for seq := 1; seq <= *messages; {
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

// client connects a client that keeps no frames.
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

// listening is a turn that streams until it is stopped, with its client.
type listening struct {
	deltas atomic.Int64
	gap    time.Duration // longest time between deltas; valid after stop
	stop   func()
}

// listen starts a turn and returns at its first delta.
func listen(w *world, session string) *listening {
	w.t.Helper()
	l := new(listening)
	var last time.Time
	started := make(chan struct{})
	c := client(w, func(_ string, params json.RawMessage) {
		if !strings.Contains(string(params), "agent_message_chunk") {
			return
		}
		now := time.Now()
		if l.deltas.Add(1) == 1 {
			close(started)
		} else {
			l.gap = max(l.gap, now.Sub(last))
		}
		last = now
	})
	end := make(chan struct{})
	w.teller.Push(upstream.Script{Steps: []upstream.Step{
		upstream.Endless(end, 5*time.Millisecond, func(n int) string { return fmt.Sprintf("part %d. ", n) }),
	}})
	ended := make(chan error, 1)
	go func() {
		ended <- c.Call(w.t.Context(), "session/prompt", map[string]any{
			"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": "Tell me without an end."}},
		}, nil)
	}()
	within(w.t, "the first delta", started)
	l.stop = func() {
		close(end)
		if err := within(w.t, "the end of the turn", ended); err != nil {
			w.t.Error(err)
		}
		c.Close() // from here on nothing is counted
	}
	return l
}

type replayed struct {
	messages, largest int
	run               int // maximum number of consecutive messages without a delta between them
	took              time.Duration
}

// replay loads a session and counts the replayed messages and bytes, and the deltas received meanwhile.
func replay(w *world, session string, deltas *atomic.Int64) replayed {
	w.t.Helper()
	var r replayed
	run, before := 0, deltas.Load()
	c := client(w, func(_ string, params json.RawMessage) {
		r.largest = max(r.largest, len(params))
		if !strings.Contains(string(params), `"sessionUpdate":"tool_call`) {
			return
		}
		r.messages++
		if now := deltas.Load(); now != before {
			run, before = 0, now
		}
		run++
		r.run = max(r.run, run)
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	start := time.Now()
	err := c.Call(ctx, "session/load", map[string]any{"sessionId": session, "cwd": w.Home.Project, "mcpServers": []any{}}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	took := time.Since(start)
	c.Close() // counting ends here
	r.took = took
	return r
}

// bytesRead returns the number of bytes read by a process; 0 if the system does not provide it.
func bytesRead(t *testing.T, pid int) int64 {
	t.Helper()
	account, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Log(err)
		return 0
	}
	for line := range strings.Lines(string(account)) {
		var bytes int64
		if _, err := fmt.Sscanf(line, "rchar: %d", &bytes); err == nil {
			return bytes
		}
	}
	return 0
}

// peakMemory returns the peak memory of a process, in bytes; 0 if the system does not provide it.
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
