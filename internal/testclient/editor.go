// Package testclient is an editor for tests: it speaks the Agent Client Protocol and Strata's extensions over a real
// connection, keeps every frame in the order in which it came, and waits for what a test expects of them.
//
// It shares no code with the server but the streams that carry frames, so that a mistake in the server's encoding
// is not repeated here. It must only be used by tests.
package testclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"strata/rpc"
)

// patience is how long an editor waits for anything before the test counts as hung. It measures nothing.
const patience = 10 * time.Minute

// Editor is one connection. Its methods are safe for concurrent use; those that fail the test are for its goroutine.
// It ends with the test.
type Editor struct {
	t      testing.TB
	stream rpc.Stream
	done   chan struct{} // closed when the reader has ended

	writing sync.Mutex // held for each frame that is written; never with mu

	mu      sync.Mutex
	frames  Frames
	replies map[string]Frame // by id, as it is in the frame
	lastID  int
	ended   error         // why the reader ended
	news    chan struct{} // closed, and made anew, when any of the above has changed
}

// Connect opens a WebSocket to a server. The test fails where it is refused.
func Connect(t testing.TB, url, token string) *Editor {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	header := http.Header{"Authorization": {"Bearer " + token}}
	stream, err := rpc.DialWebSocket(ctx, url, rpc.DialOptions{Header: header})
	if err != nil {
		t.Fatal(err)
	}
	return New(t, stream)
}

// New returns the editor at this end of a stream.
func New(t testing.TB, stream rpc.Stream) *Editor {
	e := &Editor{
		t:       t,
		stream:  stream,
		done:    make(chan struct{}),
		replies: make(map[string]Frame),
		news:    make(chan struct{}),
	}
	go e.read()
	t.Cleanup(e.Close)
	return e
}

// Close says goodbye, and returns when the connection has ended.
func (e *Editor) Close() { e.close(1000) }

// Vanish ends the connection without a word, as a client that crashes.
func (e *Editor) Vanish() { e.close(0) }

func (e *Editor) close(code int) {
	_ = e.stream.Close(code, "") // it may have ended already
	<-e.done
}

// Done is closed when the connection has ended.
func (e *Editor) Done() <-chan struct{} { return e.done }

// Err says why the connection has ended: a *rpc.CloseError where the server said so. It is nil before.
func (e *Editor) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// Frames returns all frames that have come so far, in order.
func (e *Editor) Frames() Frames {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.frames[:len(e.frames):len(e.frames)]
}

// Call makes a request and decodes its result into result, unless that is nil.
// What the server answers as an error comes back as a *rpc.Error, whose Data is a json.RawMessage.
func (e *Editor) Call(method string, params, result any) error {
	return e.Go(method, params).Wait(result)
}

// Notify sends a notification.
func (e *Editor) Notify(method string, params any) error {
	return e.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// SendRaw sends a frame as it is.
func (e *Editor) SendRaw(frame string) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	return e.stream.WriteFrame([]byte(frame))
}

func (e *Editor) send(message any) error {
	frame, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return e.SendRaw(string(frame))
}

// Request is a request that was sent.
type Request struct {
	ID int

	editor *Editor
	method string
	start  int   // frames that had come before it was sent
	err    error // it was not sent
}

// Go makes a request and does not wait.
func (e *Editor) Go(method string, params any) *Request {
	e.mu.Lock()
	e.lastID++
	r := &Request{ID: e.lastID, editor: e, method: method, start: len(e.frames)}
	e.mu.Unlock()
	r.err = e.send(map[string]any{"jsonrpc": "2.0", "id": r.ID, "method": method, "params": params})
	return r
}

// Cancel asks the server to give the request up.
func (r *Request) Cancel() error {
	return r.editor.Notify("$/cancel_request", map[string]any{"requestId": r.ID})
}

// Wait waits for the answer, like Call.
func (r *Request) Wait(result any) error {
	reply, err := r.reply()
	if err == nil && result != nil {
		err = json.Unmarshal(reply.Result, result)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.method, err)
	}
	return nil
}

// reply waits for the frame that answers.
func (r *Request) reply() (Frame, error) {
	if r.err != nil {
		return Frame{}, r.err
	}
	var reply Frame
	err := r.editor.wait(func() (ok bool) {
		reply, ok = r.editor.replies[strconv.Itoa(r.ID)]
		return ok
	})
	if err == nil && reply.Error != nil {
		err = reply.Error
	}
	return reply, err
}

// read takes frames until the connection ends.
func (e *Editor) read() {
	defer close(e.done)
	for {
		err := e.stream.ReadFrame(func(frame []byte) error {
			e.took(bytes.Clone(frame))
			return nil
		})
		if err != nil {
			e.change(func() { e.ended = err })
			return
		}
	}
}

func (e *Editor) took(raw []byte) {
	f := decode(raw)
	e.change(func() {
		f.N = len(e.frames)
		e.frames = append(e.frames, f)
		if f.Method == "" {
			e.replies[string(f.ID)] = f
		}
	})
}

// change changes the editor's state and tells those that wait.
func (e *Editor) change(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
	close(e.news)
	e.news = make(chan struct{})
}

var errPatience = errors.New("nothing came that ends the wait")

// wait waits until met, which is called with mu held. What has come before the connection ended still counts.
func (e *Editor) wait(met func() bool) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		e.mu.Lock()
		ok, ended, news := met(), e.ended, e.news
		e.mu.Unlock()
		switch {
		case ok:
			return nil
		case ended != nil:
			return fmt.Errorf("the connection has ended: %w", ended)
		}
		select {
		case <-news:
		case <-timeout.C:
			return errPatience
		}
	}
}
