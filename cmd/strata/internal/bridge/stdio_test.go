package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/cmd/strata/internal/connect"
	"strata/rpc"
)

func of(id, method string) *request {
	return &request{Envelope: rpc.Envelope{ID: json.RawMessage(id), Method: method}}
}

func TestDrainWaitsUntilNoResponseIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bridge
		b.requests.add(of("1", "a"))
		b.requests.add(of("2", "a"))
		start := time.Now()
		go func() {
			for range 2 {
				time.Sleep(time.Second)
				b.mu.Lock()
				b.requests.answered(b.requests.list[0])
				b.mu.Unlock()
			}
		}()
		b.drain(t.Context(), time.Hour)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("waited %v", took)
		}
		b.drain(t.Context(), time.Hour)
	})
}

func TestDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bridge
		b.requests.add(of("1", "a"))
		start := time.Now()
		b.drain(t.Context(), drainTime)
		if took := time.Since(start); took != drainTime {
			t.Errorf("waited %v", took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		b.drain(ended, time.Hour)
		if took := time.Since(start); took != drainTime {
			t.Errorf("waited %v after the end of the context", took)
		}
	})
}

func TestDrainEndsWhenTheServerAsksTheEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bridge
		b.requests.add(of("1", "session/prompt"))
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			b.mu.Lock()
			b.asked.add(nil, json.RawMessage("1"))
			b.mu.Unlock()
		}()
		b.drain(t.Context(), time.Hour)
		if took := time.Since(start); took != time.Second {
			t.Errorf("waited %v", took)
		}
		b.drain(t.Context(), time.Hour)
		if took := time.Since(start); took != time.Second {
			t.Errorf("waited %v with an open question", took)
		}
	})
}

func TestF36PausesGrowToABound(t *testing.T) {
	last := time.Duration(0)
	for attempt := 1; attempt < 100; attempt++ {
		p := pause(attempt)
		if p < last || p > longestPause || attempt > 10 && p != longestPause {
			t.Fatalf("pause %d is %v after %v", attempt, p, last)
		}
		last = p
	}
}

// dials counts the attempts to connect, all of which fail.
type dials struct{ starting, looking atomic.Int64 }

func (d *dials) fail(_ context.Context, start bool) (*connect.Stream, error) {
	if start {
		d.starting.Add(1)
	} else {
		d.looking.Add(1)
	}
	return nil, errors.New("the disk is full")
}

func TestF36TheWaitForAServerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d dials
		b := bridge{dial: d.fail, wanted: make(chan struct{}, 1)}
		b.requests.add(of("1", methodPrompt))
		start := time.Now()
		_, _, err := b.reconnect(t.Context(), 7, 0, true)
		const want = "no connection to a server for 2m0s: the disk is full"
		if took := time.Since(start); err == nil || err.Error() != want || took < giveUpTime || took > giveUpTime+longestPause {
			t.Errorf("after %v: %v", took, err)
		}
		if starting, looking := d.starting.Load(), d.looking.Load(); looking > 0 || starting < 25 || starting > 40 {
			t.Errorf("%d attempts to start a server, %d to find one", starting, looking)
		}
	})
}

// An editor that waits for nothing is not left by its agent. A stopped server is not replaced, but another one is used.
func TestF36AnIdleEditorKeepsItsAgent(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var d dials
			b := bridge{dial: d.fail, wanted: make(chan struct{}, 1), changed: make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, _, err := b.reconnect(ctx, 7, 0, stopped)
				done <- err
			}()
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if starting, looking := d.starting.Load(), d.looking.Load(); (starting > 0) == stopped || starting > 40 || looking < 10_000 {
				t.Errorf("stopped %t: in a day, %d attempts to start a server, %d to find one", stopped, starting, looking)
			}
			select {
			case err := <-done:
				t.Fatalf("stopped %t: ended with %v", stopped, err)
			default:
			}
			before, asked := d.starting.Load(), time.Now()
			go b.send(ctx, message{})
			synctest.Wait()
			if n := d.starting.Load() - before; n != 1 {
				t.Errorf("stopped %t: %d attempts to start a server at once", stopped, n)
			}
			if err := <-done; err == nil || time.Since(asked) < giveUpTime {
				t.Errorf("stopped %t: after %v: %v", stopped, time.Since(asked), err)
			}
			cancel()
			synctest.Wait()
		})
	}
}

func TestF36PromptsAreIdentified(t *testing.T) {
	parse := func(params string) rpc.Envelope {
		return rpc.Envelope{ID: json.RawMessage("7"), Method: methodPrompt, Params: json.RawMessage(params)}
	}
	frame, session, ok := identify(parse(`{"sessionId":"s","prompt":[{"type":"text","text":"<\u00e9>"}],"n":9007199254740993,"_meta":{"x":"<1>"}}`))
	if !ok || session != "s" {
		t.Fatalf("got %s, %t", session, ok)
	}
	e, fault := rpc.ParseClientFrame(frame)
	var params struct {
		Prompt json.RawMessage `json:"prompt"`
		N      json.RawMessage `json:"n"`
		Meta   struct {
			X      string            `json:"x"`
			Strata map[string]string `json:"strata"`
		} `json:"_meta"`
	}
	if fault != nil || json.Unmarshal(e.Params, &params) != nil {
		t.Fatalf("got %s, %v", frame, fault)
	}
	if string(params.Prompt) != `[{"type":"text","text":"<\u00e9>"}]` || string(params.N) != "9007199254740993" || params.Meta.X != "<1>" {
		t.Errorf("other members have changed: %s", frame)
	}
	if id := params.Meta.Strata["promptId"]; !strings.HasPrefix(id, "stdio-") || len(id) > 200 {
		t.Errorf("the id is %q", id)
	}
	own := `{"_meta":{"strata":{"promptId":"mine","y":1}},"prompt":[],"sessionId":"s"}`
	if frame, _, ok := identify(parse(own)); !ok || !strings.Contains(string(frame), own) {
		t.Errorf("the editor's own id: %s, %t", frame, ok)
	}
	for _, broken := range []string{``, `null`, `[]`, `{}`, `{"sessionId":7}`, `{"sessionId":"s","_meta":1}`, `{"sessionId":"s","_meta":{"strata":[]}}`, `{"sessionId":"s","_meta":{"strata":{"promptId":1}}}`} {
		if _, _, ok := identify(parse(broken)); ok {
			t.Errorf("%s got an id", broken)
		}
	}
}

func TestF36RequestsThatMustNotBeRepeatedFail(t *testing.T) {
	var q requests
	q.add(of("1", "session/new"))
	repeats := of("2", "session/list")
	repeats.frame = []byte("frame")
	q.add(repeats)
	q.add(of("2", "session/new")) // the server refuses it
	huge := of("3", methodPrompt)
	huge.frame = make([]byte, maxKept)
	q.add(huge) // too much to keep
	if failed := q.lost(); len(failed) != 2 || string(failed[0].ID) != "1" || string(failed[1].ID) != "3" {
		t.Fatalf("failed: %v", failed)
	}
	for range maxLosses - 2 {
		if failed := q.lost(); len(failed) != 0 {
			t.Fatalf("failed: %v", failed)
		}
		if frames := q.frames(); len(frames) != 1 || string(frames[0]) != "frame" {
			t.Fatalf("repeated: %q", frames)
		}
	}
	if failed := q.lost(); len(failed) != 1 || q.kept != 0 || len(q.list) != 0 {
		t.Errorf("after %d connections: %v", maxLosses, failed)
	}
}

func TestF36ResponsesToAnEarlierServerAreDropped(t *testing.T) {
	var a asked
	one, two := new(connect.Stream), new(connect.Stream)
	first := a.add(one, json.RawMessage("1"))
	if lost := a.lost(); len(lost) != 1 || lost[0] != string(first) {
		t.Errorf("lost: %v", lost)
	}
	second, third := a.add(two, json.RawMessage("1")), a.add(two, json.RawMessage("3"))
	if _, known := a.answered(first); known {
		t.Error("a response to the first server reaches the second")
	}
	if _, known := a.cancelled(one, json.RawMessage("1")); known {
		t.Error("the first server cancels a request of the second")
	}
	if q, known := a.answered(second); !known || string(q.id) != "1" || q.server != two {
		t.Errorf("got %s, %t", q.id, known)
	}
	if _, known := a.answered(second); known {
		t.Error("a second response passes")
	}
	if _, known := a.cancelled(two, json.RawMessage("1")); known {
		t.Error("a request with a response is cancelled")
	}
	if own, known := a.cancelled(two, json.RawMessage("3")); !known || string(own) != string(third) {
		t.Errorf("cancelled %s, %t", own, known)
	}
	if _, known := a.answered(third); known || len(a.open) != 0 {
		t.Error("a response to a request that was cancelled passes")
	}
}

func TestF36OpenSessionsAreKnown(t *testing.T) {
	var s sessions
	change := func(method, params, result string) {
		s.changed(method, json.RawMessage(params), json.RawMessage(result))
	}
	change("session/new", `{"cwd":"/a","mcpServers":[]}`, `{"sessionId":"new"}`)
	change("session/load", `{"sessionId":"loaded","cwd":"/b","additionalDirectories":["/c"]}`, `{}`)
	change("_strata/session/fork", `{"sessionId":"new"}`, `{"sessionId":"fork"}`)
	change("_strata/session/attach", `{"sessionId":"fork"}`, `{}`)
	change("session/resume", `{"sessionId":"closed","cwd":"/b"}`, `{}`)
	change("session/close", `{"sessionId":"closed"}`, `{}`)
	change("_strata/session/attach", `{"sessionId":"detached"}`, `{}`)
	change("_strata/session/detach", `{"sessionId":"detached"}`, `{}`)
	change("_strata/session/detach", `{"sessionId":"fork","unsubscribe":true}`, `{}`)
	var got []string
	for _, o := range s.all() {
		line := o.id
		if o.folders != nil {
			line += " " + string(o.folders.CWD) + string(o.folders.Further)
		}
		if o.attached {
			line += " attached"
		}
		got = append(got, line)
	}
	if want := `new "/a"; loaded "/b"["/c"]; detached`; strings.Join(got, "; ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "; "), want)
	}

	note := func(method, params string) bool {
		return s.received(rpc.Envelope{Method: method, Params: json.RawMessage(params)})
	}
	if !note(methodUpdate, `{"sessionId":"new","_meta":{"strata":{"epoch":"e","seq":7}}}`) ||
		note(methodEvent, `{"sessionId":"new","epoch":"e","seq":8}`) || !note(methodEvent, `{"sessionId":"unknown"}`) ||
		!note(methodUpdate, `{"sessionId":"new","_meta":{"strata":{"replay":true}}}`) || !note(methodUpdate, `7`) {
		t.Error("a notification reaches the editor or does not")
	}
	if o := s.find("new"); o.epoch != "e" || o.seq != 8 {
		t.Errorf("the position is %s %d", o.epoch, o.seq)
	}
	for range 2 * maxSessions {
		s.use("x" + strings.Repeat("x", len(s.list)) + s.list[0].id)
	}
	if len(s.list) > maxSessions {
		t.Errorf("%d sessions are held", len(s.list))
	}
}
