package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"strata/history"
	"strata/historystore"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/llm/reply"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/events"
)

func TestCancelOfARefusedPromptLeavesTheTurnAlone(t *testing.T) {
	t.Parallel()
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
		wireFault(t, err, wire.CodeBusy)
	}
	close(gate)
	reply, err := turn.Wait()
	if err != nil || reply.StopReason != "end_turn" || reply.Said() != "first, rest" {
		t.Errorf("the turn ended with %q, text %q, error %v", reply.StopReason, reply.Said(), err)
	}
}

// instantly is a provider that replies before the request is complete.
type instantly struct{}

func (instantly) Stream(_ context.Context, _ llm.Request, on func(reply.Event)) (reply.Result, error) {
	on(reply.Event{Kind: reply.EventText, Text: "yes"})
	return reply.Result{
		Blocks: []history.Block{{Type: history.BlockText, Text: "yes"}}, StopReason: reply.StopEndTurn,
		Usage: history.Usage{Input: 40, Output: 1}, UsageReported: true,
	}, nil
}

// The content of a request is recorded in the usage log and the calibration, however early the reply arrives.
func TestRequestIsKnownBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(o *Options) { o.Models.(*testModels).Streamer = instantly{} })
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for range 20 {
		turn := e.Start(sid, "quick")
		var asked []*testclient.Request // so that the mailbox does not wait for the request
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
	var page struct{ Calls []wire.Call }
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

// slowReads delays a store's reads of messages while it is armed.
type slowReads struct {
	armed   atomic.Bool
	entered chan struct{} // a read waits
	gate    chan struct{} // releases all reads
}

func newSlowReads() *slowReads {
	return &slowReads{entered: make(chan struct{}, 16), gate: make(chan struct{})}
}

// options returns options for a store without a cache and with delayed reads.
func (r *slowReads) options() historystore.Options {
	return historystore.Options{CacheBytes: 1, Observe: func(op string, _ time.Duration) {
		if op == "messages" && r.armed.Load() {
			r.entered <- struct{}{}
			<-r.gate
		}
	}}
}

func (r *slowReads) release() {
	r.armed.Store(false)
	close(r.gate)
}

// heldTurn creates a session with one finished turn and a second turn that has sent "first" and waits for the gate
// before it sends ", rest".
func heldTurn(ts *testServer, e *testclient.Editor) (sid string, turn *testclient.Turn, gate chan struct{}) {
	ts.t.Helper()
	gate = make(chan struct{})
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("earlier")}, held(gate, "first", ", rest"))
	sid = e.NewSession(ts.work)
	if _, err := e.Prompt(sid, "one"); err != nil {
		ts.t.Fatal(err)
	}
	turn = e.Start(sid, "two")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	return sid, turn, gate
}

func TestAnswerOfATurnWaitsForAnAttachUnderWay(t *testing.T) {
	t.Parallel()
	reads := newSlowReads()
	ts := startServerOn(t, reads.options(), upstream.Options{})
	e, witness := ts.editor(), ts.editor()
	sid, turn, gate := heldTurn(ts, e)
	if _, err := witness.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	reads.armed.Store(true)
	attach := e.Go("_strata/session/attach", map[string]any{"sessionId": sid})
	<-reads.entered
	close(gate)
	witness.Expect(testclient.Sees(sid, "turn_finished"))
	reads.release()
	if err := attach.Wait(nil); err != nil {
		t.Fatal(err)
	}
	reply, err := turn.Wait()
	if err != nil || reply.Said() != "first, rest" {
		t.Errorf("before the reply: %q, error %v", reply.Said(), err)
	}
}

func TestNewestPlaceOfASubscriberCounts(t *testing.T) {
	t.Parallel()
	attachSlowly := func(t *testing.T) (ts *testServer, e *testclient.Editor, sid string, finish func() testclient.Frames) {
		reads := newSlowReads()
		ts = startServerOn(t, reads.options(), upstream.Options{})
		e = ts.editor()
		sid, turn, gate := heldTurn(ts, e)
		reads.armed.Store(true)
		attach := e.Go("_strata/session/attach", map[string]any{"sessionId": sid})
		<-reads.entered
		reads.armed.Store(false)
		return ts, e, sid, func() testclient.Frames {
			start := len(e.Frames())
			reads.release()
			if err := attach.Wait(nil); err != nil {
				t.Error(err)
			}
			close(gate)
			if _, err := turn.Wait(); err != nil {
				t.Error(err)
			}
			return e.Frames()[start:].Of(sid)
		}
	}
	t.Run("attached again meanwhile", func(t *testing.T) {
		_, e, sid, finish := attachSlowly(t)
		again, err := e.Attach(sid, e.Frames().Place(sid))
		if err != nil || !again.Complete {
			t.Fatalf("attached as %+v, error %v", again, err)
		}
		e.Expect(testclient.Sees(sid, testclient.AgentChunk))
		if frames := finish(); len(frames.Faults(sid)) > 0 || frames.Text(testclient.AgentChunk) != ", rest" {
			t.Errorf("faults %q, text %q", frames.Faults(sid), frames.Text(testclient.AgentChunk))
		}
	})
	t.Run("detached meanwhile", func(t *testing.T) {
		_, e, sid, finish := attachSlowly(t)
		if err := e.Call("_strata/session/detach", map[string]any{"sessionId": sid}, nil); err != nil {
			t.Fatal(err)
		}
		frames := finish()
		if events := len(frames.Kind("turn_finished")); events > 0 || frames.Text(testclient.AgentChunk) != ", rest" {
			t.Errorf("%d events, text %q", events, frames.Text(testclient.AgentChunk))
		}
	})
	t.Run("loaded meanwhile", func(t *testing.T) {
		ts, e, sid, finish := attachSlowly(t)
		start := len(e.Frames())
		if err := e.Call("session/load", map[string]any{"sessionId": sid, "cwd": ts.work, "mcpServers": []any{}}, nil); err != nil {
			t.Fatal(err)
		}
		finish()
		frames := e.Frames()[start:].Of(sid)
		if said := frames.Text(testclient.AgentChunk); said != "earlierfirst, rest" {
			t.Errorf("text %q", said)
		}
	})
}

func TestAttachWhileTheSessionClosesIsAnswered(t *testing.T) {
	t.Parallel()
	reads := newSlowReads()
	ts := startServerOn(t, reads.options(), upstream.Options{})
	e, witness := ts.editor(), ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := e.Prompt(sid, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := witness.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	reads.armed.Store(true)
	attach := e.Go("_strata/session/attach", map[string]any{"sessionId": sid})
	<-reads.entered
	closing := witness.Go("session/close", map[string]any{"sessionId": sid})
	witness.Expect(testclient.Sees(sid, "closed"))
	reads.release()
	wireFault(t, attach.Wait(nil), wire.CodeNotFound)
	if err := closing.Wait(nil); err != nil {
		t.Error(err)
	}
}

// refuseAnswers makes the database refuse replies until the returned function is called.
func refuseAnswers(t *testing.T, ts *testServer) (allow func()) {
	t.Helper()
	run := func(statement string) {
		db, err := sql.Open("sqlite", ts.ready.Database+"?_pragma=busy_timeout(60000)")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TRIGGER refuse BEFORE INSERT ON message WHEN new.role = 'assistant' BEGIN SELECT RAISE(ABORT, 'refused'); END")
	return func() { run("DROP TRIGGER refuse") }
}

func TestUnsavedAnswerKeepsItsPlace(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts("earlier")}, upstream.Script{Steps: upstream.Texts("kept")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Prompt(sid, "one"); err != nil {
		t.Fatal(err)
	}
	allow := refuseAnswers(t, ts)
	blocks := []any{map[string]any{"type": "text", "text": "two"}}
	reply, err := e.StartWith(sid, blocks, "p2").Wait()
	if err != nil || reply.Said() != "kept" {
		t.Fatalf("text %q, error %v", reply.Said(), err)
	}
	e.Expect(testclient.Sees(sid, "save_failed"))

	_, err = e.Prompt(sid, "three")
	wireFault(t, err, wire.CodeStorage)
	message := []any{map[string]any{"role": "user", "content": "by the way"}}
	wireFault(t, e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": message}, nil), wire.CodeStorage)
	again, err := e.StartWith(sid, blocks, "p2").Wait()
	if err != nil || string(again.Result) != string(reply.Result) {
		t.Errorf("sent again: %s, error %v; the first was %s", again.Result, err, reply.Result)
	}
	var cleared struct{ AfterTurn string }
	if err := e.Call("_strata/history/clear", map[string]any{"sessionId": sid}, &cleared); err != nil || cleared.AfterTurn == "" {
		t.Errorf("cleared %+v, error %v", cleared, err)
	}
	second := ts.editor()
	attached, err := second.Attach(sid, testclient.Place{})
	if err != nil || attached.Running != "" || !strings.Contains(string(attached.Snapshot), "kept") {
		t.Errorf("attached as running %q with %s, error %v", attached.Running, attached.Snapshot, err)
	}

	allow()
	e.Expect(testclient.SeesTimes(sid, "saved", 2), testclient.Sees(sid, "context_changed"))
	if got, want := chatOf(transcript(t, e, sid)), "user complete \"one\"\nassistant complete \"earlier\"\nuser complete \"two\"\nassistant complete \"kept\"\n"; got != want {
		t.Errorf("the transcript is\n%s", got)
	}
	if last := lastMessage(t, e, sid); last.InView {
		t.Error("the reply is still in view")
	}
	if _, err := e.Prompt(sid, "four"); err != nil {
		t.Error(err)
	}
	if faults := e.Frames().Faults(sid); len(faults) > 0 {
		t.Errorf("events: %q", faults)
	}
}

// failing is a provider that fails when the gate is closed, even if the turn is cancelled.
type failing struct{ asked, gate chan struct{} }

func (f failing) Stream(context.Context, llm.Request, func(reply.Event)) (reply.Result, error) {
	close(f.asked)
	<-f.gate
	return reply.Result{}, errors.New("no answer")
}

func TestCancelWhileTheEndIsBeingStored(t *testing.T) {
	t.Parallel()
	var hold atomic.Bool
	entered, release := make(chan struct{}), make(chan struct{})
	store := historystore.Options{OnCommit: func(int) {
		if hold.CompareAndSwap(true, false) {
			close(entered)
			<-release
		}
	}}
	provider := failing{asked: make(chan struct{}), gate: make(chan struct{})}
	ts := startServerOn(t, store, upstream.Options{}, func(o *Options) { o.Models.(*testModels).Streamer = provider })
	e := ts.editor()
	sid, other := e.NewSession(ts.work), e.NewSession(ts.work)
	turn := e.Start(sid, "hello")
	<-provider.asked
	hold.Store(true)
	renamed := e.Go("_strata/session/rename", map[string]any{"sessionId": other, "title": "holds up the store"})
	<-entered
	close(provider.gate)
	for range 20 { // the end of the turn is being stored meanwhile
		if err := e.Call("_strata/session/info", map[string]any{"sessionId": sid}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Cancel(sid); err != nil {
		t.Fatal(err)
	}
	if err := e.Call("_strata/session/info", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	close(release)
	if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
		t.Errorf("ended with %q, error %v", reply.StopReason, err)
	}
	if err := renamed.Wait(nil); err != nil {
		t.Error(err)
	}
}

// outcomeIn returns the turn that a response to a prompt names.
func outcomeIn(t *testing.T, reply testclient.Reply) wire.PromptOutcome {
	t.Helper()
	var result wire.PromptResult
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		t.Fatal(err)
	}
	return result.Meta.Strata
}

func TestRepeatedPrompt(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	blocks := []any{map[string]any{"type": "text", "text": "hello"}}
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "first", ", rest"))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	first := e.StartWith(sid, blocks, "p1")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))

	other := ts.editor()
	joined := other.StartWith(sid, blocks, "p1")
	_, err := other.StartWith(sid, blocks, "p2").Wait() // answered after the prompt that joins
	wireFault(t, err, wire.CodeBusy)
	close(gate)
	original, err := first.Wait()
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, turn *testclient.Turn) {
		t.Helper()
		reply, err := turn.Wait()
		if err != nil || reply.StopReason != "end_turn" || outcomeIn(t, reply).TurnID != outcomeIn(t, original).TurnID {
			t.Errorf("%s: response %s, error %v", when, reply.Result, err)
		}
	}
	check("while it runs", joined)
	check("after its end", other.StartWith(sid, blocks, "p1"))

	ts.upstream.Push(upstream.Script{Status: 401})
	_, err = e.StartWith(sid, blocks, "failing").Wait()
	failure := wireFault(t, err, wire.CodeProvider)
	asked := len(ts.upstream.Requests())
	_, err = other.StartWith(sid, blocks, "failing").Wait()
	if again := wireFault(t, err, wire.CodeProvider); again.Message != failure.Message || len(ts.upstream.Requests()) != asked {
		t.Errorf("reported as %q again after %q", again.Message, failure.Message)
	}

	ts.close()
	ts.start()
	e = ts.editor()
	check("after a restart", e.StartWith(sid, blocks, "p1"))
	_, err = e.StartWith(sid, blocks, "failing").Wait()
	wireFault(t, err, wire.CodeProvider)
	if n := len(ts.upstream.Requests()); n != asked {
		t.Errorf("the provider was called %d more times", n-asked)
	}
	if got := len(transcript(t, e, sid)); got != 3 {
		t.Errorf("%d messages", got)
	}
}

func TestAttachWithWrongNumbers(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	reply, err := e.Prompt(sid, "hello")
	if err != nil {
		t.Fatal(err)
	}
	now, err := e.Attach(sid, testclient.Place{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		seen     testclient.Place
		complete bool
	}{
		{"everything", testclient.Place{Epoch: now.Epoch, Seq: now.Seq}, true},
		{"nothing of this epoch", testclient.Place{Epoch: now.Epoch}, true},
		{"more than there is", testclient.Place{Epoch: now.Epoch, Seq: now.Seq + 1_000_000}, false},
		{"far more than there is", testclient.Place{Epoch: now.Epoch, Seq: 1<<64 - 1}, false},
		{"another epoch", testclient.Place{Epoch: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Seq: 1}, false},
		{"no epoch", testclient.Place{Seq: 3}, false},
	} {
		c := ts.editor()
		at, err := c.Attach(sid, test.seen)
		if err != nil || at.Complete != test.complete || (at.Snapshot == nil) != test.complete {
			t.Errorf("%s: attached as %+v, error %v", test.name, at, err)
		}
		if !at.Complete && !strings.Contains(string(at.Snapshot), reply.Said()) {
			t.Errorf("%s: the snapshot is %s", test.name, at.Snapshot)
		}
		next, err := e.Prompt(sid, "and on")
		if err != nil {
			t.Fatal(err)
		}
		c.Expect(testclient.Says(sid, testclient.AgentChunk, next.Said()))
		if faults := c.Frames().Faults(sid); len(faults) > 0 {
			t.Errorf("%s: events: %q", test.name, faults)
		}
	}
	for _, after := range []any{1.5, "1", []int{1}} {
		err := e.Call("_strata/session/attach", map[string]any{"sessionId": sid, "epoch": now.Epoch, "after": after}, nil)
		wireFault(t, err, rpc.CodeInvalidParams)
	}
	wireFault(t, e.Call("_strata/session/attach", map[string]any{"sessionId": "sess_00000000000000000000000000"}, nil), wire.CodeNotFound)
}

// A client does not read until the log no longer contains what it missed. It still receives everything once, even if
// the session was closed meanwhile.
func TestSlowReaderGetsEverything(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("closed meanwhile ", closed), func(t *testing.T) {
			ts := startServer(t, func(o *Options) { o.Stall = time.Hour }) // on a busy machine all this takes long
			owner := ts.editor()
			sid := owner.NewSession(ts.work)
			slow := dialRaw(t, ts)
			slow.call(1, "session/resume", map[string]any{"sessionId": sid, "cwd": ts.work})
			picture := map[string]any{"type": "image", "mimeType": "image/png", "data": png(64, 64, 3<<18)}
			const pictures = 14
			for range pictures {
				message := []any{map[string]any{"role": "user", "content": []any{picture}}}
				if err := owner.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": message}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := owner.Call("_strata/history/clear", map[string]any{"sessionId": sid}, nil); err != nil {
				t.Fatal(err)
			}
			script, said := burst(3*events.MaxEvents/2, "w")
			ts.upstream.Push(script)
			mustPrompt(t, owner, sid, "go")
			if closed {
				if err := owner.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
					t.Fatal(err)
				}
			}

			e := testclient.New(t, &websocketStream{slow})
			e.Expect(testclient.SeesTimes(sid, testclient.UserChunk, pictures+1), testclient.Says(sid, testclient.AgentChunk, said[len(said)-20:]))
			if err := e.Call("_strata/server/info", nil, nil); err != nil {
				t.Fatal(err)
			}
			frames := e.Frames().Of(sid)
			if got := frames.Text(testclient.AgentChunk); got != said {
				t.Errorf("shown %d bytes of %d", len(got), len(said))
			}
			if n := len(frames.Kind(testclient.UserChunk)); n != pictures+1 {
				t.Errorf("%d user messages were shown", n)
			}
		})
	}
}

// websocketStream is a raw socket as a stream.
type websocketStream struct{ raw *rawSocket }

func (s *websocketStream) ReadFrame(use func([]byte) error) error {
	_, frame, err := s.raw.conn.Read(context.Background())
	if err != nil {
		return err
	}
	return use(frame)
}

func (s *websocketStream) WriteFrame(frame []byte) error {
	return s.raw.conn.Write(context.Background(), websocket.MessageText, frame)
}

func (s *websocketStream) Close(int, string) error { return s.raw.conn.CloseNow() }

func TestPromptIDIsBounded(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	blocks := []any{map[string]any{"type": "text", "text": "hello"}}
	_, err := e.StartWith(sid, blocks, strings.Repeat("p", wire.MaxPromptID+1)).Wait()
	wireFault(t, err, rpc.CodeInvalidParams)
	if _, err := e.StartWith(sid, blocks, strings.Repeat("p", wire.MaxPromptID)).Wait(); err != nil {
		t.Error(err)
	}
	if n := len(transcript(t, e, sid)); n != 2 {
		t.Errorf("%d messages are stored", n)
	}
}
