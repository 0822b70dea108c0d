package rpc

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// promptLog is a prompt Source until it is empty; then Next blocks until more or its context ends.
type promptLog struct {
	feedLog
	more chan struct{}
}

func (s *promptLog) Prompt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0
}

func (s *promptLog) Next(ctx context.Context) (Notification, bool, error) {
	if !s.Prompt() {
		select {
		case <-s.more:
		case <-ctx.Done():
		}
	}
	return s.feedLog.Next(ctx)
}

// countedConn counts the writes to a connection.
type countedConn struct {
	net.Conn
	writes atomic.Int64
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func numbers(from, to int) (seqs []uint64, frames []string) {
	for seq := from; seq <= to; seq++ {
		seqs, frames = append(seqs, uint64(seq)), append(frames, notification(seq))
	}
	return seqs, frames
}

// Notifications that are at hand are written together, and none of them waits for a source that has to wait.
func TestPromptNotificationsAreWrittenTogether(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		w, stream := tr.link(t, Limits{})
		counted := &countedConn{}
		ws, isWebSocket := stream.(*WebSocketStream)
		if isWebSocket {
			counted.Conn = ws.metered.Conn
			ws.metered.Conn = counted
		}
		src := &promptLog{more: make(chan struct{})}
		c, _ := serveStream(t, stream, methods{
			"last": func(_ *Conn, r *Request) { r.ReplyAfter("end", src, 200) },
		}, Options{})
		p := newPeer(t, w)

		seqs, frames := numbers(1, 100)
		src.add(seqs...)
		wake, err := c.Attach(src)
		if err != nil {
			t.Fatal(err)
		}
		src.wake = wake
		p.want(frames...) // Next blocks now
		if n := counted.writes.Load(); isWebSocket && n != 1 {
			t.Errorf("%d writes for %d notifications", n, len(frames))
		}

		p.send(call("1", "last", ""))
		seqs, frames = numbers(101, 200)
		src.add(seqs...)
		close(src.more)
		p.want(append(frames, result("1", `"end"`))...)
	})
}

// Held frames are bounded, and a response is written after them, with them.
func TestHeldFramesAreBounded(t *testing.T) {
	w, stream := linkSocket(t, Limits{})
	ws := stream.(*WebSocketStream)
	counted := &countedConn{Conn: ws.metered.Conn}
	ws.metered.Conn = counted
	p := newPeer(t, w)
	const frames = 100
	text := func(n int) string { return fmt.Sprintf("%q", strings.Repeat(fmt.Sprint(n%10), 2000)) }
	for n := range frames {
		if err := ws.HoldFrame([]byte(text(n))); err != nil {
			t.Fatal(err)
		}
		if n := len(ws.metered.held); n > heldBytes {
			t.Fatalf("%d bytes are held", n)
		}
	}
	if err := ws.WriteFrame([]byte(`"response"`)); err != nil {
		t.Fatal(err)
	}
	for n := range frames {
		p.want(text(n))
	}
	p.want(`"response"`)
	if n := counted.writes.Load(); n > frames/10 {
		t.Errorf("%d writes", n)
	}
	if err := ws.Flush(); err != nil || len(ws.metered.held) > 0 {
		t.Error(len(ws.metered.held), err)
	}
	if err := ws.HoldFrame([]byte(`"before the close frame"`)); err != nil {
		t.Fatal(err)
	}
	go ws.Close(closeGoingAway, "bye")
	p.want(`"before the close frame"`)
	p.wantClose(closeGoingAway)
	if err := ws.HoldFrame([]byte(`"too late"`)); err == nil {
		t.Error("a frame was held after the close frame")
	}
}
