package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// dial connects a Client to a Conn over a real socket.
func dial(t *testing.T, h Handler, onNotification func(string, json.RawMessage)) (*Client, *Conn) {
	accepted := make(chan *WebSocketStream, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := AcceptWebSocket(w, r, WebSocketOptions{Subprotocols: []string{"acp"}})
		if err != nil {
			t.Error(err)
		}
		accepted <- s
	}))
	t.Cleanup(srv.Close)
	c, err := Dial(t.Context(), srv.URL, DialOptions{Subprotocols: []string{"acp"}, OnNotification: onNotification})
	if err != nil {
		t.Fatal(err)
	}
	conn, _ := serveStream(t, <-accepted, h, Options{})
	t.Cleanup(func() { c.Close() })
	return c, conn
}

func TestClientCall(t *testing.T) {
	c, _ := dial(t, basic, nil)
	if got := c.stream.(*WebSocketStream).Subprotocol(); got != "acp" {
		t.Errorf("subprotocol %q", got)
	}
	params := map[string]any{"text": "<ü>", "list": []any{1.0, nil}}
	for range 3 {
		var got map[string]any
		if err := c.Call(t.Context(), "echo", params, &got); err != nil || !reflect.DeepEqual(got, params) {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	if err := c.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestClientError(t *testing.T) {
	c, _ := dial(t, methods{
		"fail": func(_ *Conn, r *Request) { r.Fail(&Error{Code: -32010, Message: "busy", Data: []int{1}}) },
	}, nil)
	err := c.Call(t.Context(), "fail", nil, nil)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != -32010 || e.Message != "busy" || string(e.Data.(json.RawMessage)) != "[1]" {
		t.Errorf("got %v", err)
	}
	if e, ok := errors.AsType[*Error](c.Call(t.Context(), "nope", nil, nil)); !ok || e.Code != CodeMethodNotFound || e.Data != nil {
		t.Errorf("got %v", e)
	}
}

func TestClientGetsNotificationsBeforeTheReply(t *testing.T) {
	var got []string
	var src feedLog
	c, conn := dial(t, methods{
		"turn": func(_ *Conn, r *Request) {
			src.add(1, 2, 3)
			r.ReplyAfter(nil, &src, 3)
		},
	}, func(method string, params json.RawMessage) { got = append(got, method+string(params)) })
	src.attach(t, conn)
	if err := c.Call(t.Context(), "turn", nil, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{`n{"seq":1}`, `n{"seq":2}`, `n{"seq":3}`}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestClientNotify(t *testing.T) {
	noted := make(chan string, 1)
	c, _ := dial(t, methods{"note": func(_ *Conn, r *Request) { noted <- string(r.Params()) }}, nil)
	if err := c.Notify(t.Context(), "note", map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if got := <-noted; got != `{"a":1}` {
		t.Errorf("got %s", got)
	}
}

func TestClientOfAClosedConnection(t *testing.T) {
	c, conn := dial(t, basic, nil)
	waiting := make(chan error, 1)
	go func() { waiting <- c.Call(context.Background(), "hang", nil, nil) }()
	if err := c.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Fatal(err)
	}
	conn.Close(4000, "enough")
	<-c.Done()
	for _, err := range []error{<-waiting, c.Call(t.Context(), "echo", nil, nil), c.Notify(t.Context(), "echo", nil)} {
		closed, ok := errors.AsType[*CloseError](err)
		if !errors.Is(err, ErrClosed) || !ok || closed.Code != 4000 || closed.Reason != "enough" {
			t.Errorf("got %v", err)
		}
	}
	if closed, ok := errors.AsType[*CloseError](c.Err()); !ok || closed.Code != 4000 {
		t.Errorf("Err is %v", c.Err())
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestClientCallEndsWithItsContext(t *testing.T) {
	c, _ := dial(t, basic, nil)
	if c.Err() != nil {
		t.Errorf("Err of a live connection is %v", c.Err())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Call(ctx, "hang", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := c.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Errorf("the connection did not survive: %v", err)
	}
}

// TestClientSkipsUnexpectedFrames: one of them is an error with id null, which belongs to no call.
func TestClientSkipsUnexpectedFrames(t *testing.T) {
	in, fromServer := io.Pipe()
	toServer, out := io.Pipe()
	c := NewClient(NewLineStream(in, out, closers{in, out}, Limits{}), nil)
	go func() {
		if _, err := toServer.Read(make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		io.WriteString(fromServer, strings.Join([]string{
			`x`, `{}`, `[]`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
			`{"jsonrpc":"2.0","id":-1,"result":1}`,
			`{"jsonrpc":"2.0","id":"0","result":1}`,
			`{"jsonrpc":"2.0","id":77,"result":1}`,
			`{"jsonrpc":"2.0","id":0,"method":"ask"}`,
			`{"jsonrpc":"2.0","method":"note"}`,
			`{"jsonrpc":"2.0","id":0,"result":"right"}`,
		}, "\n")+"\n")
	}()
	var got string
	if err := c.Call(t.Context(), "x", nil, &got); err != nil || got != "right" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestDialNamesTheRefusal(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	defer srv.Close()
	_, err := Dial(t.Context(), srv.URL, DialOptions{})
	if err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "who are you?") {
		t.Errorf("got %v", err)
	}
	srv.Close()
	if _, err := Dial(t.Context(), srv.URL, DialOptions{}); err == nil {
		t.Error("dialled a closed server")
	}
}

func TestAcceptRefusesPlainRequests(t *testing.T) {
	rec := httptest.NewRecorder()
	if _, err := AcceptWebSocket(rec, httptest.NewRequest(http.MethodGet, "/acp", nil), WebSocketOptions{}); err == nil || rec.Code < 400 {
		t.Errorf("got %v, status %d", err, rec.Code)
	}
}

func TestF30ClientRefusesLargeFrames(t *testing.T) {
	c, _ := dial(t, basic, nil)
	c.SetFrameLimit(1000)
	for range 2 {
		err := c.Call(t.Context(), "echo", map[string]string{"text": strings.Repeat("x", 1000)}, nil)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("a large request: %v", err)
		}
	}
	if err := c.Call(t.Context(), "echo", map[string]string{"text": "x"}, nil); err != nil {
		t.Errorf("a small request: %v", err)
	}
}
