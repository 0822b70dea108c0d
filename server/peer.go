package server

import (
	"sync"

	"strata/rpc"
	"strata/session"
)

// peer is what the server knows of one connection. It handles the connection's requests.
type peer struct {
	server *Server
	conn   *rpc.Conn

	// These belong to the goroutine that reads the connection.
	initialized bool
	refused     bool // the first request was not initialize; the connection is being closed
	compaction  bool // the client can show compactions

	notices bool // the client can show notices; set before the first feed is made

	mu      sync.Mutex
	feeds   map[*session.Session]*feed
	monitor *monitor // of all sessions, once asked for
}

// Handle implements rpc.Handler: it finds the method, on the reader's goroutine.
func (p *peer) Handle(_ *rpc.Conn, r *rpc.Request) {
	p.server.metrics.request(r.Method())
	if !p.admit(r) {
		return
	}
	m, known := p.server.methods[r.Method()]
	if !known || (m.debug && !p.server.opt.Debug) {
		r.Fail(&rpc.Error{Code: rpc.CodeMethodNotFound, Message: "unknown method " + clip(r.Method())})
		return
	}
	m.handle(p, r)
}

// admit keeps the rule that initialize comes first and once.
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

// Close codes of WebSocket (RFC 6455).
const (
	closeGoingAway     = 1001
	closeProtocolError = 1002 // for a peer that breaks the protocol
)

// feed returns the connection's subscription of s, made if there is none.
func (p *peer) feed(s *session.Session) (*feed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.feeds[s]; f != nil {
		return f, nil
	}
	f, err := newFeed(p, s)
	if err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidRequest, Message: "too many subscriptions on this connection", Data: map[string]int{"limit": rpc.MaxSources}}
	}
	p.feeds[s] = f
	return f, nil
}

// subscribed returns the connection's cursor on s, nil where it has none.
func (p *peer) subscribed(s *session.Session) *session.Cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.feeds[s]; f != nil {
		return f.cursor.Load()
	}
	return nil
}

// drop forgets a feed whose session has ended.
func (p *peer) drop(f *feed) {
	p.mu.Lock()
	delete(p.feeds, f.session)
	p.mu.Unlock()
	p.conn.Detach(f)
}

// unsubscribe ends the connection's subscription of s, where it has one.
func (p *peer) unsubscribe(s *session.Session) {
	p.mu.Lock()
	f := p.feeds[s]
	p.mu.Unlock()
	if f != nil {
		s.Unsubscribe(f.cursor.Load())
		p.drop(f)
	}
}

// leave ends all subscriptions when the connection has ended. Turns go on.
func (p *peer) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, f := range p.feeds {
		s.Unsubscribe(f.cursor.Load())
	}
	p.feeds = nil
	if p.monitor != nil {
		p.server.monitors.remove(p.monitor)
	}
}

// clip shortens a name that came from outside, for a message.
func clip(name string) string {
	const limit = 100
	if len(name) > limit {
		return name[:limit] + "…"
	}
	return name
}
