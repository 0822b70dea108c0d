package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestServeEndsWhenThePeerLeaves(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		left := make(chan struct{})
		s := serve(t, tr, methods{
			"work": func(_ *Conn, r *Request) {
				r.Go(func(ctx context.Context) (any, error) { <-ctx.Done(); close(left); return nil, nil })
			},
			"echo": basic["echo"],
		}, Options{}, Limits{})
		s.send(call("1", "work", ""), call("2", "echo", ""))
		s.want(result("2", "{}"))
		s.wire.close()
		if err := s.end(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		select {
		case <-left: // Serve waited for the function
		default:
			t.Error("Serve returned before a function of Request.Go")
		}
	})
}

func TestContextClosesWith1001(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		w, stream := tr.link(t, Limits{})
		c := NewConn(stream, basic, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- c.Serve(ctx) }()
		p := newPeer(t, w)
		p.send(call("1", "hang", ""), call("2", "echo", ""))
		p.want(result("2", "{}"))
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		p.wantClose(closeGoingAway)
		w.close()
	})
}

func TestCloseSendsWhatIsQueued(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		var src feedLog
		s := serve(t, tr, methods{
			"bye": func(c *Conn, r *Request) {
				src.add(1, 2)
				r.FailAfter(&Error{Code: CodeInvalidRequest, Message: "initialize first"}, &src, 2)
				src.add(3)
				c.Close(1002, "initialize first")
				c.Close(1000, "only the first counts")
			},
			"echo": basic["echo"],
		}, Options{}, Limits{})
		src.attach(t, s.conn)
		s.send(call("1", "bye", ""))
		s.want(notification(1), notification(2), failure("1", CodeInvalidRequest, ""), notification(3))
		s.wantClose(1002)
		if err := s.end(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		s.conn.Close(1000, "too late")
	})
}

func TestCloseDispatchesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		var handled atomic.Int32
		conn, end := serveStream(t, stream, HandlerFunc(func(*Conn, *Request) { handled.Add(1) }), Options{})
		var src feedLog
		src.add(1)
		src.attach(t, conn)
		synctest.Wait() // the writer is blocked on it
		conn.Close(1000, "")
		if err := w.send([]byte(call("1", "x", ""))); err != nil {
			t.Fatal(err)
		}
		p := newPeer(t, w)
		p.want(notification(1))
		p.wantClose(1000)
		if err := end(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if handled.Load() != 0 {
			t.Error("a request was dispatched after Close")
		}
	})
}

func TestAbortSendsAndDispatchesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		var handled atomic.Int32
		conn, end := serveStream(t, stream, HandlerFunc(func(*Conn, *Request) { handled.Add(1) }), Options{})
		var src feedLog
		src.add(1, 2)
		src.attach(t, conn)
		synctest.Wait() // the writer is blocked on the first notification
		conn.Abort(1008, "access has ended")
		if err := w.send([]byte(call("1", "x", ""))); err != nil {
			t.Fatal(err)
		}
		p := newPeer(t, w)
		p.want(notification(1))
		p.wantClose(1008)
		if err := end(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if handled.Load() != 0 {
			t.Error("a request was dispatched after Abort")
		}
	})
}

// endless is a Source that always has a notification.
type endless struct{ pulls atomic.Int64 }

func (e *endless) Next(context.Context) (Notification, bool, error) {
	e.pulls.Add(1)
	return Notification{Method: "n"}, true, nil
}

func TestCloseGivesUpAfterTheDrainTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, end := serveStream(t, stream, basic, Options{})
		if _, err := conn.Attach(new(endless)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		go func() { // a slow reader
			for {
				if _, err := w.recv(); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		conn.Close(1000, "")
		if err := end(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if took := time.Since(start); took < 30*time.Second || took > 45*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestNothingIsDispatchedWhileClosing: the peer keeps sending and never sends a close frame.
func TestNothingIsDispatchedWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := new(lossy)
		w, stream := linkOver(t, Limits{}, link)
		var handled atomic.Int32
		c := NewConn(stream, HandlerFunc(func(*Conn, *Request) { handled.Add(1) }), Options{})
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- c.Serve(ctx) }()
		link.dead.Store(true)
		synctest.Wait()
		cancel()
		synctest.Wait()
		for range 100 {
			if err := w.send([]byte(`{"jsonrpc":"2.0","method":"x"}`)); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := handled.Load(); n != 0 {
			t.Errorf("%d requests were dispatched", n)
		}
	})
}

func TestStalledPeerIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, stream := linkPipe(t, Limits{})
		conn, end := serveStream(t, stream, basic, Options{})
		src := new(endless)
		if _, err := conn.Attach(src); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := end(); err == nil {
			t.Error("Serve returned no error")
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("took %v", took)
		}
		if n := src.pulls.Load(); n != 1 {
			t.Errorf("%d notifications were pulled for a stalled peer", n)
		}
	})
}

func TestSlowPeerIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		big := bytes.Repeat([]byte("x"), 1<<20)
		conn, _ := serveStream(t, stream, HandlerFunc(func(_ *Conn, r *Request) { r.Reply(string(big)) }), Options{})
		if err := w.send([]byte(call("1", "x", ""))); err != nil {
			t.Fatal(err)
		}
		if got := readSlowly(t, w); got < len(big) {
			t.Errorf("got %d bytes", got)
		}
		select {
		case <-conn.Done():
			t.Error("the connection has ended")
		default:
		}
		w.close()
	})
}

// readSlowly reads a frame at 16 KiB in 5 s, so that 1 MiB takes five minutes, and returns its size.
func readSlowly(t *testing.T, w wire) (size int) {
	t.Helper()
	_, r, err := w.(webSocketWire).conn.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for piece := make([]byte, 16<<10); ; time.Sleep(5 * time.Second) {
		n, err := io.ReadFull(r, piece)
		size += n
		if err != nil {
			return size
		}
	}
}

// queued returns the number of queued responses and their size in bytes.
func queued(c *Conn) (responses, size int) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return len(c.out.queue), c.out.bytes
}

func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, end := serveStream(t, stream, basic, Options{})
		var sent atomic.Int32
		go func() {
			for w.send([]byte(`{}`)) == nil {
				sent.Add(1)
			}
		}()
		synctest.Wait()
		if n, _ := queued(conn); n != maxRefusals || sent.Load() > maxRefusals+1 {
			t.Errorf("%d responses queued after %d frames", n, sent.Load())
		}
		if err := end(); err == nil {
			t.Error("Serve returned no error")
		}
		if n, _ := queued(conn); n > maxRefusals {
			t.Errorf("%d responses queued at the end", n)
		}
	})
}

func TestRepliesAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		big := bytes.Repeat([]byte("x"), 1<<20)
		handler := HandlerFunc(func(_ *Conn, r *Request) { r.Reply(string(big)) })
		conn, _ := serveStream(t, stream, handler, Options{OutboxBytes: 3 << 20})
		go func() {
			for i := range 20 {
				if err := w.send([]byte(call(fmt.Sprint(i), "x", ""))); err != nil {
					t.Error(err)
				}
			}
		}()
		synctest.Wait()
		if _, size := queued(conn); size > 4<<20+100 {
			t.Errorf("%d bytes queued", size)
		}
		p := newPeer(t, w)
		for i := range 20 { // all arrive in the end
			if got := p.recv(); len(got) < len(big) {
				t.Fatalf("response %d: %.100s", i, got)
			}
		}
		w.close()
	})
}

// TestReaderThatWaitsForRoomIsNotGone: a paused reader sees no pongs.
func TestReaderThatWaitsForRoomIsNotGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		big := string(bytes.Repeat([]byte("x"), 1<<20))
		handler := HandlerFunc(func(_ *Conn, r *Request) { r.Reply(big) })
		conn, _ := serveStream(t, stream, handler, Options{OutboxBytes: 1})
		for i := range 2 { // the second response waits for the first
			if err := w.send([]byte(call(fmt.Sprint(i), "x", ""))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for i := range 2 {
			if got := readSlowly(t, w); got < len(big) {
				t.Errorf("response %d has %d bytes", i, got)
			}
		}
		select {
		case <-conn.Done():
			t.Error("the connection has ended")
		default:
		}
		w.close()
	})
}

func TestConnHasAName(t *testing.T) {
	a, b := NewConn(nil, basic, Options{}), NewConn(nil, basic, Options{})
	if a.ID() == "" || a.ID() == b.ID() {
		t.Errorf("names %q and %q", a.ID(), b.ID())
	}
	if c := NewConn(nil, basic, Options{ID: "x"}); c.ID() != "x" {
		t.Errorf("name %q", c.ID())
	}
}

var errTest = errors.New("test")

func TestEndings(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want ending
	}{
		{&CloseError{1000, "x"}, ending{}},
		{&CloseError{1001, ""}, ending{}},
		{&CloseError{1005, ""}, ending{}},
		{&CloseError{1009, "big"}, ending{1009, "big", &CloseError{1009, "big"}}},
		{errTest, ending{0, "", errTest}},
	} {
		got := endingOf(tc.err)
		if got.code != tc.want.code || got.reason != tc.want.reason || (got.err == nil) != (tc.want.err == nil) {
			t.Errorf("endingOf(%v) = %+v", tc.err, got)
		}
	}
}
