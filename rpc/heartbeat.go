package rpc

import (
	"context"
	"errors"
	"time"
)

// errGone ends a connection whose peer sends nothing.
var errGone = errors.New("the peer does not respond to pings")

// pinger is a stream that can ping its peer.
type pinger interface {
	ping(ctx context.Context) error // returns at the pong or when ctx ends
	reads() uint64                  // non-empty reads so far
}

// heartbeat decides at each ping whether the peer is alive. It counts pings and reads no clock, so a clock jump or
// a suspended machine only delays one ping.
type heartbeat struct {
	allowed int // missed pings in a row after which the peer is gone
	missed  int
	pinged  bool   // since the last check
	reads   uint64 // at the last check
}

// alive reports whether the peer is alive. It is called once per interval with the number of non-empty reads so far.
func (h *heartbeat) alive(reads uint64) bool {
	switch {
	case reads != h.reads:
		h.missed = 0
	case h.pinged:
		h.missed++
	}
	h.reads = reads
	return h.missed < h.allowed
}

// beat pings the peer at each interval and ends the connection when the peer is gone. It runs in its own goroutine.
func (c *Conn) beat(p pinger) {
	ticker := time.NewTicker(c.opt.PingInterval)
	defer ticker.Stop()
	h := heartbeat{allowed: c.opt.PingsMissed}
	for {
		select {
		case <-ticker.C:
		case <-c.ctx.Done():
			return
		}
		if c.out.paused.Load() {
			h.pinged = false // the reader is paused and sees no pongs; the write timeout covers this case
			continue
		}
		if !h.alive(p.reads()) {
			c.stop(ending{err: errGone})
			return
		}
		h.pinged = c.ping(p)
	}
}

// ping sends a ping, waits up to one interval for the pong, and reports whether the ping was sent. It is not sent while
// a large frame is being written to a slow peer; the write timeout covers this case.
func (c *Conn) ping(p pinger) bool {
	// Not the connection's context: if it ended during a write, the library would drop the connection without a close
	// frame. The end of the stream ends the ping, too.
	ctx, cancel := context.WithTimeout(context.Background(), c.opt.PingInterval)
	defer cancel()
	err := p.ping(ctx)
	return err == nil || ctx.Err() != nil
}
