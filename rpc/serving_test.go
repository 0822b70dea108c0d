package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// servingClient connects a client that serves the given methods to a connection.
func servingClient(t *testing.T, serve map[string]func(context.Context, json.RawMessage) (any, error)) (*Client, *Conn) {
	var notified []string
	c, conn := dial(t, basic, func(method string, _ json.RawMessage) { notified = append(notified, method) })
	for method, handle := range serve {
		c.Serve(method, handle)
	}
	t.Cleanup(func() {
		c.Close()
		if len(notified) > 0 {
			t.Errorf("the client was notified of %v", notified)
		}
	})
	return c, conn
}

func TestClientServesRequests(t *testing.T) {
	c, conn := servingClient(t, map[string]func(context.Context, json.RawMessage) (any, error){
		"echo":  func(_ context.Context, params json.RawMessage) (any, error) { return params, nil },
		"fail":  func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("no such file") },
		"fault": func(context.Context, json.RawMessage) (any, error) { return nil, &Error{Code: 7, Message: "seven"} },
		"panic": func(context.Context, json.RawMessage) (any, error) { panic("secret") },
		"odd":   func(context.Context, json.RawMessage) (any, error) { return make(chan int), nil },
		"large": func(context.Context, json.RawMessage) (any, error) { return strings.Repeat("x", 1000), nil },
	})
	c.SetFrameLimit(500)
	for range 3 {
		got, err := conn.Call(t.Context(), "echo", map[string]any{"text": "<ü>"}, Position{})
		if err != nil || string(got) != `{"text":"<ü>"}` {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	for method, want := range map[string]PeerError{
		"fail":  {CodeInternal, "no such file"},
		"fault": {7, "seven"},
		"panic": {CodeInternal, "internal error"},
		"odd":   {CodeInternal, "json: unsupported type: chan int"},
		"large": {CodeInternal, ErrTooLarge.Error()},
		"nope":  {CodeMethodNotFound, "this client does not serve the method"},
	} {
		_, err := conn.Call(t.Context(), method, struct{}{}, Position{})
		if e, ok := errors.AsType[*PeerError](err); !ok || *e != want {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := c.Call(t.Context(), "echo", struct{}{}, nil); err != nil {
		t.Error(err)
	}
}

func TestClientCancelsAHandler(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	c, conn := servingClient(t, map[string]func(context.Context, json.RawMessage) (any, error){
		"wait": func(ctx context.Context, _ json.RawMessage) (any, error) {
			entered <- struct{}{}
			<-ctx.Done()
			left <- struct{}{}
			return nil, ctx.Err()
		},
		"echo": func(_ context.Context, params json.RawMessage) (any, error) { return params, nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	out := ask(ctx, conn, "wait", Position{})
	<-entered
	cancel()
	if got := <-out; !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %v", got.err)
	}
	<-left
	if _, err := conn.Call(t.Context(), "echo", struct{}{}, Position{}); err != nil {
		t.Error(err)
	}

	// The end of the connection ends the handlers, and Close waits for them.
	out = ask(t.Context(), conn, "wait", Position{})
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait for the handler")
	case <-left:
	case <-time.After(time.Minute):
		t.Fatal("the handler does not end")
	}
	<-closed
	if got := <-out; !errors.Is(got.err, ErrCallEnded) {
		t.Errorf("got %v", got.err)
	}
}

// Handlers run concurrently, and a server that exceeds the limit, or repeats an id, gets no response.
func TestClientHandlersAreBounded(t *testing.T) {
	w, stream := linkPipe(t, Limits{})
	release := make(chan struct{})
	c := NewClient(stream, nil)
	entered := make(chan struct{}, maxServed)
	c.Serve("wait", func(context.Context, json.RawMessage) (any, error) {
		entered <- struct{}{}
		<-release
		return "done", nil
	})
	p := newPeer(t, w)
	for i := range maxServed {
		p.send(call(fmt.Sprint(i), "wait", ""))
	}
	for range maxServed {
		<-entered
	}
	p.send(call("5", "wait", ""), call(`"more"`, "wait", ""), call(`"unknown"`, "nope", ""), `{"id":"bad","method":7}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":[]}`)
	close(release)
	seen := make(map[string]bool)
	for range maxServed {
		var f struct {
			ID     json.RawMessage
			Result string
		}
		if frame := p.recv(); json.Unmarshal([]byte(frame), &f) != nil || f.Result != "done" || seen[string(f.ID)] {
			t.Fatalf("got %s", frame)
		}
		seen[string(f.ID)] = true
	}
	c.codec.serving.tasks.Wait()
	p.send(call(`"last"`, "nope", ""))
	p.want(failure(`"last"`, CodeMethodNotFound, ""))
	w.close()
	if err := c.Close(); err != nil {
		t.Log(err)
	}
}
