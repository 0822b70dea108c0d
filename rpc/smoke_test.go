package rpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestSmoke(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := AcceptWebSocket(w, r, WebSocketOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		c := NewConn(s, HandlerFunc(func(c *Conn, r *Request) { r.Reply(r.Params()) }), Options{})
		if err := c.Serve(context.Background()); err != nil {
			t.Error(err)
		}
	}))
	defer srv.Close()
	c, err := Dial(t.Context(), srv.URL, DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]int
	if err := c.Call(t.Context(), "x", map[string]int{"a": 5}, &out); err != nil || out["a"] != 5 {
		t.Fatal(err, out)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
