package rpc

import (
	"fmt"
	"runtime/debug"

	"github.com/sourcegraph/jsonrpc2"
)

// write writes frames in the order of the outbox until the connection ends. It runs in its own goroutine. Frames that are
// available without waiting are written together.
func (c *Conn) write() {
	for !c.isStopped() {
		r, s, done := c.out.next()
		var err error
		if r == nil && (s == nil || !s.isPrompt()) {
			err = c.codec.flush()
		}
		switch {
		case err != nil:
		case r != nil:
			err = c.writeQueued(r)
		case s != nil:
			err = c.writeNext(s)
		case done:
			c.finishClose()
			return
		default:
			select {
			case <-c.out.wake:
			case <-c.ctx.Done():
			}
		}
		if err != nil {
			c.stop(ending{err: err})
			return
		}
	}
}

// finishClose ends the connection with the code and reason given to Close.
func (c *Conn) finishClose() {
	c.mu.Lock()
	e := c.requested
	c.mu.Unlock()
	c.stop(e)
}

// writeQueued writes a response or a frame of this end.
func (c *Conn) writeQueued(r *outgoing) error {
	if r.frame == nil {
		return c.writeReply(r)
	}
	err := c.codec.writeFrame(r.frame)
	if r.written != nil {
		r.written()
	}
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	return nil
}

func (c *Conn) writeReply(r *outgoing) error {
	resp := &jsonrpc2.Response{ID: jsonrpc2.ID{Num: r.number}, Error: r.err}
	if r.err == nil {
		resp.Result = &r.result
	}
	c.opt.OnReply(ReplyBefore)
	if err := c.library.SendResponse(c.ctx, resp); err != nil {
		return fmt.Errorf("write reply: %w", err)
	}
	c.opt.OnReply(ReplyAfter)
	return nil
}

// writeNext writes the next notification of a subscription, if there is one. A source that fails is detached.
//
// A response or request that was queued before the source had the notification precedes it: the notification may be about
// the result. The notification is held if the source has another one at hand.
func (c *Conn) writeNext(s *subscription) error {
	n, ok, err := c.pull(s.source)
	if err != nil {
		c.out.end(s)
		if c.ctx.Err() == nil {
			c.log.Error("source detached", keyError, err)
		}
		return nil
	}
	if !ok || !c.out.pulled(s) {
		return nil
	}
	for r := c.out.queued(); r != nil; r = c.out.queued() {
		if err := c.writeQueued(r); err != nil {
			return err
		}
	}
	if err := c.codec.writeNotification(n, s.isPrompt()); err != nil {
		return fmt.Errorf("write notification: %w", err)
	}
	c.out.sent(s, n.Seq)
	return nil
}

// pull returns the next notification of a source. A panic of the source is returned as an error.
func (c *Conn) pull(src Source) (n Notification, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("source panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return src.Next(c.ctx)
}
