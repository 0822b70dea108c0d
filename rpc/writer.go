package rpc

import (
	"fmt"
	"runtime/debug"

	"github.com/sourcegraph/jsonrpc2"
)

// write is the goroutine that writes: what the outbox says is next, one frame after the other.
func (c *Conn) write() {
	for c.ctx.Err() == nil {
		r, f, done := c.out.next()
		var err error
		switch {
		case r != nil:
			err = c.writeReply(r)
		case f != nil:
			err = c.writeNext(f)
		case done:
			c.sayGoodbye()
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

// sayGoodbye ends the connection as Close asked for.
func (c *Conn) sayGoodbye() {
	c.mu.Lock()
	goodbye := c.goodbye
	c.mu.Unlock()
	c.stop(goodbye)
}

func (c *Conn) writeReply(r *reply) error {
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

// writeNext writes the next notification of a source, if it has one. A source that fails is detached.
func (c *Conn) writeNext(f *feed) error {
	n, ok, err := c.pull(f.source)
	if err != nil {
		c.out.end(f)
		if c.ctx.Err() == nil {
			c.log.Error("source detached", keyError, err)
		}
		return nil
	}
	if !ok || !c.out.pulled(f) {
		return nil
	}
	if err := c.codec.writeNotification(n); err != nil {
		return fmt.Errorf("write notification: %w", err)
	}
	c.out.sent(f, n.Seq)
	return nil
}

// pull asks a source for its next notification. A panic is the source's error.
func (c *Conn) pull(src Source) (n Notification, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("source panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return src.Next(c.ctx)
}
