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

// Options are the options of a Conn. Zero fields stand for the defaults.
type Options struct {
	ID           string        // the connection's name; random
	Inflight     int           // requests in flight at once; 64
	MaxDepth     int           // levels that a frame may nest; 200
	OutboxBytes  int           // replies that wait to be written before no further frame is read, in bytes; 16 MiB
	PingInterval time.Duration // 20 s
	PingsMissed  int           // pings without a sign of life after which the peer is gone; 2
	DrainTimeout time.Duration // how long Close may take to send what is queued; 30 s

	MapError func(error) *Error // what the peer may know of a handler's error; nil for an internal error
	OnReply  func(stage string) // called with ReplyBefore and ReplyAfter around the write of each reply; not after one that failed
	Log      *slog.Logger       // slog.Default()
}

// The keys of what is logged.
const (
	keyConnection = "connection"
	keyMethod     = "method"
	keyError      = "err"
	keyPanic      = "panic"
	keyStack      = "stack"
)

// The stages that Options.OnReply is called with.
const (
	ReplyBefore = "reply.before"
	ReplyAfter  = "reply.after"
)

func (o Options) withDefaults() Options {
	o.ID = cmp.Or(o.ID, rand.Text())
	o.Inflight = cmp.Or(o.Inflight, 64)
	o.MaxDepth = cmp.Or(o.MaxDepth, 200)
	o.OutboxBytes = cmp.Or(o.OutboxBytes, 16<<20)
	o.PingInterval = cmp.Or(o.PingInterval, 20*time.Second)
	o.PingsMissed = cmp.Or(o.PingsMissed, 2)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 30*time.Second)
	if o.MapError == nil {
		o.MapError = func(error) *Error { return nil }
	}
	if o.OnReply == nil {
		o.OnReply = func(string) {}
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// Conn is the server's end of a connection. It owns its goroutines: one that reads and calls the handler, one that
// writes, one for the heartbeat, and those of Request.Go. Its methods are safe for concurrent use.
type Conn struct {
	stream  Stream
	handler Handler
	opt     Options
	log     *slog.Logger
	ids     *idTable
	out     *outbox
	codec   *codec
	library *jsonrpc2.Conn  // the writer's way to reply
	ctx     context.Context // from Serve to its end

	stopOnce sync.Once
	stopping chan struct{}
	ending   ending // set before stopping is closed
	done     chan struct{}

	mu      sync.Mutex
	tasks   sync.WaitGroup
	running int         // functions of Request.Go that have not returned
	ended   bool        // no task starts any more
	goodbye ending      // of Close
	drain   *time.Timer // set by Close
}

// ending is how a connection ends.
type ending struct {
	code   int // for the peer; closeAtOnce says nothing to it
	reason string
	err    error // nil where all went as it should
}

// NewConn returns a connection over stream. It does nothing before Serve.
func NewConn(stream Stream, h Handler, opt Options) *Conn {
	opt = opt.withDefaults()
	c := &Conn{
		stream:   stream,
		handler:  h,
		opt:      opt,
		log:      opt.Log.With(keyConnection, opt.ID),
		ids:      newIDTable(),
		out:      newOutbox(opt.OutboxBytes),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
	}
	c.codec = &codec{conn: c, closed: make(chan struct{})}
	return c
}

// ID returns the connection's name.
func (c *Conn) ID() string { return c.opt.ID }

// Done is closed when Serve has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Serve runs the connection until the peer leaves, breaks a limit or is gone, until Close has sent what was queued,
// or until ctx ends, which closes with 1001 at once. It returns when all that the connection owns has ended, with an
// error where the end was not an orderly one. It is to be called once.
func (c *Conn) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	c.ctx = ctx
	// Not under ctx: the library would close the stream before a goodbye is said.
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
	if err := c.stream.Close(c.ending.code, c.ending.reason); err != nil {
		c.log.Debug("connection closed without a goodbye", keyError, err)
	}
	<-c.codec.closed
	c.endTasks()
	close(c.done)
	return c.ending.err
}

// stop ends the connection. The first ending counts.
func (c *Conn) stop(e ending) {
	c.stopOnce.Do(func() {
		c.ending = e
		close(c.stopping)
	})
}

// Close ends the connection in order: it dispatches nothing more, sends the replies that are queued and what the
// sources have, for as long as the drain timeout at most, then closes with code and reason. It does not wait for that.
func (c *Conn) Close(code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.drain != nil {
		return
	}
	c.goodbye = ending{code: code, reason: reason}
	c.drain = time.AfterFunc(c.opt.DrainTimeout, func() { c.stop(ending{code: code, reason: reason}) })
	c.out.close()
}

// Cancel cancels the request in flight with this id, given as it came. It returns false if there is none.
func (c *Conn) Cancel(rawID json.RawMessage) bool {
	r := c.ids.find(bytes.TrimSpace(rawID))
	return r != nil && r.cancelByPeer()
}

// Queued returns how many replies wait to be written.
func (c *Conn) Queued() int { return c.out.queued() }

// Attach adds a source of notifications. The function that it returns is to be called whenever the source has
// something again after it had nothing; it never blocks. The source must be comparable, as a pointer is.
func (c *Conn) Attach(src Source) (wake func(), err error) { return c.out.attach(src) }

// Detach removes a source. At most the notification that is being written is still sent.
func (c *Conn) Detach(src Source) { c.out.detach(src) }

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

// refuse answers a frame that is not dispatched.
func (c *Conn) refuse(number uint64, fault *Error) {
	wire, err := fault.wire()
	if err != nil {
		c.log.Error("error sent without its data", keyError, err)
	}
	c.out.put(&reply{number: number, err: wire, refusal: true}, nil, 0)
}

func (c *Conn) tooMany() *Error {
	fault := invalid("too many requests in flight")
	fault.Data = map[string]int{"limit": c.opt.Inflight}
	return fault
}

// start runs task in a goroutine unless as many run as requests may be in flight: a request that was cancelled
// is out of flight, but its function may still run. On a connection that has ended it does nothing.
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

// run calls fn, which start has counted. It is out of the count before its answer is queued, so that a peer that
// has the answer finds the place free.
func (c *Conn) run(ctx context.Context, fn func(context.Context) (any, error)) (any, error) {
	defer func() {
		c.mu.Lock()
		c.running--
		c.mu.Unlock()
	}()
	return fn(ctx)
}

// endTasks waits for all goroutines and lets no new one start.
func (c *Conn) endTasks() {
	c.mu.Lock()
	c.ended = true
	if c.drain != nil {
		c.drain.Stop()
	}
	c.mu.Unlock()
	c.tasks.Wait()
}

// endingOf returns the ending that an error of reading leads to.
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
