package rpc

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestK7_03HeartbeatFindsADeadPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := new(lossy)
		w, stream := linkOver(t, Limits{}, link)
		_, end := serveStream(t, stream, basic, Options{})
		p := newPeer(t, w)
		p.send(call("1", "echo", ""))
		p.want(result("1", "{}"))
		time.Sleep(10 * time.Minute)
		link.dead.Store(true)
		start := time.Now()
		if err := end(); !errors.Is(err, errGone) {
			t.Errorf("Serve: %v", err)
		}
		if took := time.Since(start); took > 60*time.Second { // at most 20 s to the first ping, 2 intervals without a pong
			t.Errorf("took %v", took)
		}
	})
}

func TestK7_03HealthyPeerLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, _ := serveStream(t, stream, basic, Options{})
		p := newPeer(t, w)
		time.Sleep(8 * time.Hour)
		p.send(call("1", "echo", ""))
		p.want(result("1", "{}"))
		conn.Close(1000, "")
		p.wantClose(1000)
	})
}

// TestK7_03ClockJump: after a clock jump the next tick is late or early and no byte was received since the last one.
// Nothing else happens, as the heartbeat compares no times.
func TestK7_03ClockJump(t *testing.T) {
	h := heartbeat{allowed: 2}
	for i, step := range []struct {
		signs uint64
		want  bool
	}{{5, true}, {6, true}, {6, true}, {7, true}, {7, true}, {8, true}, {8, true}, {8, false}} {
		if got := h.alive(step.signs); got != step.want {
			t.Fatalf("step %d: alive is %v", i, got)
		}
		h.pinged = true
	}
}

// TestUnsentPingIsNotMissed: a ping waits for a frame that a slow peer is still reading.
func TestUnsentPingIsNotMissed(t *testing.T) {
	h := heartbeat{allowed: 1}
	for range 10 {
		if !h.alive(1) {
			t.Fatal("gone without a ping")
		}
	}
}

// TestSlowUploadIsASignOfLife: a frame takes minutes to arrive, and no pong can be sent in between.
func TestSlowUploadIsASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := &lossy{upload: 10 * time.Second}
		w, stream := linkOver(t, Limits{}, link)
		link.dead.Store(true)
		serveStream(t, stream, HandlerFunc(func(_ *Conn, r *Request) {
			link.dead.Store(false)
			r.Reply(1)
		}), Options{})
		start := time.Now()
		if err := w.send([]byte(call("1", "x", `{"a":"`+strings.Repeat("x", 100<<10)+`"}`))); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 3*time.Minute {
			t.Fatalf("the upload took only %v", took)
		}
		if got, err := w.recv(); string(got) != result("1", "1") {
			t.Errorf("got %s, %v", got, err)
		}
		w.close()
	})
}
