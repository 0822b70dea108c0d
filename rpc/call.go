package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Call sends a request to the peer and waits for its result, which is JSON without lone surrogates. The request is written
// once the source of after has sent everything up to its sequence number, has nothing more to send, or is detached, and
// before any later notification of the source. It must not be called on the goroutine of the handler.
//
// If ctx ends, the error is its cause, or ErrCallLate if its deadline has passed; without a deadline of ctx,
// Options.CallTimeout applies. A request that was written is then cancelled with MethodCancel, and a late response dropped.
// Call fails with ErrCallsFull if too many requests are in flight or the outbox is full, and with ErrCallEnded at the end
// of the connection.
func (c *Conn) Call(ctx context.Context, method string, params any, after Position) (json.RawMessage, error) {
	result, err := c.call(ctx, method, params, after)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", method, err)
	}
	return result, nil
}

func (c *Conn) call(ctx context.Context, method string, params any, after Position) (json.RawMessage, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opt.CallTimeout)
		defer cancel()
	}
	if ctx.Err() != nil {
		return nil, givenUp(ctx)
	}
	p, err := c.begin(method, params, after)
	if err != nil {
		return nil, err
	}
	return p.await(ctx)
}

// Begin queues a request as Call does, and returns before the request is sent. Requests are sent in the order of their Begin.
// Errors are those of Call that need no response. The caller must call Await on the Pending.
func (c *Conn) Begin(method string, params any, after Position) (*Pending, error) {
	p, err := c.begin(method, params, after)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", method, err)
	}
	return p, nil
}

func (c *Conn) begin(method string, params any, after Position) (*Pending, error) {
	raw, err := encode(params)
	if err != nil {
		return nil, err
	}
	k, err := c.calls.begin(method, raw, after)
	if err != nil {
		return nil, err
	}
	return &Pending{conn: c, call: k, method: method}, nil
}

// Pending is a request of this end that is queued or sent.
type Pending struct {
	conn   *Conn
	call   *openCall
	method string
}

// Await waits for the result. If ctx ends, it does the same as Call. Without a deadline in ctx, it waits until the connection
// ends.
func (p *Pending) Await(ctx context.Context) (json.RawMessage, error) {
	result, err := p.await(ctx)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", p.method, err)
	}
	return result, nil
}

func (p *Pending) await(ctx context.Context) (json.RawMessage, error) {
	select {
	case s := <-p.call.settled:
		return s.result, s.err
	case <-ctx.Done():
	}
	p.conn.calls.giveUp(p.call)
	select {
	case s := <-p.call.settled: // it arrived meanwhile
		return s.result, s.err
	default:
		return nil, givenUp(ctx)
	}
}

// givenUp returns the error of a call whose ctx has ended.
func givenUp(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrCallLate
	}
	return context.Cause(ctx)
}

// responded settles the call that a response of the peer belongs to. A response to no call is dropped.
func (c *Conn) responded(m message) {
	if !c.calls.settle(m) {
		c.opt.OnStray()
		c.log.Debug("response without a request dropped")
	}
}
