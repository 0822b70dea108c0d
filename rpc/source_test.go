package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// feedLog is a Source that sends the notifications appended to it.
type feedLog struct {
	mu    sync.Mutex
	queue []Notification
	err   error // returned when queue is empty
	wake  func()
}

func (s *feedLog) Next(context.Context) (Notification, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Notification{}, false, s.err
	}
	n := s.queue[0]
	s.queue = s.queue[1:]
	return n, true, nil
}

// add appends notifications with these sequence numbers.
func (s *feedLog) add(seqs ...uint64) {
	s.mu.Lock()
	for _, seq := range seqs {
		s.queue = append(s.queue, Notification{"n", json.RawMessage(fmt.Sprintf(`{"seq":%d}`, seq)), seq})
	}
	s.mu.Unlock()
	if s.wake != nil {
		s.wake()
	}
}

func (s *feedLog) attach(t *testing.T, c *Conn) {
	t.Helper()
	wake, err := c.Attach(s)
	if err != nil {
		t.Fatal(err)
	}
	s.wake = wake
}

func notification(seq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"n","params":{"seq":%d}}`, seq)
}

func TestSourceIsPulledWhenItWakes(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		var src feedLog
		src.add(1)
		src.attach(t, s.conn)
		s.want(notification(1))
		for i := 2; i < 100; i++ {
			src.add(uint64(i))
			s.want(notification(i))
		}
	})
}

// A notification that comes from no source keeps its place before or after a response that waits for the same position.
func TestNotifyKeepsTheOrderOfTheQueue(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		var src feedLog
		aside := func(n int) Notification {
			return Notification{Method: "aside", Params: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
		}
		s := serve(t, tr, methods{
			"turn": func(c *Conn, r *Request) {
				end := Position{&src, 1000}
				src.add(1, 2)
				c.Notify(aside(1), end)
				r.ReplyAfter("end", &src, 1000)
				c.Notify(aside(2), end)
			},
			"gone": func(c *Conn, r *Request) {
				r.Reply("gone")
				c.Notify(aside(3), Position{new(feedLog), 5})
				c.Notify(aside(4), Position{})
			},
		}, Options{}, Limits{})
		src.attach(t, s.conn)
		frame := func(n int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":"aside","params":{"n":%d}}`, n) }
		for i := range 3 {
			s.send(call("1", "turn", ""))
			s.want(notification(1), notification(2), frame(1), result("1", `"end"`), frame(2))
			s.send(call(fmt.Sprint(i+2), "gone", ""))
			s.want(result(fmt.Sprint(i+2), `"gone"`), frame(3), frame(4))
		}
	})
}

func TestResponseWaitsForItsSource(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		var src feedLog
		s := serve(t, tr, methods{
			"turn": func(_ *Conn, r *Request) {
				src.add(1, 2, 3)
				r.ReplyAfter("end", &src, 3)
			},
			"fail": func(_ *Conn, r *Request) {
				src.add(4, 5)
				r.FailAfter(&Error{Code: 1}, &src, 5)
			},
			"idle": func(_ *Conn, r *Request) { r.ReplyAfter("idle", &src, 1000) }, // a number that is never reached
			"gone": func(_ *Conn, r *Request) { r.ReplyAfter("gone", new(feedLog), 5) },
		}, Options{}, Limits{})
		src.attach(t, s.conn)
		s.send(call("1", "turn", ""))
		s.want(notification(1), notification(2), notification(3), result("1", `"end"`))
		s.send(call("2", "fail", ""))
		s.want(notification(4), notification(5), failure("2", 1, ""))
		s.send(call("3", "idle", ""))
		s.want(result("3", `"idle"`))
		s.send(call("4", "gone", ""))
		s.want(result("4", `"gone"`))
	})
}

// blockedSource blocks the writer inside Next until answer receives a value.
type blockedSource struct {
	entered chan struct{}
	answer  chan error
}

func (b *blockedSource) Next(ctx context.Context) (Notification, bool, error) {
	b.entered <- struct{}{}
	select {
	case err := <-b.answer:
		return Notification{Method: "n", Params: json.RawMessage(`{"seq":1}`), Seq: 1}, err == nil, err
	case <-ctx.Done():
		return Notification{}, false, ctx.Err()
	}
}

func TestResponseIsReleasedWhenItsSourceEnds(t *testing.T) {
	ends := map[string]func(c *Conn, b *blockedSource){
		"detached": func(c *Conn, b *blockedSource) { c.Detach(b); b.answer <- nil },
		"failed":   func(_ *Conn, b *blockedSource) { b.answer <- errors.New("store is gone") },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			overAll(t, func(t *testing.T, tr transport) {
				src := &blockedSource{make(chan struct{}), make(chan error)}
				queued := make(chan struct{})
				s := serve(t, tr, methods{
					"wait": func(_ *Conn, r *Request) { r.ReplyAfter("free", src, 9); close(queued) },
					"echo": basic["echo"],
				}, Options{}, Limits{})
				if _, err := s.conn.Attach(src); err != nil {
					t.Fatal(err)
				}
				<-src.entered
				s.send(call("1", "wait", ""))
				<-queued
				end(s.conn, src)
				s.want(result("1", `"free"`)) // without the notification pulled meanwhile
				s.send(call("2", "echo", ""))
				s.want(result("2", "{}"))
			})
		})
	}
}

func TestResponsesOvertakeOtherSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, _ := serveStream(t, stream, basic, Options{})
		var src feedLog
		src.add(1, 2, 3)
		src.attach(t, conn)
		synctest.Wait() // the writer has pulled the first and is blocked, as the peer does not read
		if err := w.send([]byte(call("1", "echo", ""))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p := newPeer(t, w)
		p.want(notification(1), result("1", "{}"), notification(2), notification(3))
		w.close()
	})
}

func TestSourcesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, _ := serveStream(t, stream, basic, Options{})
		var first, second, third feedLog
		first.add(1, 2, 3)
		second.add(10, 20, 30)
		third.add(100)
		for _, src := range []*feedLog{&first, &second, &third} {
			src.attach(t, conn)
			synctest.Wait()
		}
		p := newPeer(t, w)
		p.want(notification(1), notification(2), notification(10), notification(100), notification(3), notification(20), notification(30))
		w.close()
	})
}

func TestSourcesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stream := linkPipe(t, Limits{})
		conn, _ := serveStream(t, stream, basic, Options{})
		var sources []*feedLog
		for range (Options{}).withDefaults().Sources {
			src := new(feedLog)
			src.attach(t, conn)
			sources = append(sources, src)
		}
		if _, err := conn.Attach(new(feedLog)); !errors.Is(err, ErrSources) {
			t.Errorf("Attach above the limit: %v", err)
		}
		if _, err := conn.Attach(sources[0]); err == nil {
			t.Error("the same source was attached twice")
		}
		conn.Detach(sources[0])
		if _, err := conn.Attach(new(feedLog)); err != nil {
			t.Errorf("Attach after Detach: %v", err)
		}
		w.close()
	})
}

type panickingSource struct{}

func (*panickingSource) Next(context.Context) (Notification, bool, error) { panic("oops") }

func TestSourceThatPanicsIsDetached(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		src := new(panickingSource)
		if _, err := s.conn.Attach(src); err != nil {
			t.Fatal(err)
		}
		s.send(call("1", "echo", ""))
		s.want(result("1", "{}"))
		for range 1000 { // until it is detached
			if _, err := s.conn.Attach(src); err == nil {
				return
			}
			s.send(call("1", "echo", ""))
			s.want(result("1", "{}"))
		}
		t.Error("the source is still attached")
	})
}

func TestSentTextIsValid(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		var src feedLog
		src.queue = []Notification{
			{Method: "a\"b", Params: json.RawMessage("{\n\"a\":\n\"\xff\"}")},
			{Method: "bare"},
		}
		src.attach(t, s.conn)
		want := "{\n\"a\":\n\"\uFFFD\"}"
		if tr.name == "lines" {
			want = "{ \"a\": \"\uFFFD\"}"
		}
		s.want(`{"jsonrpc":"2.0","method":"a\"b","params":`+want+`}`, `{"jsonrpc":"2.0","method":"bare"}`)
	})
}

// replyingSource has its only notification after the response that it queues while it is pulled.
type replyingSource struct {
	request *Request
	wake    func()
	done    bool
}

func (s *replyingSource) Next(context.Context) (Notification, bool, error) {
	if s.done || s.request == nil {
		return Notification{}, false, nil
	}
	s.done = true
	s.request.Reply("made")
	return Notification{"n", json.RawMessage(`{"seq":1}`), 1}, true, nil
}

// A notification about the result of a request comes after the response, even if the writer was waiting for the
// notification when the response was queued.
func TestF25ResponseBeforeWhatFollowsFromIt(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		src := new(replyingSource)
		s := serve(t, tr, methods{"make": func(_ *Conn, r *Request) {
			src.request = r
			src.wake()
		}}, Options{}, Limits{})
		wake, err := s.conn.Attach(src)
		if err != nil {
			t.Fatal(err)
		}
		src.wake = wake
		s.send(call("1", "make", ""))
		s.want(result("1", `"made"`), notification(1))
	})
}
