package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Handler handles the requests and notifications of a connection.
type Handler interface {
	// Handle is called for one request at a time, in the order of arrival, on the goroutine that reads: it must not
	// block. It may keep r and respond later from any goroutine.
	Handle(c *Conn, r *Request)
}

// HandlerFunc adapts a function to a Handler.
type HandlerFunc func(c *Conn, r *Request)

// Handle implements Handler.
func (f HandlerFunc) Handle(c *Conn, r *Request) { f(c, r) }

// Request is a request or notification of the peer. It is safe for concurrent use.
//
// Only the first response to a request is sent. Later ones, and all responses to a notification, are dropped.
type Request struct {
	conn   *Conn
	number uint64 // see idTable; 0 for a notification
	method string
	params json.RawMessage
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	responded bool
	cancelled bool
	onCancel  func()
}

// Method returns the method's name.
func (r *Request) Method() string { return r.method }

// Params returns the parameters: a JSON object without lone surrogates, or nil if there are none.
func (r *Request) Params() json.RawMessage { return r.params }

// IsNotification reports whether the peer expects no response.
func (r *Request) IsNotification() bool { return r.number == 0 }

// Context returns a context that ends when the request is responded to or cancelled, or when its connection ends.
func (r *Request) Context() context.Context { return r.ctx }

// OnCancel makes fn run when the peer cancels the request: once, and immediately if the peer already has. fn must not
// block. The handler must then respond itself; without OnCancel the response to a cancelled request is CodeCancelled.
func (r *Request) OnCancel(fn func()) {
	r.mu.Lock()
	late := r.cancelled
	r.onCancel = fn
	r.mu.Unlock()
	if late {
		fn()
	}
}

// cancelByPeer cancels the request on behalf of the peer. It returns false if there was a response already.
func (r *Request) cancelByPeer() bool {
	r.mu.Lock()
	live, again, onCancel := !r.responded, r.cancelled, r.onCancel
	r.cancelled = again || live
	r.mu.Unlock()
	switch {
	case !live:
		return false
	case again: // already handled
	case onCancel != nil:
		r.cancel()
		onCancel()
	default:
		r.Fail(errCancelled)
	}
	return true
}

// Reply responds with a result, which is encoded before Reply returns.
func (r *Request) Reply(result any) { r.ReplyAfter(result, nil, 0) }

// ReplyAfter responds with a result. The response is written once src has sent everything up to seq, has nothing more
// to send, or is detached.
func (r *Request) ReplyAfter(result any, src Source, seq uint64) {
	raw, err := encode(result)
	if err != nil {
		r.FailAfter(fmt.Errorf("encode the result of %s: %w", r.method, err), src, seq)
		return
	}
	r.respond(&outgoing{result: raw}, src, seq)
}

// Fail responds with an error. An *Error is sent unchanged; Options.MapError maps other errors. An error that it does
// not map is logged with a stack and sent as CodeInternal without its text.
func (r *Request) Fail(err error) { r.FailAfter(err, nil, 0) }

// FailAfter is Fail, written after the notifications of src like the result of ReplyAfter.
func (r *Request) FailAfter(err error, src Source, seq uint64) {
	if r.closed() {
		return
	}
	wire, encodeErr := r.wireError(err).wire()
	if encodeErr != nil {
		r.conn.log.Error("error sent without its data", keyMethod, r.method, keyError, encodeErr)
	}
	r.respond(&outgoing{err: wire}, src, seq)
}

// wireError returns the error to send for err.
func (r *Request) wireError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e := r.conn.opt.MapError(err); e != nil {
		return e
	}
	if r.ctx.Err() != nil && errors.Is(err, context.Canceled) { // with the connection: nobody receives the response
		return errCancelled
	}
	r.conn.log.Error("request failed", keyMethod, r.method, keyError, err, keyStack, string(debug.Stack()))
	return errInternal
}

// closed reports whether a response would be dropped.
func (r *Request) closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.responded || r.IsNotification()
}

// respond queues resp unless a response was queued before.
func (r *Request) respond(resp *outgoing, src Source, seq uint64) {
	r.mu.Lock()
	drop := r.responded || r.IsNotification()
	r.responded = true
	r.mu.Unlock()
	if drop {
		return
	}
	resp.number = r.number
	r.conn.out.put(resp, src, seq)
	r.cancel()
}

// Later is returned by a function given to Request.Go, in place of a result, if the response is sent elsewhere.
var Later any = &later{}

type later struct{ _ byte } // not empty: pointers to distinct zero-size variables may be equal

// Go runs fn with the request's Context in a goroutine that the connection waits for, and responds with the result.
// If fn panics, the response is CodeInternal. If too many functions are running, fn is not run and the response is
// CodeInvalidRequest. On a connection that has ended, fn is not run.
func (r *Request) Go(fn func(ctx context.Context) (any, error)) {
	if !r.conn.start(func() { r.run(fn) }) {
		r.Fail(r.conn.tooMany())
	}
}

func (r *Request) run(fn func(ctx context.Context) (any, error)) {
	defer r.rescue()
	result, err := r.conn.run(r.ctx, fn)
	if err != nil {
		r.Fail(err)
		return
	}
	if result != Later {
		r.Reply(result)
	}
}

// rescue recovers from a panic of a handler: the request fails, the process continues. It must be deferred.
func (r *Request) rescue() {
	if p := recover(); p != nil {
		r.conn.log.Error("handler panicked", keyMethod, r.method, keyPanic, p, keyStack, string(debug.Stack()))
		r.Fail(errInternal)
	}
}
