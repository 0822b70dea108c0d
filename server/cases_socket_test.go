package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
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
	"strata/rpc"
	"strata/server/wire"
)

// rawSocket is a client that reads only on request, so it does not answer pings either.
type rawSocket struct {
	t    testing.TB
	conn *websocket.Conn
}

// dialRaw connects a raw client and initializes it.
func dialRaw(t testing.TB, ts *testServer) *rawSocket {
	t.Helper()
	return dialOver(t, ts, &http.Transport{})
}

// dialStalling is dialRaw for a client that does not read: the system buffers only few bytes for it.
func dialStalling(t testing.TB, ts *testServer) *rawSocket {
	t.Helper()
	dialer := &net.Dialer{}
	return dialOver(t, ts, &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
		}
		return conn, err
	}})
}

func dialOver(t testing.TB, ts *testServer, transport *http.Transport) *rawSocket {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), ts.ready.WebSocket, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport},
		HTTPHeader: http.Header{"Authorization": {"Bearer " + ts.token.Reveal()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() {
		conn.CloseNow()
		transport.CloseIdleConnections()
	})
	c := &rawSocket{t, conn}
	c.call(0, "initialize", map[string]any{"protocolVersion": 1})
	return c
}

func (c *rawSocket) send(frame string) {
	c.t.Helper()
	if err := c.conn.Write(context.Background(), websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatal(err)
	}
}

// call sends a request and reads up to its response, which must not be an error.
func (c *rawSocket) call(id int, method string, params any) {
	c.t.Helper()
	frame, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(frame))
	c.answer()
}

// answer reads up to the next response, which must not be an error.
func (c *rawSocket) answer() {
	c.t.Helper()
	for {
		_, raw, err := c.conn.Read(context.Background())
		if err != nil {
			c.t.Fatal(err)
		}
		var f struct {
			Method string
			Error  json.RawMessage
		}
		if err := json.Unmarshal(raw, &f); err != nil || f.Error != nil {
			c.t.Fatalf("%.500s", raw)
		}
		if f.Method == "" {
			return
		}
	}
}

// drain reads until the connection ends, and returns the reason.
func (c *rawSocket) drain() error {
	for {
		if _, _, err := c.conn.Read(context.Background()); err != nil {
			return err
		}
	}
}

// logWatch counts log records by message.
type logWatch struct {
	slog.Handler
	message string
	seen    chan slog.Record
}

func watchLog(message string) *logWatch {
	return &logWatch{Handler: slog.DiscardHandler, message: message, seen: make(chan slog.Record, 1024)}
}

func (w *logWatch) Enabled(context.Context, slog.Level) bool { return true }
func (w *logWatch) WithAttrs([]slog.Attr) slog.Handler       { return w }
func (w *logWatch) WithGroup(string) slog.Handler            { return w }

func (w *logWatch) Handle(_ context.Context, r slog.Record) error {
	if r.Message == w.message {
		w.seen <- r
	}
	return nil
}

// wideWindow gives every model a window for the largest requests of the tests.
func wideWindow(o *Options) {
	adjustModels(o, func(m *llm.Model) { m.Window = 10_000_000 })
}

func TestK7_01LargeMessages(t *testing.T) {
	t.Parallel()
	ts := startServer(t, wideWindow, func(o *Options) { o.FrameBytes = 6 << 20 })
	e, bystander := ts.editor(), ts.editor()
	sid := e.NewSession(ts.work)
	other := bystander.NewSession(ts.work)
	text := strings.Repeat("x", 40_000)
	mustPrompt(t, e, sid, text)
	picture := png(64, 64, 3_750_000) // 5 MB in JSON
	block := map[string]any{"type": "image", "mimeType": "image/png", "data": picture}
	if _, err := e.StartWith(sid, []any{block}, "").Wait(); err != nil {
		t.Fatal(err)
	}
	stored := transcript(t, e, sid)
	if got := stored[0].PlainText(); got != text {
		t.Errorf("40 KB were stored as %d bytes", len(got))
	}
	if got := stored[2].Blocks[0].Data; !bytes.Equal(got, picture) {
		t.Errorf("%d bytes of a picture were stored as %d", len(picture), len(got))
	}
	before := len(stored)

	e.Start(sid, strings.Repeat("x", 6<<20))
	<-e.Done()
	if closed, ok := e.Err().(*rpc.CloseError); !ok || closed.Code != 1009 {
		t.Errorf("the connection ended with %v", e.Err())
	}
	mustPrompt(t, bystander, other, "hello")
	again := ts.editor()
	if got := len(transcript(t, again, sid)); got != before {
		t.Errorf("%d messages, there were %d", got, before)
	}
	mustPrompt(t, again, sid, "hello")
}

func TestK7_01FragmentedMessages(t *testing.T) {
	t.Parallel()
	ts := startServer(t, wideWindow, func(o *Options) { o.FrameBytes = 1 << 20 })
	e := ts.editor()
	sid := e.NewSession(ts.work)
	send := func(c *rawSocket, text string) {
		w, err := c.conn.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, sid, text)
		for len(frame) > 0 { // after a failed write, the server's refusal can still be read
			n := min(10_000, len(frame))
			if _, err := w.Write([]byte(frame[:n])); err != nil {
				return
			}
			frame = frame[n:]
		}
		w.Close()
	}
	c := dialRaw(t, ts)
	send(c, strings.Repeat("y", 900_000))
	c.answer()

	tooLong := dialRaw(t, ts)
	send(tooLong, strings.Repeat("z", 1<<20))
	if err := tooLong.drain(); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("the connection ended with %v", err)
	}
	mustPrompt(t, e, sid, "hello")
	for _, m := range transcript(t, e, sid) {
		if strings.Contains(m.PlainText(), "zzz") {
			t.Error("a part of the message above the limit is stored")
		}
	}
}

// heap returns the used bytes of the heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// counter is a client that reads everything and stores only the amount of received text.
type counter struct {
	text, pictures atomic.Int64 // bytes of images in base64
	ended          chan error
}

func countShown(c *rawSocket) *counter {
	n := &counter{ended: make(chan error, 1)}
	go func() {
		for {
			_, raw, err := c.conn.Read(context.Background())
			if err != nil {
				n.ended <- err
				return
			}
			var f struct {
				Params struct {
					Update struct{ Content struct{ Text, Data string } }
				}
			}
			if json.Unmarshal(raw, &f) == nil {
				n.text.Add(int64(len(f.Params.Update.Content.Text)))
				n.pictures.Add(int64(len(f.Params.Update.Content.Data)))
			}
		}
	}()
	return n
}

// Most of the streamed content is images, whose tokens need not be counted.
func TestK7_02ClientsThatNeverRead(t *testing.T) {
	long(t)
	const (
		clients  = 20
		pictures = 24
		size     = 1 << 20  // of an image in base64
		perStall = 3 * size // maximum bytes per client: the frame that it does not read
		rest     = 48 << 20 // maximum growth of everything else: the session's log, the cache of messages
	)
	watch := watchLog("disconnected")
	ts := startServerOn(t, historystore.Options{CacheBytes: 1}, upstream.Options{}, func(o *Options) {
		o.Stall = 12 * time.Second // enough for reading clients on a busy machine
		o.Log = slog.New(watch)
	})
	owner, reader := dialRaw(t, ts), dialRaw(t, ts)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	e.Close()
	<-watch.seen
	open := map[string]any{"sessionId": sid, "cwd": ts.work}
	reader.call(1, "session/resume", open)
	shown := countShown(reader)
	before := heap()
	var stalled []*rawSocket
	for i := range clients {
		c := dialStalling(t, ts)
		if c.call(1, "session/resume", open); i%2 == 0 {
			c.call(2, "_strata/session/attach", map[string]any{"sessionId": sid})
		}
		stalled = append(stalled, c)
	}
	picture := map[string]any{"type": "image", "mimeType": "image/png", "data": png(64, 64, size*3/4)}
	for i := range pictures {
		message := map[string]any{"role": "user", "content": []any{picture}}
		owner.call(i, "_strata/history/append", map[string]any{"sessionId": sid, "messages": []any{message}})
	}
	if cost := int64(heap()) - int64(before); cost > clients*perStall+rest {
		t.Errorf("the heap has grown by %d MiB", cost>>20)
	}
	owner.call(pictures, "_strata/history/clear", map[string]any{"sessionId": sid})
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts(strings.Repeat("x", 10_000))})
	owner.call(pictures+1, "session/prompt", map[string]any{"sessionId": sid, "prompt": []any{map[string]any{"type": "text", "text": "go"}}})
	for range clients {
		<-watch.seen
	}

	bystander := ts.editor()
	mustPrompt(t, bystander, bystander.NewSession(ts.work), "hello")
	for _, c := range stalled { // the user reopens the tab
		c.conn.CloseNow()
		again := dialRaw(t, ts)
		again.call(1, "session/resume", open)
	}
	ts.close()
	<-shown.ended
	if got := shown.pictures.Load(); got != pictures*size {
		t.Errorf("the reader was shown %d bytes of pictures, %d are right", got, pictures*size)
	}
	if got := shown.text.Load(); got != 10_000+int64(len("go")) {
		t.Errorf("the reader was shown %d bytes of text", got)
	}
}

func TestK7_03ClientThatAnswersNoPings(t *testing.T) {
	t.Parallel() // it waits
	watch := watchLog("disconnected")
	ts := startServer(t, func(o *Options) {
		o.Heartbeat = 8 * time.Second // two pings may be missed, so responsive clients have time on a busy machine
		o.Log = slog.New(watch)
	})
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "first", ", rest"))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	asleep := dialRaw(t, ts)
	asleep.call(1, "session/resume", map[string]any{"sessionId": sid, "cwd": ts.work})
	asleep.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hello"}]}}`, sid))
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	<-watch.seen // the suspended client
	select {
	case <-e.Done():
		t.Fatal("the wrong client was dropped")
	default:
	}
	back := ts.editor()
	at, err := back.Attach(sid, testclient.Place{})
	if err != nil || at.Running == "" || !strings.Contains(string(at.Snapshot), "first") {
		t.Fatalf("attached as running %q with %s, error %v", at.Running, at.Snapshot, err)
	}
	close(gate)
	back.Expect(testclient.Sees(sid, "turn_finished"))
	if m := lastMessage(t, back, sid); m.PlainText() != "first, rest" || m.Status != history.StatusComplete {
		t.Errorf("stored as %s: %q", m.Status, m.PlainText())
	}
}

func TestK7_03ClockJump(t *testing.T) {
	t.Parallel()
	var jump atomic.Int64
	ts := startServer(t, func(o *Options) {
		setClock(o, func() time.Time { return time.Now().Add(time.Duration(jump.Load())) })
		o.IdleUnload = 40 * time.Millisecond // housekeeping checks the clock every 10 ms
	})
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "first", ", rest"))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	turn := e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	jump.Store(int64(8 * time.Hour))
	for range 3 {
		mustPrompt(t, e, e.NewSession(ts.work), "beside it")
	}
	close(gate)
	if reply, err := turn.Wait(); err != nil || reply.Said() != "first, rest" {
		t.Errorf("text %q, error %v", reply.Said(), err)
	}
}

// chunks returns a script of n deltas that waits for its gate after the tenth.
func chunks(n int, gate <-chan struct{}) (script upstream.Script, first, all string) {
	for i := range n {
		if i == 10 {
			first = all
			script.Steps = append(script.Steps, upstream.Hold(gate))
		}
		text := fmt.Sprintf("chunk %d\n", i)
		all += text
		script.Steps = append(script.Steps, upstream.Text(text))
	}
	return script, first, all
}

func TestK7_04ReconnectInMidTurn(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	gate := make(chan struct{})
	script, first, all := chunks(50, gate)
	ts.upstream.Push(script)
	e, sid := attached(t, ts)
	e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, first))
	e.Vanish()
	seen := e.Frames()

	back := ts.editor()
	at, err := back.Attach(sid, seen.Place(sid))
	if err != nil || !at.Complete || at.Running == "" || at.Snapshot != nil {
		t.Fatalf("attached as %+v, error %v", at, err)
	}
	close(gate)
	back.Expect(testclient.Sees(sid, "turn_finished"))
	both := append(seen.Of(sid), back.Frames().Of(sid)...)
	if said := both.Text(testclient.AgentChunk); said != all {
		t.Errorf("both connections together show %q", said)
	}
	if faults := both.Faults(sid); len(faults) > 0 {
		t.Errorf("events: %q", faults)
	}
}

func TestK7_04ReconnectAfterTheTurn(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	gate := make(chan struct{})
	script, first, all := chunks(50, gate)
	ts.upstream.Push(script)
	witness := ts.editor()
	sid := witness.NewSession(ts.work)
	e := ts.editor()
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	if _, err := witness.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, first))
	e.Vanish()
	seen := e.Frames()
	close(gate)
	witness.Expect(testclient.Sees(sid, "turn_finished"))

	back := ts.editor()
	at, err := back.Attach(sid, seen.Place(sid))
	if err != nil || !at.Complete || at.Running != "" {
		t.Fatalf("attached as %+v, error %v", at, err)
	}
	back.Expect(testclient.Sees(sid, "turn_finished"))
	both := append(seen.Of(sid), back.Frames().Of(sid)...)
	if said := both.Text(testclient.AgentChunk); said != all || len(both.Faults(sid)) > 0 {
		t.Errorf("both connections together show %q, faults %q", said, both.Faults(sid))
	}
	fresh := ts.editor()
	at, err = fresh.Attach(sid, testclient.Place{})
	var snap wire.Snapshot
	if err != nil || json.Unmarshal(at.Snapshot, &snap) != nil || at.Complete || len(snap.Messages) != 2 || snap.Messages[1].PlainText() != all {
		t.Errorf("a new client attaches with %s, error %v", at.Snapshot, err)
	}
}

func TestK7_04ReconnectAfterARestart(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	script, first, _ := chunks(50, gate)
	ts.upstream.Push(script)
	e, sid := attached(t, ts)
	e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, first))
	ts.close()
	<-e.Done()
	if closed, ok := e.Err().(*rpc.CloseError); !ok || closed.Code != 1001 {
		t.Errorf("the connection ended with %v", e.Err())
	}
	seen := e.Frames()
	ts.start()

	back := ts.editor()
	at, err := back.Attach(sid, seen.Place(sid))
	if err != nil || at.Complete || at.Running != "" || at.Epoch == seen.Place(sid).Epoch {
		t.Fatalf("attached as %+v, error %v", at, err)
	}
	var snap wire.Snapshot
	if err := json.Unmarshal(at.Snapshot, &snap); err != nil {
		t.Fatal(err)
	}
	if got, want := chatOf(snap.Messages), fmt.Sprintf("user complete \"hello\"\nassistant interrupted %q\n", first); got != want {
		t.Errorf("the snapshot contains\n%s", got)
	}
	mustPrompt(t, back, sid, "next")
	if faults := back.Frames().Faults(sid); len(faults) > 0 {
		t.Errorf("events: %q", faults)
	}
	if got := len(transcript(t, back, sid)); got != 4 {
		t.Errorf("%d messages", got)
	}
}

// handshake sends the given lines as a request over TCP, with PORT and TOKEN replaced by the server's, and returns the
// response, whose body is not read.
func handshake(t *testing.T, ts *testServer, lines ...string) *http.Response {
	t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(ts.ready.WebSocket, "ws://"), "/acp")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, port, _ := net.SplitHostPort(address)
	request := strings.NewReplacer("PORT", port, "TOKEN", ts.token.Reveal()).Replace(strings.Join(lines, "\r\n") + "\r\n\r\n")
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if cors := resp.Header.Get("Access-Control-Allow-Origin"); cors != "" {
		t.Errorf("the response to %v has Access-Control-Allow-Origin: %s", lines, cors)
	}
	return resp
}

var upgrade = []string{
	"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
}

const bearer = "Authorization: Bearer TOKEN"

func TestK7_06ForeignOrigins(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(o *Options) { o.Origins = []string{"vscode-webview://*"} })
	for origin, want := range map[string]int{
		"":                                   101,
		"http://127.0.0.1:PORT":              101,
		"vscode-webview://abc":               101,
		"http://evil.example":                403,
		"null":                               403,
		"http://localhost.evil.example":      403,
		"http://127.0.0.1.evil.example":      403,
		"http://192.0.2.7":                   403,
		"https://localhost:1":                403,
		"http://127.0.0.1.evil.example:PORT": 403,
	} {
		lines := append([]string{"GET /acp HTTP/1.1", "Host: 127.0.0.1:PORT", bearer}, upgrade...)
		if origin != "" {
			lines = append(lines, "Origin: "+origin)
		}
		if got := handshake(t, ts, lines...).StatusCode; got != want {
			t.Errorf("origin %q: status %d", origin, got)
		}
		for _, route := range []string{"GET / HTTP/1.1", "GET /healthz HTTP/1.1", "GET /metrics HTTP/1.1", "POST / HTTP/1.1", "POST /acp HTTP/1.1"} {
			if want != 403 || origin == "" {
				continue
			}
			resp := handshake(t, ts, route, "Host: 127.0.0.1:PORT", bearer, "Origin: "+origin, "Content-Length: 0")
			if resp.StatusCode != 403 && resp.StatusCode != 405 {
				t.Errorf("%s from origin %q: status %d", route, origin, resp.StatusCode)
			}
		}
	}
	for _, without := range [][]string{nil, {"Origin: http://127.0.0.1:PORT"}, {"Origin: vscode-webview://abc"}} {
		lines := append(append([]string{"GET /acp HTTP/1.1", "Host: 127.0.0.1:PORT"}, upgrade...), without...)
		if got := handshake(t, ts, lines...).StatusCode; got != 401 {
			t.Errorf("no token, %q: status %d", without, got)
		}
	}
}

func TestK7_07ForeignHosts(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	for _, route := range []string{"GET /acp HTTP/1.1", "GET / HTTP/1.1", "GET /healthz HTTP/1.1", "GET /metrics HTTP/1.1"} {
		for host, served := range map[string]bool{
			"127.0.0.1:PORT":             true,
			"[::1]:PORT":                 true,
			"LOCALHOST:PORT":             true,
			"attacker.example:PORT":      false,
			"attacker.example":           false,
			"127.0.0.1.nip.example":      false,
			"127.0.0.1.nip.example:PORT": false,
			"":                           false,
			"127.0.0.1:PORT\r\nHost: attacker.example:PORT": false,
		} {
			for _, origin := range []string{"", "http://" + strings.ToLower(host)} {
				lines := []string{route, "Host: " + host, bearer}
				if strings.HasPrefix(route, "GET /acp") {
					lines = append(lines, upgrade...)
				}
				if origin != "" && !strings.Contains(host, "\n") {
					lines = append(lines, "Origin: "+strings.Replace(origin, "port", "PORT", 1))
				}
				got := handshake(t, ts, lines...).StatusCode
				if refused := got == 403 || got == 400; refused == served && !(served && got == 401) {
					t.Errorf("%s with host %q and origin %q: status %d", route, host, origin, got)
				}
			}
		}
	}
}
