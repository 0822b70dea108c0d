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
	signs   uint64
	pinged  bool
	missed  int
}

// beat is told the signs of life so far, right before each ping, and reports whether the peer counts as alive.
func (h *heartbeat) beat(signs uint64) bool {
	if h.pinged && signs == h.signs {
		h.missed++
	} else {
		h.missed = 0
	}
	h.signs, h.pinged = signs, true
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
		if c.out.paused.Load() { // nobody reads pongs now; the write timeout watches the peer
			h = heartbeat{allowed: h.allowed}
			continue
		}
		if !h.beat(p.signs()) {
			c.stop(ending{err: errGone})
			return
		}
		c.ping(p)
	}
}

// ping pings and gives the pong until the next ping is due. Its outcome does not matter: any byte is a sign of life.
func (c *Conn) ping(p pinger) {
	ctx, cancel := context.WithTimeout(c.ctx, c.opt.PingInterval)
	defer cancel()
	if err := p.ping(ctx); err != nil {
		c.log.Debug("no pong", "err", err)
	}
}
