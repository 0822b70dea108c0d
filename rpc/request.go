package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Handler takes the requests and notifications of a connection.
type Handler interface {
	// Handle is called for one after the other, in the order in which they came, on the goroutine that reads: it must
	// not block. It may keep r and answer later from any goroutine.
	Handle(c *Conn, r *Request)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(c *Conn, r *Request)

// Handle implements Handler.
func (f HandlerFunc) Handle(c *Conn, r *Request) { f(c, r) }

// Request is a request or notification of the peer. It is safe for concurrent use.
//
// A request is answered once: the first answer wins, later ones are dropped, and so is any answer to a notification.
type Request struct {
	conn   *Conn
	number uint64 // see idTable; 0 for a notification
	method string
	params json.RawMessage
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	answered  bool
	cancelled bool
	onCancel  func()
}

// Method returns the method's name.
func (r *Request) Method() string { return r.method }

// Params returns the parameters: a JSON object without lone surrogates, or nil where there are none.
func (r *Request) Params() json.RawMessage { return r.params }

// IsNotification reports whether the peer expects no answer.
func (r *Request) IsNotification() bool { return r.number == 0 }

// Context ends when the request is answered or cancelled and when its connection ends.
func (r *Request) Context() context.Context { return r.ctx }

// OnCancel sets what happens when the peer cancels the request: fn is called once, at once if that has happened
// already, and must not block. How the request ends is then the handler's business.
// Without it a cancelled request is answered with CodeCancelled.
func (r *Request) OnCancel(fn func()) {
	r.mu.Lock()
	late := r.cancelled
	r.onCancel = fn
	r.mu.Unlock()
	if late {
		fn()
	}
}

// cancelByPeer carries out a cancel request. It returns false if the request is answered already.
func (r *Request) cancelByPeer() bool {
	r.mu.Lock()
	live, again, onCancel := !r.answered, r.cancelled, r.onCancel
	r.cancelled = again || live
	r.mu.Unlock()
	switch {
	case !live:
		return false
	case again: // once is enough
	case onCancel != nil:
		r.cancel()
		onCancel()
	default:
		r.Fail(&Error{Code: CodeCancelled, Message: "request cancelled"})
	}
	return true
}

// Reply answers with a result. It is encoded before Reply returns.
func (r *Request) Reply(result any) { r.ReplyAfter(result, nil, 0) }

// ReplyAfter answers with a result that is written once src has sent everything up to seq, has nothing more to send,
// or is detached.
func (r *Request) ReplyAfter(result any, src Source, seq uint64) {
	raw, err := encode(result)
	if err != nil {
		r.FailAfter(fmt.Errorf("encode the result of %s: %w", r.method, err), src, seq)
		return
	}
	r.answer(&reply{result: raw}, src, seq)
}

// Fail answers with an error. An *Error is sent as it is, others as Options.MapError says; what it does not know is
// logged with a stack and sent without its text.
func (r *Request) Fail(err error) { r.FailAfter(err, nil, 0) }

// FailAfter is to Fail as ReplyAfter is to Reply.
func (r *Request) FailAfter(err error, src Source, seq uint64) {
	if r.settled() {
		return
	}
	wire, encodeErr := r.wireError(err).wire()
	if encodeErr != nil {
		r.conn.log.Error("error sent without its data", keyMethod, r.method, keyError, encodeErr)
	}
	r.answer(&reply{err: wire}, src, seq)
}

// wireError returns what the peer may know of err.
func (r *Request) wireError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e := r.conn.opt.MapError(err); e != nil {
		return e
	}
	r.conn.log.Error("request failed", keyMethod, r.method, keyError, err, keyStack, string(debug.Stack()))
	return errInternal
}

var errInternal = &Error{Code: CodeInternal, Message: "internal error"}

// settled reports whether an answer would be dropped.
func (r *Request) settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered || r.IsNotification()
}

// answer queues the answer unless there is one.
func (r *Request) answer(a *reply, src Source, seq uint64) {
	r.mu.Lock()
	drop := r.answered || r.IsNotification()
	r.answered = true
	r.mu.Unlock()
	if drop {
		return
	}
	a.number = r.number
	r.conn.out.put(a, src, seq)
	r.cancel()
}

// Later is what a function given to Request.Go returns in place of a result when somebody else will answer.
var Later any = &later{}

type later struct{ _ byte } // a byte, as pointers to nothing may be equal

// Go runs fn in a goroutine that the connection waits for, and answers with what it returns; a panic answers with
// CodeInternal. fn gets the request's Context. On a connection that has ended fn is not run.
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

// rescue is deferred around a handler's code: a panic costs the request, not the process.
func (r *Request) rescue() {
	if p := recover(); p != nil {
		r.conn.log.Error("handler panicked", keyMethod, r.method, keyPanic, p, keyStack, string(debug.Stack()))
		r.Fail(errInternal)
	}
}
