package rpc

import (
	"context"
	"errors"
	"time"
)

// errGone ends a connection whose peer shows no sign of life.
var errGone = errors.New("the peer answers no pings")

// pinger is a stream whose peer answers pings.
type pinger interface {
	ping(ctx context.Context) error // returns at the pong or when ctx ends
	signs() uint64                  // signs of life so far
}

// heartbeat judges from one ping to the next whether the peer lives. It counts pings and looks at no clock: after a
// jump of the clock or a night's sleep one ping is late, and that is all.
type heartbeat struct {
	allowed int // pings that may be missed in a row
	missed  int
	pinged  bool   // since the last judgement
	signs   uint64 // at the last judgement
}

// alive is told the signs of life so far, once each interval.
func (h *heartbeat) alive(signs uint64) bool {
	switch {
	case signs != h.signs:
		h.missed = 0
	case h.pinged:
		h.missed++
	}
	h.signs = signs
	return h.missed < h.allowed
}

// beat is the goroutine that pings the peer and ends the connection when it is gone.
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
			h.pinged = false // nobody reads pongs now; the write timeout watches the peer
			continue
		}
		if !h.alive(p.signs()) {
			c.stop(ending{err: errGone})
			return
		}
		h.pinged = c.ping(p)
	}
}

// ping pings, waits for the pong until the next ping is due, and reports whether the ping went out. It does not while
// a large frame is on its way to a slow peer; the write timeout watches that.
func (c *Conn) ping(p pinger) bool {
	// Not the connection's context: when that ends in the middle of a write, the library cuts the connection off
	// before a goodbye is said. The stream's end ends the ping too.
	ctx, cancel := context.WithTimeout(context.Background(), c.opt.PingInterval)
	defer cancel()
	err := p.ping(ctx)
	return err == nil || ctx.Err() != nil
}
