package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asking returns the frame of a request of the server.
func asking(n int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{},"id":"strata-%d"}`, method, n)
}

func cancelling(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"strata-%d"}}`, n)
}

// asked is the outcome of a call.
type asked struct {
	result json.RawMessage
	err    error
}

// ask calls a method of the peer in a goroutine.
func ask(ctx context.Context, c *Conn, method string, after Position) <-chan asked {
	out := make(chan asked, 1)
	go func() {
		result, err := c.Call(ctx, method, struct{}{}, after)
		out <- asked{result, err}
	}()
	return out
}

func TestCallGetsItsResult(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		first := ask(t.Context(), s.conn, "ask", Position{})
		s.want(asking(1, "ask"))
		second := ask(t.Context(), s.conn, "ask", Position{})
		s.want(asking(2, "ask"))
		s.send(result(`"strata-2"`, `{"n":2,"lone":"\ud800"}`), result(`"strata\u002d1"`, "null"))
		if got := <-second; got.err != nil || string(got.result) != `{"n":2,"lone":"\ufffd"}` {
			t.Errorf("second: %s, %v", got.result, got.err)
		}
		if got := <-first; got.err != nil || string(got.result) != "null" {
			t.Errorf("first: %s, %v", got.result, got.err)
		}
	})
}

// Requests that are begun in turn are sent in turn, whoever waits for their results and when.
func TestCallsAreBegunInOrder(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{Calls: 3}, Limits{})
		var pending []*Pending
		for _, method := range []string{"kill", "release", "kill"} {
			p, err := s.conn.Begin(method, struct{}{}, Position{})
			if err != nil {
				t.Fatal(err)
			}
			pending = append(pending, p)
		}
		s.want(asking(1, "kill"), asking(2, "release"), asking(3, "kill"))
		if _, err := s.conn.Begin("more", struct{}{}, Position{}); !errors.Is(err, ErrCallsFull) {
			t.Errorf("a fourth request: %v", err)
		}
		s.send(result(`"strata-2"`, "2"), result(`"strata-1"`, "1"))
		for i, p := range pending[:2] {
			if got, err := p.Await(t.Context()); err != nil || string(got) != fmt.Sprint(i+1) {
				t.Errorf("request %d: %s, %v", i+1, got, err)
			}
		}
		late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		defer cancel()
		if _, err := pending[2].Await(late); !errors.Is(err, ErrCallLate) {
			t.Errorf("without a result: %v", err)
		}
		s.want(cancelling(3))
	})
}

// The ids of both ends are separate: a request of the peer may have the id of one of the server's.
func TestCallIDsAreSeparate(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		out := ask(t.Context(), s.conn, "ask", Position{})
		s.want(asking(1, "ask"))
		s.send(call(`"strata-1"`, "echo", `{"mine":1}`))
		s.want(result(`"strata-1"`, `{"mine":1}`))
		s.send(call(`"strata-1"`, "hang", ""), `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"strata-1"}}`)
		s.want(failure(`"strata-1"`, CodeCancelled, ""))
		s.send(result(`"strata-1"`, "7"))
		if got := <-out; got.err != nil || string(got.result) != "7" {
			t.Errorf("got %s, %v", got.result, got.err)
		}
	})
}

func TestCallErrors(t *testing.T) {
	for name, c := range map[string]struct {
		frame string // the response to strata-1
		want  error
	}{
		"refused":              {failure(`"strata-1"`, -32601, ""), &PeerError{Code: -32601}},
		"with a result null":   {`{"id":"strata-1","result":null,"error":{"code":7,"message":"m"}}`, &PeerError{7, "m"}},
		"long message":         {`{"id":"strata-1","error":{"code":7,"message":"` + strings.Repeat("x", 10_000) + `"}}`, &PeerError{7, strings.Repeat("x", 4096)}},
		"both":                 {`{"jsonrpc":"2.0","id":"strata-1","result":1,"error":{"code":7,"message":"m"}}`, ErrBadResponse},
		"neither":              {`{"jsonrpc":"2.0","id":"strata-1"}`, ErrBadResponse},
		"error null only":      {`{"jsonrpc":"2.0","id":"strata-1","error":null}`, ErrBadResponse},
		"error without a code": {`{"jsonrpc":"2.0","id":"strata-1","error":{"message":"m"}}`, ErrBadResponse},
		"error is a text":      {`{"jsonrpc":"2.0","id":"strata-1","error":"no"}`, ErrBadResponse},
		"fractional code":      {`{"jsonrpc":"2.0","id":"strata-1","error":{"code":1.5,"message":"m"}}`, ErrBadResponse},
		"two results":          {`{"jsonrpc":"2.0","id":"strata-1","result":1,"result":2}`, ErrBadResponse},
		"too deep":             {result(`"strata-1"`, strings.Repeat("[", 300)+strings.Repeat("]", 300)), ErrBadResponse},
		"deep and not JSON":    {result(`"strata-1"`, strings.Repeat("[", 300)+"x"+strings.Repeat("]", 300)), ErrBadResponse},
	} {
		t.Run(name, func(t *testing.T) {
			overAll(t, func(t *testing.T, tr transport) {
				s := serve(t, tr, basic, Options{}, Limits{})
				out := ask(t.Context(), s.conn, "ask", Position{})
				s.want(asking(1, "ask"))
				s.send(c.frame)
				got := <-out
				want, isPeer := errors.AsType[*PeerError](c.want)
				if e, ok := errors.AsType[*PeerError](got.err); ok != isPeer || ok && *e != *want || !isPeer && !errors.Is(got.err, c.want) {
					t.Errorf("got %v", got.err)
				}
				if _, ok := errors.AsType[*Error](got.err); ok {
					t.Error("a handler would send the error to its own peer")
				}
				s.send(call("1", "echo", ""))
				s.want(result("1", "{}"))
			})
		})
	}
}

// The call goes on after responses to other requests, also of ids that look like its own.
func TestResponsesWithoutARequestAreDropped(t *testing.T) {
	strays := []string{
		result("1", "0"), result(`"1"`, "0"), result("null", "0"), result("[]", "0"), result(`"strata-2"`, "0"), result(`"strata-01"`, "0"),
		result(`"Strata-1"`, "0"), result("-0", "0"), `{"jsonrpc":"2.0","result":0}`, `{"jsonrpc":"2.0","error":{"code":1,"message":""}}`,
		`{"jsonrpc":"2.0","id":"strata-2","id":"strata-1","result":0}`, failure("null", CodeInvalidRequest, ""),
	}
	overAll(t, func(t *testing.T, tr transport) {
		var count atomic.Int64
		s := serve(t, tr, basic, Options{OnStray: func() { count.Add(1) }}, Limits{})
		out := ask(t.Context(), s.conn, "ask", Position{})
		s.want(asking(1, "ask"))
		s.send(strays...)
		s.send(result(`"strata-1"`, "7"), result(`"strata-1"`, "8"), failure(`"strata-1"`, 8, ""))
		if got := <-out; got.err != nil || string(got.result) != "7" {
			t.Errorf("got %s, %v", got.result, got.err)
		}
		s.send(call("1", "echo", ""))
		s.want(result("1", "{}"))
		if n, want := count.Load(), int64(len(strays)+2); n != want {
			t.Errorf("%d responses were dropped, want %d", n, want)
		}
	})
}

// A request of the server follows the notification that it names, and precedes those after it.
func TestCallIsWrittenAtItsPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, _ := serveStream(t, stream, basic, Options{})
		var src feedLog
		src.add(1, 2, 3, 4)
		src.attach(t, conn)
		synctest.Wait() // the writer has pulled the first and is blocked, as the peer does not read
		third, first := ask(t.Context(), conn, "third", Position{&src, 3}), (<-chan asked)(nil)
		synctest.Wait()
		first = ask(t.Context(), conn, "first", Position{&src, 1})
		synctest.Wait()
		p := newPeer(t, w)
		p.want(notification(1), asking(2, "first"), notification(2), notification(3), asking(1, "third"), notification(4))
		p.send(result(`"strata-1"`, "1"), result(`"strata-2"`, "2"))
		if got := <-third; got.err != nil {
			t.Error(got.err)
		}
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
		for _, after := range []Position{{&src, 1000}, {new(feedLog), 5}, {nil, 5}} { // never reached; not attached; no source
			last := ask(t.Context(), conn, "last", after)
			f := p.recv()
			var request struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(f), &request); err != nil {
				t.Fatal(err)
			}
			p.send(result(string(request.ID), "1"))
			<-last
		}
		w.close()
	})
}

func TestCallsInFlightAreBounded(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		var outs []<-chan asked
		for range 64 {
			outs = append(outs, ask(t.Context(), s.conn, "ask", Position{}))
			s.recv()
		}
		if got := <-ask(t.Context(), s.conn, "ask", Position{}); !errors.Is(got.err, ErrCallsFull) {
			t.Errorf("above the limit: %v", got.err)
		}
		s.send(result(`"strata-1"`, "1"))
		<-outs[0]
		again := ask(t.Context(), s.conn, "again", Position{})
		s.want(asking(65, "again"))
		s.send(result(`"strata-65"`, "1"))
		if got := <-again; got.err != nil {
			t.Error(got.err)
		}
	})
}

func TestCallHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, _ := serveStream(t, stream, basic, Options{CallTimeout: time.Minute})
		p := newPeer(t, w)
		began := time.Now()
		if got := <-ask(t.Context(), conn, "ask", Position{}); !errors.Is(got.err, ErrCallLate) || time.Since(began) != time.Minute {
			t.Errorf("without a deadline: %v after %v", got.err, time.Since(began))
		}
		p.want(asking(1, "ask"), cancelling(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began = time.Now()
		if got := <-ask(ctx, conn, "ask", Position{}); !errors.Is(got.err, ErrCallLate) || time.Since(began) != time.Hour {
			t.Errorf("with a deadline: %v after %v", got.err, time.Since(began))
		}
		p.want(asking(2, "ask"), cancelling(2))
		p.send(result(`"strata-1"`, "1"), result(`"strata-2"`, "1"), call("1", "echo", "")) // late
		p.want(result("1", "{}"))
		if got := <-ask(ctx, conn, "ask", Position{}); !errors.Is(got.err, ErrCallLate) {
			t.Errorf("after the deadline: %v", got.err)
		}
		p.send(call("2", "echo", ""))
		p.want(result("2", "{}")) // nothing was sent before it
		w.close()
	})
}

// A waiter that gives up cancels a request that was written, and withdraws one that was not.
func TestCallIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, _ := serveStream(t, stream, basic, Options{})
		cause := errors.New("the user cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		written := ask(ctx, conn, "written", Position{})
		synctest.Wait() // the writer is blocked, as the peer does not read
		queued := ask(ctx, conn, "queued", Position{})
		synctest.Wait()
		cancel(cause)
		for _, out := range []<-chan asked{written, queued} {
			if got := <-out; !errors.Is(got.err, cause) {
				t.Errorf("got %v", got.err)
			}
		}
		p := newPeer(t, w)
		p.want(asking(1, "written"), cancelling(1))
		p.send(failure(`"strata-1"`, CodeCancelled, ""), call("1", "echo", ""))
		p.want(result("1", "{}"))
		w.close()
	})
}

func TestCallEndsWithTheConnection(t *testing.T) {
	ends := map[string]func(s *served){
		"peer leaves": func(s *served) { s.wire.close() },
		"closed":      func(s *served) { s.conn.Close(closeGoingAway, "") },
		"aborted":     func(s *served) { s.conn.Abort(closeGoingAway, "") },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			overAll(t, func(t *testing.T, tr transport) {
				// The task waits for a response, and the connection for its tasks.
				inTask := make(chan error, 1)
				s := serve(t, tr, methods{"task": func(c *Conn, r *Request) {
					r.Go(func(context.Context) (any, error) {
						_, err := c.Call(context.Background(), "ask", struct{}{}, Position{})
						inTask <- err
						return nil, err
					})
				}}, Options{}, Limits{})
				s.send(call("1", "task", ""))
				s.want(asking(1, "ask"))
				out := ask(t.Context(), s.conn, "ask", Position{})
				s.want(asking(2, "ask"))
				end(s)
				if got := <-out; !errors.Is(got.err, ErrCallEnded) {
					t.Errorf("got %v", got.err)
				}
				if err := <-inTask; !errors.Is(err, ErrCallEnded) {
					t.Errorf("in a task: %v", err)
				}
				<-s.conn.Done()
				if got := <-ask(t.Context(), s.conn, "ask", Position{}); !errors.Is(got.err, ErrCallEnded) {
					t.Errorf("after the end: %v", got.err)
				}
			})
		})
	}
}

func TestCallsFromManyGoroutines(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		const rounds = 5
		go func() { // responds when all requests of a round are in flight, in the reverse order
			for range rounds {
				var responses []string
				for range 64 {
					var f struct{ ID, Method string }
					if json.Unmarshal([]byte(s.recv()), &f) != nil {
						return
					}
					responses = append(responses, result(fmt.Sprintf("%q", f.ID), fmt.Sprintf("%q", f.Method)))
				}
				for _, response := range slices.Backward(responses) {
					if s.wire.send([]byte(response)) != nil {
						return
					}
				}
			}
		}()
		var waiting sync.WaitGroup
		for i := range 64 {
			waiting.Go(func() {
				method := fmt.Sprintf("m%d", i)
				for range rounds {
					got := <-ask(t.Context(), s.conn, method, Position{})
					if want := fmt.Sprintf("%q", method); got.err != nil || string(got.result) != want {
						t.Errorf("got %s, %v, want %s", got.result, got.err, want)
					}
				}
			})
		}
		waiting.Wait()
	})
}

// A response above the frame limit ends the connection at its limit.
func TestHugeResponseEndsTheConnection(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{FrameBytes: 1 << 20})
		out := ask(t.Context(), s.conn, "ask", Position{})
		s.want(asking(1, "ask"))
		go s.wire.send([]byte(result(`"strata-1"`, `"`+strings.Repeat("x", 16<<20)+`"`))) // fails
		if got := <-out; !errors.Is(got.err, ErrCallEnded) {
			t.Errorf("got %v", got.err)
		}
		if err := s.end(); err == nil {
			t.Error("the connection did not end with an error")
		}
	})
}

// A peer that does not read costs at most the calls in flight, also if it responds to requests that it has not received.
func TestCallsOfAPeerThatNeverReadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{WriteTimeout: time.Hour})
		conn, end := serveStream(t, stream, basic, Options{CallTimeout: time.Second, PingInterval: 10 * time.Hour})
		most, full := 0, 0
		for n := range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			out := ask(ctx, conn, "ask", Position{})
			synctest.Wait()
			most = max(most, conn.Queued())
			if n > 0 {
				if err := w.send([]byte(result(fmt.Sprintf(`"strata-%d"`, n+1), "1"))); err != nil {
					t.Fatal(err)
				}
			}
			if n%2 == 0 {
				cancel()
			}
			switch got := <-out; {
			case errors.Is(got.err, ErrCallsFull):
				full++
			case got.err == nil:
				t.Fatalf("call %d has a result", n)
			}
			cancel()
		}
		if most > 64 || full > 0 {
			t.Errorf("%d frames were queued, %d calls were refused", most, full)
		}
		var outs []<-chan asked
		for range 100 {
			outs = append(outs, ask(t.Context(), conn, "ask", Position{}))
		}
		for _, out := range outs {
			if got := <-out; errors.Is(got.err, ErrCallsFull) {
				full++
			}
		}
		if most = conn.Queued(); most > 64 || full != 100-63 {
			t.Errorf("%d frames are queued, %d calls were refused", most, full)
		}
		conn.Abort(closeNow, "")
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// The size of queued requests is bounded, too.
func TestCallsAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{WriteTimeout: time.Hour})
		conn, _ := serveStream(t, stream, basic, Options{OutboxBytes: 1 << 20, PingInterval: 10 * time.Hour})
		var full int
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 10 {
			waiting.Go(func() {
				if _, err := conn.Call(ctx, "write", strings.Repeat("x", 1<<20), Position{}); errors.Is(err, ErrCallsFull) {
					full++
				}
			})
			synctest.Wait()
		}
		if _, size := queued(conn); size > 3<<20 || full != 10-2 {
			t.Errorf("%d bytes are queued, %d calls were refused", size, full)
		}
		cancel()
		waiting.Wait()
		if _, size := queued(conn); size > 100 {
			t.Errorf("%d bytes are queued at the end", size)
		}
		w.close()
	})
}
