package mcp

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// resumeHeader has the id of the last event that was received of a stream.
const resumeHeader = "Last-Event-ID"

// listener is the body of the stream on which a server sends what belongs to no request, such as changes of its tools. It never
// ends before its context: where the SDK would fail after a few interruptions, as by proxies, it connects again. Without a stream,
// which is optional, it is silent.
type listener struct {
	ctx     context.Context
	end     context.CancelFunc
	web     *web
	req     *http.Request
	current *sieve // nil: to be connected
	lastID  string
	pause   time.Duration // before the next connection
}

// listen returns a response at once, because the SDK waits for it, and servers may send their headers with the first event.
func (w *web) listen(req *http.Request) *http.Response {
	l := &listener{web: w, req: req}
	l.ctx, l.end = context.WithCancel(req.Context())
	stop := context.AfterFunc(w.open, l.end)
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Request: req,
		Body: &releasing{l, func() { stop() }},
	}
}

func (l *listener) Read(p []byte) (int, error) {
	for {
		if l.current == nil {
			if err := l.connect(); err != nil {
				return 0, err
			}
		}
		n, err := l.current.Read(p)
		if n > 0 {
			l.pause = minPause
			return n, nil
		}
		if err != nil {
			l.lastID = l.current.lastID
			_ = l.current.Close()
			l.current = nil
		}
	}
}

func (l *listener) Close() error {
	l.end()
	if l.current == nil {
		return nil
	}
	return l.current.Close()
}

// connect connects until there is a stream. It blocks until the end of the context if the server has none.
func (l *listener) connect() error {
	for {
		if err := l.wait(); err != nil {
			return err
		}
		resp, err := l.request()
		if err != nil {
			continue
		}
		body, isStream := resp.Body.(*sieve)
		if isStream {
			body.lastID = l.lastID
			l.current = body
			return nil
		}
		_ = resp.Body.Close()
		if resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests {
			<-l.ctx.Done()
			return l.ctx.Err()
		}
	}
}

// wait pauses before a connection: not at all, and then longer each time.
func (l *listener) wait() error {
	timer := time.NewTimer(l.pause)
	defer timer.Stop()
	l.pause = min(max(2*l.pause, minPause), maxPause)
	select {
	case <-timer.C:
		return nil
	case <-l.ctx.Done():
		return l.ctx.Err()
	}
}

func (l *listener) request() (*http.Response, error) {
	req := l.web.prepared(l.req.Clone(l.ctx))
	if l.lastID != "" {
		req.Header.Set(resumeHeader, l.lastID)
	}
	resp, err := l.web.base.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("listen to an MCP server: %w", err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		resp.Body = newSieve(l.ctx, resp.Body, l.web.in)
	}
	return resp, nil
}

var _ io.ReadCloser = (*listener)(nil)
