package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// transport is a way to carry frames. The conformance tests run over each.
type transport struct {
	name string
	run  func(t *testing.T, body func(t *testing.T))             // in a synctest bubble or outside
	link func(t *testing.T, limits Limits) (wire wire, s Stream) // both ends of a new connection
}

var transports = []transport{
	{"pipe", synctest.Test, linkPipe},
	{"socket", func(t *testing.T, body func(*testing.T)) { body(t) }, linkSocket},
	{"lines", func(t *testing.T, body func(*testing.T)) { body(t) }, linkLines},
}

// overAll runs a test over each transport.
func overAll(t *testing.T, body func(t *testing.T, tr transport)) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) { tr.run(t, func(t *testing.T) { body(t, tr) }) })
	}
}

// wire is the peer's end of a connection. It can send any bytes as a frame.
type wire interface {
	send(frame []byte) error
	recv() ([]byte, error) // a *CloseError when the server has closed
	close()
}

type webSocketWire struct{ conn *websocket.Conn }

func (w webSocketWire) send(frame []byte) error {
	return w.conn.Write(context.Background(), websocket.MessageText, frame)
}

func (w webSocketWire) recv() ([]byte, error) {
	_, frame, err := w.conn.Read(context.Background())
	if e, ok := errors.AsType[websocket.CloseError](err); ok {
		err = &CloseError{int(e.Code), e.Reason}
	}
	return frame, err
}

func (w webSocketWire) close() { w.conn.Close(websocket.StatusNormalClosure, "") }

// linkPipe connects by WebSocket over net.Pipe, which is unbuffered and works inside a synctest bubble.
func linkPipe(t *testing.T, limits Limits) (wire, Stream) { return linkOver(t, limits, new(lossy)) }

// lossy is the server's end of a bad network.
type lossy struct {
	net.Conn
	dead   atomic.Bool   // drops all writes of the server
	upload time.Duration // duration of each write of the peer; set before the first
}

func (l *lossy) Write(p []byte) (int, error) {
	if l.dead.Load() {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// slowUpload is the peer's end of a bad network.
type slowUpload struct {
	net.Conn
	link *lossy
}

func (s slowUpload) Write(p []byte) (int, error) {
	time.Sleep(s.link.upload)
	return s.Conn.Write(p)
}

// linkOver is linkPipe over a bad network.
func linkOver(t *testing.T, limits Limits, link *lossy) (wire, Stream) {
	var server *WebSocketStream
	handshake := func(r *http.Request) (*http.Response, error) {
		near, far := net.Pipe()
		link.Conn = far
		rec := &hijackRecorder{httptest.NewRecorder(), link}
		var err error
		if server, err = AcceptWebSocket(rec, r, WebSocketOptions{Limits: limits}); err != nil {
			return nil, err
		}
		resp := rec.Result()
		resp.Body = slowUpload{near, link}
		return resp, nil
	}
	client := &http.Client{Transport: roundTripper(handshake)}
	conn, _, err := websocket.Dial(t.Context(), "ws://server.test/acp", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	return webSocketWire{conn}, server
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type hijackRecorder struct {
	*httptest.ResponseRecorder
	conn net.Conn
}

func (h *hijackRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// linkSocket connects by WebSocket over a real socket.
func linkSocket(t *testing.T, limits Limits) (wire, Stream) {
	accepted := make(chan *WebSocketStream, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := AcceptWebSocket(w, r, WebSocketOptions{Limits: limits})
		if err != nil {
			t.Error(err)
		}
		accepted <- s
	}))
	t.Cleanup(srv.Close)
	conn, _, err := websocket.Dial(t.Context(), srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	return webSocketWire{conn}, <-accepted
}

// linkLines connects by two pipes of the operating system, like the standard streams of a subprocess.
func linkLines(t *testing.T, limits Limits) (wire, Stream) {
	in, toServer := osPipe(t)
	fromServer, out := osPipe(t)
	server := NewLineStream(in, out, closers{in, out}, limits)
	return &lineWire{r: bufio.NewReader(fromServer), w: toServer, closers: closers{fromServer, toServer}}, server
}

func osPipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

type closers []io.Closer

func (cs closers) Close() error {
	var errs []error
	for _, c := range cs {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

type lineWire struct {
	r *bufio.Reader
	w io.Writer
	closers
}

func (w *lineWire) send(frame []byte) error {
	_, err := w.w.Write(append(frame[:len(frame):len(frame)], '\n'))
	return err
}

func (w *lineWire) recv() ([]byte, error) {
	line, err := w.r.ReadBytes('\n')
	return []byte(strings.TrimSuffix(string(line), "\n")), err
}

func (w *lineWire) close() { w.Close() }

// peer is a client that sends and receives raw frames. It reads continuously.
type peer struct {
	t      *testing.T
	wire   wire
	frames chan string
	err    error // why reading ended; set before frames is closed
}

func newPeer(t *testing.T, w wire) *peer {
	p := &peer{t: t, wire: w, frames: make(chan string, 100_000)}
	go func() {
		defer close(p.frames)
		for {
			frame, err := w.recv()
			if err != nil {
				p.err = err
				return
			}
			p.frames <- string(frame)
		}
	}()
	return p
}

func (p *peer) send(frames ...string) {
	p.t.Helper()
	for _, f := range frames {
		if err := p.wire.send([]byte(f)); err != nil {
			p.t.Fatalf("send %.100s: %v", f, err)
		}
	}
}

// recv returns the next frame, or "" when the connection has ended.
func (p *peer) recv() string { return <-p.frames }

// want fails the test unless these frames are received next.
func (p *peer) want(frames ...string) {
	p.t.Helper()
	for i, want := range frames {
		got := p.recv()
		if !sameJSON(got, want) {
			p.t.Fatalf("frame %d:\n got %.300s\nwant %.300s", i, got, want)
		}
	}
}

// wantClose fails the test unless the connection ends next, with this code if the transport has close codes.
func (p *peer) wantClose(code int) {
	p.t.Helper()
	if frame, open := <-p.frames; open {
		p.t.Fatalf("got %.300s, want the connection to end", frame)
	}
	closed, ok := errors.AsType[*CloseError](p.err)
	if _, lines := p.wire.(*lineWire); lines {
		return
	}
	if !ok || closed.Code != code {
		p.t.Fatalf("ended with %v, want close %d", p.err, code)
	}
}

// sameJSON compares frames byte for byte, but accepts any error message if want has none.
func sameJSON(got, want string) bool {
	if got == want {
		return true
	}
	if strings.Contains(want, `"message"`) {
		return false
	}
	var g map[string]json.RawMessage
	if json.Unmarshal([]byte(got), &g) != nil || g["error"] == nil {
		return false
	}
	var e struct {
		Code int             `json:"code"`
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(g["error"], &e) != nil {
		return false
	}
	failure := fmt.Sprintf(`{"code":%d`, e.Code)
	if e.Data != nil {
		failure += `,"data":` + string(e.Data)
	}
	return want == fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}}`, g["id"], failure)
}

// served is a Conn under test with its peer.
type served struct {
	*peer
	conn *Conn
	end  func() error // waits for Serve and returns its error
}

// serve runs a Conn over a new connection, which ends with the test.
func serve(t *testing.T, tr transport, h Handler, opt Options, limits Limits) *served {
	w, s := tr.link(t, limits)
	conn, end := serveStream(t, s, h, opt)
	p := newPeer(t, w)
	t.Cleanup(w.close)
	return &served{p, conn, end}
}

// serveStream runs a Conn over a stream.
func serveStream(t *testing.T, s Stream, h Handler, opt Options) (*Conn, func() error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	conn := NewConn(s, h, opt)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- conn.Serve(ctx) }()
	end := sync.OnceValue(func() error { return <-served })
	t.Cleanup(func() {
		cancel()
		end()
	})
	return conn, end
}

// methods is a Handler with one function per method. Other methods get -32601.
type methods map[string]func(c *Conn, r *Request)

func (m methods) Handle(c *Conn, r *Request) {
	f := m[r.Method()]
	if f == nil {
		r.Fail(&Error{Code: CodeMethodNotFound, Message: "no such method"})
		return
	}
	f(c, r)
}

// basic has the methods used by many tests: echo returns its parameters, hang never responds, panic panics,
// $/cancel_request cancels.
var basic = methods{
	"echo":  func(_ *Conn, r *Request) { r.Reply(r.Params()) },
	"hang":  func(*Conn, *Request) {},
	"panic": func(*Conn, *Request) { panic("secret") },
	"$/cancel_request": func(c *Conn, r *Request) {
		var params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(r.Params(), &params) == nil {
			c.Cancel(params.RequestID)
		}
	},
}

// call returns a request frame.
func call(id, method, params string) string {
	if params == "" {
		params = "{}"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

func result(id, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// failure returns an error frame without a message; sameJSON accepts any.
func failure(id string, code int, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d%s}}`, id, code, data)
}
