package server

import (
	"reflect"
	"sync"
	"sync/atomic"

	"strata/internal/clip"
	"strata/rpc"
	"strata/server/monitors"
	"strata/server/slash"
	"strata/server/wire"
	"strata/session"
	"strata/session/events"
	"strata/session/prompts"
)

// method is an entry of the method table.
type method struct {
	handle func(p *peer, r *rpc.Request)
	params reflect.Type // of the decoded parameters
	debug  bool         // only with --debug
}

// peer is the server's side of one connection. It handles the connection's requests.
type peer struct {
	*backend
	methods map[string]method
	conn    *rpc.Conn

	// These belong to the goroutine that reads the connection. They no longer change once there is a subscription.
	initialized bool
	refused     bool // the first request was not initialize; the connection is being closed
	can         wire.Capabilities

	environment atomic.Pointer[[]string] // that the client has handed over; nil for none

	runs   slash.Runs
	drafts prompts.Newest
	uses   atomic.Uint64 // counts the uses of subscriptions
	ending atomic.Int64  // subscriptions that have to tell that they end

	mu            sync.Mutex
	subscriptions map[*session.Session]*subscription
	notices       []string          // for the user, told in the next session that the connection opens
	monitor       *monitors.Monitor // nil until the client asks for the events of all sessions
}

func newPeer(b *backend, methods map[string]method) *peer {
	return &peer{backend: b, methods: methods, subscriptions: make(map[*session.Session]*subscription)}
}

// Handle implements rpc.Handler. It runs on the goroutine that reads the connection, and does not block.
func (p *peer) Handle(_ *rpc.Conn, r *rpc.Request) {
	p.Metrics.request()
	if !p.admit(r) {
		return
	}
	m, known := p.methods[r.Method()]
	if !known || (m.debug && !p.Debug) {
		r.Fail(&rpc.Error{Code: rpc.CodeMethodNotFound, Message: "unknown method " + clip.Name(r.Method())})
		return
	}
	m.handle(p, r)
}

// admit enforces that initialize is the first request.
func (p *peer) admit(r *rpc.Request) bool {
	switch {
	case p.refused:
		return false
	case p.initialized || r.Method() == "initialize":
		return true
	case r.IsNotification():
		return false
	}
	p.refused = true
	r.Fail(&rpc.Error{Code: rpc.CodeInvalidRequest, Message: "the first request must be initialize"})
	p.conn.Close(closeProtocolError, "initialize first")
	return false
}

// tellLater tells the user something in the next session that the connection opens.
func (p *peer) tellLater(notice string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notices = append(p.notices, notice)
}

// offeredEnvironment returns the environment that the client has handed over, as os.Environ has it; nil for none.
func (p *peer) offeredEnvironment() []string {
	if list := p.environment.Load(); list != nil {
		return *list
	}
	return nil
}

// greet tells the user, in a session that the connection has just opened, what waits to be told.
func (p *peer) greet(s *session.Session) {
	p.mu.Lock()
	notices := p.notices
	p.notices = nil
	p.mu.Unlock()
	for _, notice := range notices {
		s.Notify(notice)
	}
}

// endingSubscriptions is the maximum number of ended subscriptions whose final event is still waiting for a slow client.
const endingSubscriptions = 64

// subscribe returns the connection's subscription of s, a new one if there is none. A new one receives nothing before
// the session places its cursor. A connection has at most as many subscriptions as there can be sessions in memory: one
// more ends the one that has been idle for the longest time.
func (p *peer) subscribe(s *session.Session) (*subscription, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sub := p.subscriptions[s]; sub != nil {
		sub.touch()
		return sub, nil
	}
	p.endIdle()
	sub := newSubscription(p, s)
	if err := sub.attach(); err != nil {
		return nil, tooManySubscriptions(p.Memory)
	}
	p.subscriptions[s] = sub
	return sub, nil
}

// makeRoom ends the subscription that has been idle for the longest time if there is no room for another one. A session
// that is no longer watched can leave memory.
func (p *peer) makeRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endIdle()
}

// endIdle is makeRoom with p.mu held.
func (p *peer) endIdle() {
	if len(p.subscriptions) < p.Memory {
		return
	}
	var idle *subscription
	for _, sub := range p.subscriptions {
		if idle == nil || sub.longerIdle(idle) {
			idle = sub
		}
	}
	delete(p.subscriptions, idle.session)
	idle.unsubscribe()
	if p.ending.Add(1) > endingSubscriptions {
		p.ending.Add(-1)
		p.conn.Detach(idle)
		return
	}
	idle.end()
}

func tooManySubscriptions(limit int) *rpc.Error {
	return &rpc.Error{
		Code: rpc.CodeInvalidRequest, Message: "too many subscriptions on this connection", Data: map[string]int{"limit": limit},
	}
}

// aside sends a notification that is no event, after everything that was queued before. A subscription that has ended sends
// nothing more.
func (p *peer) aside(sub *subscription, n rpc.Notification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subscriptions[sub.session] == sub {
		p.conn.Notify(n, rpc.Position{Source: sub, Seq: afterReplay})
	}
}

// subscription returns the connection's subscription of s, nil if it has none.
func (p *peer) subscription(s *session.Session) *subscription {
	p.mu.Lock()
	defer p.mu.Unlock()
	sub := p.subscriptions[s]
	if sub != nil {
		sub.touch()
	}
	return sub
}

// cursor returns the connection's cursor on s, nil if it has none.
func (p *peer) cursor(s *session.Session) *events.Cursor {
	if sub := p.subscription(s); sub != nil {
		return sub.cursor.Load()
	}
	return nil
}

// unsubscribe ends the connection's subscription of s, if it has one.
func (p *peer) unsubscribe(s *session.Session) {
	p.mu.Lock()
	sub := p.subscriptions[s]
	p.mu.Unlock()
	if sub != nil {
		sub.unsubscribe()
		p.drop(sub)
	}
}

// drop removes a subscription.
func (p *peer) drop(sub *subscription) {
	p.mu.Lock()
	if p.subscriptions[sub.session] == sub {
		delete(p.subscriptions, sub.session)
	}
	p.mu.Unlock()
	p.conn.Detach(sub)
}

// leave ends all subscriptions after the connection has ended. Turns continue.
func (p *peer) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, sub := range p.subscriptions {
		sub.unsubscribe()
		s.Toolbox().Leave(frontend{p, s})
	}
	p.subscriptions = nil
	if p.monitor != nil {
		p.monitors.Remove(p.monitor)
	}
}
