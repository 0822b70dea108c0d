package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// sized returns an echo request that is n bytes long.
func sized(n int) string {
	frame := call("1", "echo", `{"a":""}`)
	return strings.Replace(frame, `""`, `"`+strings.Repeat("x", n-len(frame))+`"`, 1)
}

func TestK7_01FrameLimit(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		other := serve(t, tr, basic, Options{}, Limits{})
		s := serve(t, tr, basic, Options{}, Limits{FrameBytes: 6 << 20})
		for _, n := range []int{40 << 10, 5 << 20, 6 << 20} {
			s.send(sized(n))
			if got, want := len(s.recv()), n-len(`"method":"echo","params":`)+len(`"result":`); got != want {
				t.Fatalf("the response to %d bytes has %d bytes, want %d", n, got, want)
			}
		}
		if err := s.wire.send([]byte(sized(6<<20 + 1))); err == nil { // it may fail, as the server stops reading
			s.wantClose(closeTooBig)
		}
		if err := s.end(); err == nil {
			t.Error("Serve returned no error")
		}
		other.send(call("1", "echo", ""))
		other.want(result("1", "{}"))
	})
}

func TestK7_01FragmentedFrames(t *testing.T) {
	for _, tr := range transports[:2] {
		t.Run(tr.name, func(t *testing.T) {
			tr.run(t, func(t *testing.T) {
				s := serve(t, tr, basic, Options{}, Limits{FrameBytes: 1 << 20})
				send := func(frame string) (err error) {
					w, err := s.wire.(webSocketWire).conn.Writer(context.Background(), websocket.MessageText)
					for len(frame) > 0 && err == nil {
						n := min(len(frame), 10_000)
						_, err = w.Write([]byte(frame[:n]))
						frame = frame[n:]
					}
					return errors.Join(err, w.Close())
				}
				if err := send(sized(1 << 20)); err != nil {
					t.Fatal(err)
				}
				if got := s.recv(); len(got) < 1<<20-100 {
					t.Fatalf("got %.100s", got)
				}
				if err := send(sized(1<<20 + 1)); err == nil {
					s.wantClose(closeTooBig)
				}
				if err := s.end(); err == nil {
					t.Error("Serve returned no error")
				}
			})
		})
	}
}

func TestBinaryFramesAreIgnored(t *testing.T) {
	for _, tr := range transports[:2] {
		t.Run(tr.name, func(t *testing.T) {
			tr.run(t, func(t *testing.T) {
				s := serve(t, tr, basic, Options{}, Limits{})
				if err := s.wire.(webSocketWire).conn.Write(t.Context(), websocket.MessageBinary, []byte(call("1", "echo", ""))); err != nil {
					t.Fatal(err)
				}
				s.send(call("2", "echo", ""))
				s.want(result("2", "{}"))
			})
		})
	}
}

func TestBudgetIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := NewBudget(100_000)
		limits := Limits{Budget: budget}
		tr := transports[0]
		a, b := serve(t, tr, basic, Options{}, limits), serve(t, tr, basic, Options{}, limits)

		frame := sized(80_000)
		half, err := a.wire.(webSocketWire).conn.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := half.Write([]byte(frame[:60_000])); err != nil {
			t.Fatal(err)
		}
		if err := b.wire.send([]byte(frame)); err == nil {
			b.wantClose(closeTryLater)
		}
		if err := b.end(); err == nil {
			t.Error("Serve returned no error")
		}

		if _, err := half.Write([]byte(frame[60_000:])); err != nil {
			t.Fatal(err)
		}
		if err := half.Close(); err != nil {
			t.Fatal(err)
		}
		if got := a.recv(); len(got) < 79_000 {
			t.Errorf("got %.100s", got)
		}
		a.send("\xff") // an abrupt end returns its share, too
		a.wantClose(closeInvalidText)
		a.end()
		if left := budget.left.Load(); left != 100_000 {
			t.Errorf("%d bytes are left of the budget", left)
		}
	})
}

// sharedLog imitates a session's event log: each reader has a cursor.
type sharedLog struct{ frames []json.RawMessage }

type logCursor struct {
	log *sharedLog
	at  atomic.Int64
}

func (c *logCursor) Next(context.Context) (Notification, bool, error) {
	i := c.at.Load()
	if i == int64(len(c.log.frames)) {
		return Notification{}, false, nil
	}
	c.at.Add(1)
	return Notification{"n", c.log.frames[i], uint64(i + 1)}, true, nil
}

func TestK7_02StalledReaders(t *testing.T) {
	const stalled, chunks, chunkSize = 20, 800, 64 << 10 // 50 MB
	log := new(sharedLog)
	for range chunks {
		log.frames = append(log.frames, json.RawMessage(`{"text":"`+strings.Repeat("x", chunkSize)+`"}`))
	}
	var wg sync.WaitGroup
	for range stalled {
		_, stream := linkSocket(t, Limits{WriteTimeout: 500 * time.Millisecond})
		conn, end := serveStream(t, stream, basic, Options{})
		cursor := &logCursor{log: log}
		if _, err := conn.Attach(cursor); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := end(); err == nil {
				t.Error("Serve of a stalled peer returned no error")
			}
			if n := cursor.at.Load(); n == chunks {
				t.Error("everything was pulled for a stalled peer")
			}
			conn.Detach(cursor) // must not hang
		})
	}
	b := serve(t, transports[1], basic, Options{}, Limits{})
	cursor := &logCursor{log: log}
	if _, err := b.conn.Attach(cursor); err != nil {
		t.Fatal(err)
	}
	b.send(call("1", "echo", ""))
	responses := 0
	for range chunks + 1 {
		if len(b.recv()) < chunkSize {
			responses++
		}
	}
	if responses != 1 {
		t.Errorf("%d responses", responses)
	}
	wg.Wait()
}

func TestShortReason(t *testing.T) {
	for reason, want := range map[string]int{"": 0, "short": 5, strings.Repeat("x", 200): 123, strings.Repeat("x", 122) + "ü": 122, strings.Repeat("ü", 100): 122} {
		if got := shortReason(reason); len(got) != want || !strings.HasPrefix(reason, got) {
			t.Errorf("shortReason(%q) = %q", reason, got)
		}
	}
}

func TestLongCloseReasonKeepsItsCode(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		s.conn.Close(4000, fmt.Sprint(strings.Repeat("long ", 100)))
		s.wantClose(4000)
	})
}
