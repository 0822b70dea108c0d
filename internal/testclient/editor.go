// Package testclient is an editor for tests: it implements the Agent Client Protocol and Strata's extensions over a real
// connection, keeps every frame in the order of arrival, and waits for expected frames.
//
// It shares only the streams that carry frames with the server, so that an error in the server's encoding is not
// repeated here. It must only be used by tests.
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

// patience is the time after which a waiting test is considered hung. It is not a measurement.
const patience = 10 * time.Minute

// Editor is one connection. It ends with the test. Its methods are safe for concurrent use, but those that fail the test
// must be called on the test's goroutine.
type Editor struct {
	t      testing.TB
	stream rpc.Stream
	done   chan struct{} // closed when the reader has ended

	writing sync.Mutex // held while a frame is written; never together with mu

	mu      sync.Mutex
	frames  Frames
	replies map[string]Frame // by id, as in the frame
	serves  map[string]Handler
	lastID  int
	ended   error         // reason of the reader's end
	news    chan struct{} // closed and replaced when one of the above has changed
}

// Connect opens a WebSocket to a server. The test fails if it is refused.
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
		serves:  make(map[string]Handler),
		news:    make(chan struct{}),
	}
	go e.read()
	t.Cleanup(e.Close)
	return e
}

// Close closes the connection with a close frame and returns when it has ended.
func (e *Editor) Close() { e.close(1000) }

// Vanish ends the connection without a close frame, like a client that crashes.
func (e *Editor) Vanish() { e.close(0) }

func (e *Editor) close(code int) {
	_ = e.stream.Close(code, "") // it may already have ended
	<-e.done
}

// Done returns a channel that is closed when the connection has ended.
func (e *Editor) Done() <-chan struct{} { return e.done }

// Err returns why the connection has ended: a *rpc.CloseError if the server sent a close code. It is nil before the end.
func (e *Editor) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// Frames returns all frames received so far, in order.
func (e *Editor) Frames() Frames {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.frames[:len(e.frames):len(e.frames)]
}

// Call sends a request and decodes its result into result, unless that is nil.
// An error sent by the server is returned as a *rpc.Error, whose Data is a json.RawMessage.
func (e *Editor) Call(method string, params, result any) error {
	return e.Go(method, params).Wait(result)
}

// Handler returns the result of a request of the server, or its error: an *rpc.Error.
type Handler func(params json.RawMessage) (any, *rpc.Error)

// Serve makes the editor respond to the server's requests for a method. The handler runs on the goroutine that reads. A
// request without a handler gets no response, unless the test sends one with Respond.
func (e *Editor) Serve(method string, handle Handler) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.serves[method] = handle
}

// Respond sends the result of a request of the server.
func (e *Editor) Respond(request Frame, result any) error {
	return e.send(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
}

// respond handles a request of the server, if it is served.
func (e *Editor) respond(request Frame) {
	e.mu.Lock()
	handle := e.serves[request.Method]
	e.mu.Unlock()
	if handle == nil {
		return
	}
	result, fault := handle(request.Params)
	if fault == nil {
		_ = e.Respond(request, result) // the end of the connection is noted by its reader
		return
	}
	_ = e.send(map[string]any{
		"jsonrpc": "2.0", "id": request.ID, "error": map[string]any{"code": fault.Code, "message": fault.Message},
	})
}

// Asked waits for the n-th request of the server for a method, counted from 1.
func (e *Editor) Asked(method string, n int) Frame {
	e.t.Helper()
	var asked Frames
	e.Expect(Condition{
		Name: fmt.Sprintf("%d requests %s", n, method),
		Met: func(fs Frames) bool {
			asked = fs.where(func(f Frame) bool { return f.Method == method && f.ID != nil })
			return len(asked) >= n
		},
	})
	return asked[n-1]
}

// Notify sends a notification.
func (e *Editor) Notify(method string, params any) error {
	return e.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// SendRaw sends a frame unchanged.
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
	start  int   // frames received before it was sent
	err    error // set if it was not sent
}

// Go sends a request and does not wait.
func (e *Editor) Go(method string, params any) *Request {
	e.mu.Lock()
	e.lastID++
	r := &Request{ID: e.lastID, editor: e, method: method, start: len(e.frames)}
	e.mu.Unlock()
	r.err = e.send(map[string]any{"jsonrpc": "2.0", "id": r.ID, "method": method, "params": params})
	return r
}

// Cancel asks the server to cancel the request.
func (r *Request) Cancel() error {
	return r.editor.Notify("$/cancel_request", map[string]any{"requestId": r.ID})
}

// Wait waits for the response, like Call.
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

// reply waits for the response.
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

// read reads frames until the connection ends.
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
	if f.Method != "" && f.ID != nil {
		e.respond(f)
	}
}

// change changes the editor's state and wakes waiting goroutines.
func (e *Editor) change(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
	close(e.news)
	e.news = make(chan struct{})
}

var errPatience = errors.New("timed out")

// wait waits until met returns true. met is called with mu held. Frames received before the end of the connection count.
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
