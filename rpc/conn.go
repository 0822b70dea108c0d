package rpc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// Options are the options of a Conn. Zero fields mean the defaults, which follow the semicolons.
type Options struct {
	ID           string        // name of the connection, for logs; random
	Inflight     int           // maximum requests in flight; 64
	MaxDepth     int           // maximum nesting of a frame; defaultDepth
	OutboxBytes  int           // size of the queued responses, in bytes, above which reading pauses; 16 MiB
	Sources      int           // maximum attached sources; 64
	PingInterval time.Duration // time between pings; 20 s
	PingsMissed  int           // missed pings in a row after which the peer is gone; 2
	DrainTimeout time.Duration // maximum time for Close to send queued responses and notifications; 30 s
	Calls        int           // maximum requests of Call in flight; 64
	CallTimeout  time.Duration // maximum time for a response to a request of Call whose context has no deadline; 30 s

	// MapError returns the error to send for an error of a handler, or nil to send an internal error.
	MapError func(error) *Error

	// OnReply is called with ReplyBefore before each response is written, and with ReplyAfter if the write succeeded.
	OnReply func(stage string)

	// OnStray is called for each response of the peer that belongs to no request in flight. It must not block.
	OnStray func()

	Log *slog.Logger // slog.Default()
}

// Keys of log attributes.
const (
	keyConnection = "connection"
	keyMethod     = "method"
	keyError      = "err"
	keyPanic      = "panic"
	keyStack      = "stack"
)

// The stages passed to Options.OnReply.
const (
	ReplyBefore = "reply.before"
	ReplyAfter  = "reply.after"
)

func (o Options) withDefaults() Options {
	o.ID = cmp.Or(o.ID, rand.Text())
	o.Inflight = cmp.Or(o.Inflight, 64)
	o.MaxDepth = cmp.Or(o.MaxDepth, defaultDepth)
	o.OutboxBytes = cmp.Or(o.OutboxBytes, 16<<20)
	o.Sources = cmp.Or(o.Sources, 64)
	o.PingInterval = cmp.Or(o.PingInterval, 20*time.Second)
	o.PingsMissed = cmp.Or(o.PingsMissed, 2)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 30*time.Second)
	o.Calls = cmp.Or(o.Calls, 64)
	o.CallTimeout = cmp.Or(o.CallTimeout, 30*time.Second)
	if o.MapError == nil {
		o.MapError = func(error) *Error { return nil }
	}
	if o.OnReply == nil {
		o.OnReply = func(string) {}
	}
	if o.OnStray == nil {
		o.OnStray = func() {}
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// Conn is the server's end of a connection. It owns its goroutines: one reads and calls the handler, one writes, one
// runs the heartbeat, and Request.Go starts more. Its methods are safe for concurrent use.
type Conn struct {
	stream  Stream
	handler Handler
	opt     Options
	log     *slog.Logger
	ids     *idTable
	out     *outbox
	calls   *calls
	codec   *codec
	library *jsonrpc2.Conn  // the writer sends responses through it
	ctx     context.Context // set by Serve, ends with it

	stopOnce sync.Once
	stopping chan struct{}
	ending   ending // set before stopping is closed
	done     chan struct{}

	mu        sync.Mutex
	tasks     sync.WaitGroup
	running   int         // functions of Request.Go that have not returned
	ended     bool        // no more tasks may start
	requested ending      // by Close
	drain     *time.Timer // set by Close
}

// ending describes the end of a connection.
type ending struct {
	code   int // sent to the peer; closeNow sends no close frame
	reason string
	err    error // returned by Serve; nil after an orderly end
}

// NewConn returns a connection over stream. It does nothing until Serve is called.
func NewConn(stream Stream, h Handler, opt Options) *Conn {
	opt = opt.withDefaults()
	c := &Conn{
		stream:   stream,
		handler:  h,
		opt:      opt,
		log:      opt.Log.With(keyConnection, opt.ID),
		ids:      newIDTable(),
		out:      newOutbox(opt.OutboxBytes, opt.Sources),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
	}
	c.calls = newCalls(c.out, opt.Calls)
	c.codec = &codec{conn: c, closed: make(chan struct{})}
	return c
}

// ID returns the connection's name.
func (c *Conn) ID() string { return c.opt.ID }

// Done returns a channel that is closed when Serve has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Serve runs the connection until the peer leaves, breaks a limit or stops responding, until Close has sent everything
// queued, or until ctx ends, which closes the stream with 1001 immediately. It returns when all goroutines of the
// connection have ended, with an error unless the end was orderly. It must be called only once.
func (c *Conn) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	c.ctx = ctx
	// Not ctx: when it ends, the library would close the stream without a close frame.
	quiet := jsonrpc2.SetLogger(log.New(io.Discard, "", 0))
	c.library = jsonrpc2.NewConn(context.WithoutCancel(ctx), c.codec, c.codec, jsonrpc2.OnSend(c.codec.sending), quiet)
	c.tasks.Go(c.write)
	if p, ok := c.stream.(pinger); ok {
		c.tasks.Go(func() { c.beat(p) })
	}

	select {
	case <-c.stopping:
	case <-ctx.Done():
		c.stop(ending{code: closeGoingAway, reason: "going away"})
	}
	cancel()
	c.calls.end()
	if err := c.stream.Close(c.ending.code, c.ending.reason); err != nil {
		c.log.Debug("closing handshake failed", keyError, err)
	}
	<-c.codec.closed
	c.endTasks()
	close(c.done)
	return c.ending.err
}

// isStopped reports whether the connection has ended, or ends.
func (c *Conn) isStopped() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return c.ctx.Err() != nil
	}
}

// stop ends the connection. Only the first call has an effect.
func (c *Conn) stop(e ending) {
	c.stopOnce.Do(func() {
		c.ending = e
		close(c.stopping)
	})
}

// Close ends the connection gracefully and does not wait: it stops dispatching, ends the requests of Call, sends queued
// responses and the sources' notifications for at most the drain timeout, then closes the stream with code and reason.
func (c *Conn) Close(code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.drain != nil {
		return
	}
	c.requested = ending{code: code, reason: reason}
	c.drain = time.AfterFunc(c.opt.DrainTimeout, func() { c.stop(ending{code: code, reason: reason}) })
	c.calls.end()
	c.out.close()
}

// Abort ends the connection immediately, without queued responses and notifications. It does not wait.
func (c *Conn) Abort(code int, reason string) { c.stop(ending{code: code, reason: reason}) }

// Cancel cancels the request in flight with this id, given as JSON. It returns false if there is none.
func (c *Conn) Cancel(rawID json.RawMessage) bool {
	r := c.ids.find(bytes.TrimSpace(rawID))
	return r != nil && r.cancelByPeer()
}

// Queued returns the number of responses and requests in the outbox.
func (c *Conn) Queued() int { return c.out.length() }

// Attach adds a source of notifications. Call wake whenever the source has notifications again after Next returned
// none; wake never blocks. The source must be comparable, e.g. a pointer. Attach fails with ErrSources if there are
// too many.
func (c *Conn) Attach(src Source) (wake func(), err error) { return c.out.attach(src) }

// Detach removes a source. A notification that is already being written is still sent.
func (c *Conn) Detach(src Source) { c.out.detach(src) }

// Notify queues a notification that comes from no source. It is written after everything that was queued before it for the
// same position, and as Call writes a request: once the source of after has sent everything up to its sequence number, has
// nothing more to send, or is detached. The outbox does not bound the notifications: the caller must queue at most a few for
// each request of the peer.
func (c *Conn) Notify(n Notification, after Position) {
	c.out.put(&outgoing{frame: append(appendCall(nil, n.Method, n.Params), '}')}, after.Source, after.Seq)
}

func (c *Conn) newRequest(number uint64, params json.RawMessage) *Request {
	r := &Request{conn: c, number: number, ctx: c.ctx, cancel: func() {}}
	if params != nil && params[0] == '{' {
		r.params = bytes.Clone(params)
		cleanSurrogates(r.params)
	}
	if number != 0 {
		r.ctx, r.cancel = context.WithCancel(c.ctx)
	}
	return r
}

// refuse queues fault as the response to a frame that is not dispatched.
func (c *Conn) refuse(number uint64, fault *Error) {
	wire, err := fault.wire()
	if err != nil {
		c.log.Error("error sent without its data", keyError, err)
	}
	c.out.put(&outgoing{number: number, err: wire, refusal: true}, nil, 0)
}

func (c *Conn) tooMany() *Error {
	fault := invalid("too many requests in flight")
	fault.Data = map[string]int{"limit": c.opt.Inflight}
	return fault
}

// start runs task in a goroutine and reports whether it could: at most Options.Inflight tasks run concurrently. This
// limit is separate from the requests in flight, as the function of a cancelled request may still be running.
// On a connection that has ended, start returns true without running task.
func (c *Conn) start(task func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return true
	}
	if c.running >= c.opt.Inflight {
		return false
	}
	c.running++
	c.tasks.Go(task)
	return true
}

// run calls fn, which start has counted, and removes it from the count before the response is queued. A peer that
// has the response can therefore send the next request.
func (c *Conn) run(ctx context.Context, fn func(context.Context) (any, error)) (any, error) {
	defer func() {
		c.mu.Lock()
		c.running--
		c.mu.Unlock()
	}()
	return fn(ctx)
}

// endTasks prevents new goroutines and waits for the running ones.
func (c *Conn) endTasks() {
	c.mu.Lock()
	c.ended = true
	if c.drain != nil {
		c.drain.Stop()
	}
	c.mu.Unlock()
	c.tasks.Wait()
}

// endingOf maps an error of ReadFrame to an ending.
func endingOf(err error) ending {
	closed, ok := errors.AsType[*CloseError](err)
	switch {
	case errors.Is(err, io.EOF) && !ok:
		return ending{}
	case !ok:
		return ending{err: err}
	case closed.Code == closeNormal, closed.Code == closeGoingAway, closed.Code == closeNoStatus:
		return ending{}
	}
	return ending{code: closed.Code, reason: closed.Reason, err: err}
}
