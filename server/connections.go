package server

import (
	"maps"
	"slices"
	"sync"
	"time"

	"strata/rpc"
	"strata/server/access"
)

// Close codes of WebSocket (RFC 6455).
const (
	closeGoingAway     = 1001
	closeProtocolError = 1002 // for a peer that breaks the protocol
	closeUnauthorized  = 1008 // for a peer whose access has ended
)

// connections are the connections of a server. Safe for concurrent use.
type connections struct {
	limit int
	now   func() time.Time
	all   sync.WaitGroup

	mu        sync.Mutex
	open      int                        // including those whose handshake is under way
	served    map[*rpc.Conn]access.Grant // after the handshake
	idleSince time.Time
}

func newConnections(limit int, now func() time.Time) *connections {
	return &connections{limit: limit, now: now, served: make(map[*rpc.Conn]access.Grant), idleSince: now()}
}

// enter counts a connection; it returns false if there are too many. Otherwise leave must be called when it ends.
func (c *connections) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= c.limit {
		return false
	}
	c.open++
	c.all.Add(1)
	return true
}

func (c *connections) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.idleSince = c.now()
	c.all.Done()
}

// serve adds a connection after its handshake, and returns a function that removes it.
func (c *connections) serve(conn *rpc.Conn, grant access.Grant) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served[conn] = grant
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.served, conn)
	}
}

// count returns the number of connections.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// replies returns the number of replies that wait to be written, on all connections.
func (c *connections) replies() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for conn := range c.served {
		n += conn.Queued()
	}
	return n
}

// idleFor returns how long there has been no connection.
func (c *connections) idleFor(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > 0 {
		return 0
	}
	return now.Sub(c.idleSince)
}

// revoke ends the connections whose grants do not hold. Their peers are no longer authorized, so nothing more is sent.
func (c *connections) revoke(holds func(access.Grant) bool, reason string) {
	c.mu.Lock()
	served := maps.Clone(c.served)
	c.mu.Unlock()
	for conn, grant := range served {
		if !holds(grant) {
			conn.Abort(closeUnauthorized, reason)
		}
	}
}

// farewellTime bounds the time for sending the last events of sessions before sockets are closed.
const farewellTime = time.Second

// farewell closes the connections once everything queued has been sent, and waits for that, at most farewellTime.
func (c *connections) farewell() {
	c.mu.Lock()
	left := slices.Collect(maps.Keys(c.served))
	c.mu.Unlock()
	for _, conn := range left {
		conn.Close(closeGoingAway, "going away")
	}
	enough := time.NewTimer(farewellTime)
	defer enough.Stop()
	for _, conn := range left {
		select {
		case <-conn.Done():
		case <-enough.C:
			return
		}
	}
}

// wait returns when all connections have ended.
func (c *connections) wait() { c.all.Wait() }
