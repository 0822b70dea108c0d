package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/server/wire"
)

// few makes a server keep at most n sessions in memory.
func few(n int) func(*Options) { return func(opt *Options) { opt.Memory = n } }

// unsubscribe ends a client's subscription of a session.
func unsubscribe(t *testing.T, e *testclient.Editor, sid string) {
	t.Helper()
	must(t, e.Call("_strata/session/detach", map[string]any{"sessionId": sid, "unsubscribe": true}, nil))
}

// inMemory returns which of the sessions are in memory.
func inMemory(ts *testServer, sids ...string) (loaded []string) {
	for _, sid := range sids {
		if _, ok := ts.server.sessions.get(sid); ok {
			loaded = append(loaded, sid)
		}
	}
	return loaded
}

// The client that makes a session learns of it by the response, also if it receives the events of all sessions.
func TestF25TheResponseComesBeforeTheEvents(t *testing.T) {
	ts := startServer(t)
	e, other := ts.editor(), ts.editor()
	for _, c := range []*testclient.Editor{e, other} {
		must(t, c.Call("_strata/server/subscribe", nil, nil))
	}
	source := e.NewSession(ts.work)
	mustPrompt(t, e, source, "hello")
	lines := exported(ts, e, source)
	opened := map[string]any{"sessionId": source, "cwd": ts.work, "mcpServers": []any{map[string]any{"name": "a", "command": "/bin/true"}}}
	makers := []struct {
		method string
		params map[string]any
	}{
		{"session/new", map[string]any{"cwd": ts.work, "mcpServers": []any{map[string]any{"name": "a", "command": "/bin/true"}}}},
		{"session/fork", opened},
		{"_strata/session/fork", map[string]any{"sessionId": source}},
		{"_strata/session/import", map[string]any{"lines": lines, "done": true}},
	}
	for i := range 60 {
		m := makers[i%len(makers)]
		start := len(e.Frames())
		var made struct{ SessionID string }
		must(t, e.Call(m.method, m.params, &made))
		created := testclient.Condition{Name: "created " + made.SessionID, Met: func(fs testclient.Frames) bool {
			return slices.ContainsFunc(fs, func(f testclient.Frame) bool {
				return f.Method == wire.MethodServerEvent && strings.Contains(string(f.Raw), made.SessionID) && strings.Contains(string(f.Raw), `"created"`)
			})
		}}
		e.Expect(created)
		other.Expect(created)
		first := func(fs testclient.Frames) testclient.Frame {
			return fs[slices.IndexFunc(fs, func(f testclient.Frame) bool { return strings.Contains(string(f.Raw), made.SessionID) })]
		}
		if f := first(e.Frames()[start:]); f.Method != "" {
			t.Fatalf("%s: the first frame with the session is %s", m.method, f.Raw)
		}
		if f := first(other.Frames()); !strings.Contains(string(f.Raw), `"created"`) {
			t.Fatalf("%s: the first event for another client is %s", m.method, f.Raw)
		}
	}
	ts.noneHeldBack()
}

// A session that was not made is not expected any more.
func TestF25AFailedSessionIsForgotten(t *testing.T) {
	ts := startServer(t, few(1))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	other := ts.editor()
	wireFault(t, other.Call("session/new", map[string]any{"cwd": ts.work}, nil), wire.CodeBusy)
	wireFault(t, other.Call("_strata/session/fork", map[string]any{"sessionId": sid}, nil), wire.CodeBusy)
	ts.noneHeldBack()
}

// noneHeldBack waits until no session is announced any more that clients have not heard of: that ends shortly after the
// response.
func (ts *testServer) noneHeldBack() {
	ts.t.Helper()
	held := func() int {
		return ts.server.monitors.Held()
	}
	for end := time.Now().Add(time.Minute); held() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			ts.t.Fatalf("%d sessions are held back", held())
		}
	}
}

// One session more than fit in memory unloads the one that has been idle for the longest time and that nobody watches.
func TestR03TheLongestIdleSessionMakesRoom(t *testing.T) {
	var ticks atomic.Int64
	start := time.Now()
	ts := startServer(t, few(3), func(opt *Options) {
		setClock(opt, func() time.Time { return start.Add(time.Duration(ticks.Add(1)) * time.Second) })
	})
	e := ts.editor()
	var sids []string
	for range 3 {
		sids = append(sids, e.NewSession(ts.work))
	}
	watched := sids[0]
	unsubscribe(t, e, sids[1])
	unsubscribe(t, e, sids[2])
	ts.settle(e)
	mustAttachAndLeave(t, e, sids[1]) // 2 is the one idle for the longest time now
	ts.settle(e)
	for i := range 20 {
		sid := e.NewSession(ts.work)
		unsubscribe(t, e, sid)
		if i == 0 {
			if got := inMemory(ts, sids...); !slices.Equal(got, []string{watched, sids[1]}) {
				t.Errorf("in memory are %v of %v", got, sids)
			}
		}
		if n := ts.server.sessions.count(); n > 3 {
			t.Fatalf("%d sessions are in memory", n)
		}
		sids = append(sids, sid)
	}
	// All of them can be used again.
	for _, sid := range sids {
		mustPrompt(t, e, sid, "hello "+sid)
		if sid != watched {
			unsubscribe(t, e, sid)
		}
	}
	if got := inMemory(ts, watched); len(got) != 1 {
		t.Error("the watched session was unloaded")
	}
}

func mustAttachAndLeave(t *testing.T, e *testclient.Editor, sid string) {
	t.Helper()
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	unsubscribe(t, e, sid)
}

// If all sessions in memory are in use the error says so, and whatever ends makes room.
func TestR03NoRoom(t *testing.T) {
	ts := startServer(t, few(2))
	e, other := ts.editor(), ts.editor()
	busy, watched := e.NewSession(ts.work), e.NewSession(ts.work)
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "a", "b"))
	turn := e.Start(busy, "think")
	e.Expect(testclient.Says(busy, testclient.AgentChunk, "a"))
	unsubscribe(t, e, busy)
	for _, err := range []error{
		other.Call("session/new", map[string]any{"cwd": ts.work}, nil),
		other.Call("_strata/history/list", map[string]any{"sessionId": "sess_00000000000000000000000000"}, nil),
	} {
		fault := wireFault(t, err, wire.CodeBusy)
		if !strings.Contains(fault.Message, "all 2 sessions in memory are in use") || faultData[map[string]int](t, fault)["limit"] != 2 {
			t.Errorf("refused with %q, data %s", fault.Message, fault.Data)
		}
	}
	unsubscribe(t, e, watched)
	sid := other.NewSession(ts.work)
	if got := inMemory(ts, busy, watched, sid); !slices.Equal(got, []string{busy, sid}) {
		t.Errorf("in memory are %v", got)
	}
	close(gate)
	if _, err := turn.Wait(); err != nil {
		t.Error(err)
	}
}

// Many clients that open sessions at the same time get them all, though only a few fit in memory.
func TestR03Crowd(t *testing.T) {
	ts := startServer(t, few(4))
	const clients, each = 8, 10
	results := make(chan error, clients*each)
	for range clients {
		e := ts.editor()
		go func() {
			for i := range each {
				results <- func() error {
					var made struct{ SessionID string }
					if err := retried(func() error { return e.Call("session/new", map[string]any{"cwd": ts.work}, &made) }); err != nil {
						return err
					}
					if err := e.Call("_strata/session/detach", map[string]any{"sessionId": made.SessionID, "unsubscribe": true}, nil); err != nil {
						return err
					}
					return retried(func() error {
						return e.Call("_strata/session/rename", map[string]any{"sessionId": made.SessionID, "title": fmt.Sprint("session ", i)}, nil)
					})
				}()
			}
		}()
	}
	for range clients * each {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	ts.settle(ts.editor())
	if n := ts.server.sessions.count(); n > 4 {
		t.Errorf("%d sessions are in memory", n)
	}
}

// retried calls a function again while the server is too busy for it.
func retried(call func() error) error {
	for {
		err := call()
		if fault, ok := errors.AsType[*rpc.Error](err); !ok || fault.Code != wire.CodeBusy {
			return err
		}
	}
}

// A connection can watch as many sessions as fit in memory. With one more the longest idle subscription ends, which the
// client is told; it can be opened again.
func TestF28TheLongestIdleSubscriptionEnds(t *testing.T) {
	const limit = 70 // more than a connection had before
	ts := startServer(t, few(limit))
	e := ts.editor()
	var sids []string
	for range limit {
		sids = append(sids, e.NewSession(ts.work))
	}
	if _, err := e.Attach(sids[1], testclient.Place{}); err != nil { // used: the third one is the longest idle after the first
		t.Fatal(err)
	}
	if _, err := e.Attach(sids[2], testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	gone := func(sid string) testclient.Condition {
		return testclient.Condition{Name: sid + " ends", Met: func(fs testclient.Frames) bool {
			return slices.ContainsFunc(fs.Of(sid).Kind("notice"), func(f testclient.Frame) bool {
				return strings.Contains(string(f.Params), "The updates of this session end here: the connection has 70 subscriptions")
			})
		}}
	}
	next := e.NewSession(ts.work)
	e.Expect(gone(sids[0]))
	e.NewSession(ts.work)
	e.Expect(gone(sids[3]))
	for _, sid := range []string{sids[0], sids[3]} {
		if frames := e.Frames().Of(sid).Kind("unsubscribed"); len(frames) != 0 {
			t.Errorf("a client that did not attach gets %s", frames[0].Raw)
		}
	}
	// A working session stays subscribed, however idle it is.
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "first", " second"))
	turn := e.Start(sids[4], "think")
	e.Expect(testclient.Says(sids[4], testclient.AgentChunk, "first"))
	for _, sid := range append([]string{sids[1], next}, sids[5:]...) {
		if _, err := e.Attach(sid, testclient.Place{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		e.NewSession(ts.work)
	}
	close(gate)
	reply, err := turn.Wait()
	if err != nil || reply.Said() != "first second" {
		t.Errorf("said %q, error %v", reply.Said(), err)
	}
	e.Expect(gone(sids[2]))
	if frames := e.Frames().Of(sids[2]).Kind("unsubscribed"); len(frames) != 1 {
		t.Errorf("an attached client is told %d times that the events end", len(frames))
	}
	// What ended can be opened again.
	if _, err := e.Attach(sids[0], testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	mustPrompt(t, e, sids[0], "again")
	if n := len(e.Frames().Of(sids[0]).Kind("turn_finished")); n != 1 {
		t.Errorf("%d turns were seen to end", n)
	}
}

// A client that reads nothing cannot pile up subscriptions that end.
func TestF28EndingSubscriptionsAreBounded(t *testing.T) {
	ts := startServer(t, few(2))
	var info struct{ Limits wire.Limits }
	e := ts.editor()
	must(t, e.Call("_strata/server/info", nil, &info))
	if info.Limits.Subscriptions != 2 || info.Limits.Sessions != 2 {
		t.Errorf("limits %+v", info.Limits)
	}
	for range 3 * endingSubscriptions {
		e.NewSession(ts.work)
	}
}

// A snapshot tells everything that runs, so that a client can forget what it knew.
func TestF24ASnapshotTellsTheRunningCompaction(t *testing.T) {
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
	e, sid := attached(t, ts)
	ts.talk(e, sid, 12)
	r, gate := heldCompaction(ts, s, e, sid)
	compacting := func() string {
		t.Helper()
		at, err := ts.editor().Attach(sid, testclient.Place{})
		must(t, err)
		var snapshot struct{ Compacting string }
		must(t, json.Unmarshal(at.Snapshot, &snapshot))
		return snapshot.Compacting
	}
	if id := compacting(); !strings.HasPrefix(id, "cmp_") {
		t.Errorf("while it runs the snapshot has the compaction %q", id)
	}
	close(gate)
	must(t, r.Wait(nil))
	if id := compacting(); id != "" {
		t.Errorf("afterwards it has %q", id)
	}
}
