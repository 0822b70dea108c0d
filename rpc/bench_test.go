package rpc

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// BenchmarkEcho is the lower bound of BenchmarkCall: the same frames over the same sockets, without JSON-RPC.
func BenchmarkEcho(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		for {
			kind, frame, err := conn.Read(context.Background())
			if err != nil || conn.Write(context.Background(), kind, frame) != nil {
				return
			}
		}
	}))
	defer srv.Close()
	conn, _, err := websocket.Dial(b.Context(), srv.URL, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.CloseNow()
	frame := []byte(call("1", "echo", `{"sessionId":"sess_01"}`))
	roundTrips(b, func() error {
		if err := conn.Write(context.Background(), websocket.MessageText, frame); err != nil {
			return err
		}
		_, _, err := conn.Read(context.Background())
		return err
	})
}

func BenchmarkCall(b *testing.B) {
	c, end := benchClient(b, nil)
	defer end()
	params := json.RawMessage(`{"sessionId":"sess_01"}`)
	roundTrips(b, func() error { return c.Call(context.Background(), "echo", params, nil) })
}

// roundTrips measures sequential calls and reports the median in addition to the mean.
func roundTrips(b *testing.B, call func() error) {
	b.ReportAllocs()
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
}

func benchClient(b *testing.B, attach func(c *Conn)) (c *Client, end func()) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := AcceptWebSocket(w, r, WebSocketOptions{})
		if err != nil {
			b.Error(err)
			return
		}
		conn := NewConn(s, basic, Options{})
		if attach != nil {
			attach(conn)
		}
		if err := conn.Serve(context.Background()); err != nil {
			b.Error(err)
		}
	}))
	c, err := Dial(b.Context(), srv.URL, DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return c, func() { c.Close(); srv.Close() }
}

// discard is a Stream that discards all frames.
type discard struct{ closed chan struct{} }

func (d *discard) ReadFrame(func([]byte) error) error { <-d.closed; return context.Canceled }
func (d *discard) WriteFrame([]byte) error            { return nil }
func (d *discard) Close(int, string) error            { close(d.closed); return nil }

// countdown is a Source that has n notifications.
type countdown struct {
	n    int
	end  chan struct{}
	text json.RawMessage
}

func (s *countdown) Next(context.Context) (Notification, bool, error) {
	if s.n == 0 {
		close(s.end)
		return Notification{}, false, nil
	}
	s.n--
	return Notification{"session/update", s.text, 1}, true, nil
}

// BenchmarkNotification measures what a notification of 300 bytes costs before it reaches the stream.
func BenchmarkNotification(b *testing.B) {
	b.ReportAllocs()
	text := json.RawMessage(`{"sessionId":"sess_01","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("x", 200) + `"}}}`)
	stream := &discard{make(chan struct{})}
	conn := NewConn(stream, basic, Options{})
	src := &countdown{b.N, make(chan struct{}), text}
	if _, err := conn.Attach(src); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-src.end; cancel() }()
	b.ResetTimer()
	if err := conn.Serve(ctx); err != nil {
		b.Error(err)
	}
}

func BenchmarkParseMessage(b *testing.B) {
	for name, size := range map[string]int{"100B": 100, "5MB": 5 << 20} {
		b.Run(name, func(b *testing.B) {
			frame := []byte(sized(size))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, fault := parseMessage(frame, 200); fault != nil {
					b.Fatal(fault)
				}
			}
		})
	}
}
