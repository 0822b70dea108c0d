package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"strata/session/servers"
)

var errClosed = errors.New("the MCP server is no longer in use")

// server is an MCP server that sessions share. Its goroutine starts it, and starts it again when it was woken after a failure.
type server struct {
	definition servers.Definition
	place      servers.Place
	log        *slog.Logger
	limits     limits
	version    string
	reach      func(*inbox) (link, error) // begins a link to the server

	open context.Context // ends with the last use
	end  context.CancelFunc
	done chan struct{} // closed when nothing of the server is left
	wake chan struct{}

	mu      sync.Mutex
	state   servers.State
	current *connection   // nil unless ready
	moved   chan struct{} // closed at the next change of the state
	uses    map[*use]bool
	pause   time.Duration
	next    time.Time // when it may be started again
}

func newServer(d servers.Definition, at servers.Place, log *slog.Logger, l limits, version string, reach func(*inbox) (link, error)) *server {
	s := &server{
		definition: d, place: at, log: log.With("mcpServer", d.Name), limits: l, version: version, reach: reach,
		done:  make(chan struct{}),
		wake:  make(chan struct{}, 1),
		state: servers.State{Status: servers.Starting},
		moved: make(chan struct{}),
		uses:  make(map[*use]bool),
	}
	s.open, s.end = context.WithCancel(context.Background())
	go s.run()
	return s
}

// run starts the server, first at once and then whenever it is woken, until its last use ends.
func (s *server) run() {
	defer close(s.done)
	for {
		s.attempt()
		select {
		case <-s.wake:
		case <-s.open.Done():
			s.failed(errClosed, 0)
			return
		}
	}
}

// attempt starts the server and follows it until it fails or its last use ends.
func (s *server) attempt() {
	c, found, err := s.start()
	if err != nil {
		s.failed(err, 0)
		return
	}
	defer c.close()
	began := time.Now()
	s.ready(c, found)
	err = s.follow(c)
	s.failed(err, time.Since(began))
}

// start initializes the server and lists its tools.
func (s *server) start() (c *connection, found listing, err error) {
	ctx, cancel := context.WithTimeoutCause(s.open, s.limits.start, fmt.Errorf("the server did not start within %v", s.limits.start))
	defer cancel()
	c, found, err = s.connect(ctx, versionWithHandshake)
	if wantsNewer(err) {
		c, found, err = s.connect(ctx, versionNewest)
	}
	return c, found, err
}

// connect starts the server with a version of the protocol. Nothing is left of it after an error.
func (s *server) connect(ctx context.Context, protocol string) (c *connection, found listing, err error) {
	in := newInbox(s.log)
	l, err := s.reach(in)
	if err != nil {
		return nil, listing{}, err
	}
	c, err = connect(ctx, l, in, protocol, s.version, s.place)
	if err != nil {
		err = &failure{l.explain(err), err}
		l.close()
		l.wait()
		return nil, listing{}, err
	}
	found, err = c.list(ctx)
	if err != nil {
		err = &failure{l.explain(err), err}
		c.close()
	}
	return c, found, err
}

// failure is why a server failed: the reason for the user, and the error of the connection.
type failure struct{ reason, cause error }

func (f *failure) Error() string   { return f.reason.Error() }
func (f *failure) Unwrap() []error { return []error{f.reason, f.cause} }

// follow lists the tools of the server again when they have changed. It returns why the connection ended.
func (s *server) follow(c *connection) error {
	for {
		select {
		case <-s.open.Done():
			return errClosed
		case <-c.open.Done():
			return c.link.explain(context.Cause(c.open))
		case <-c.inbox.changed:
		}
		select { // further changes within this time make one list
		case <-time.After(s.limits.relist):
			s.relist(c)
		case <-s.open.Done():
		case <-c.open.Done():
		}
	}
}

// listEnd is the time in which a connection ends whose end has made a list fail. The list knows of it first.
const listEnd = 500 * time.Millisecond

func (s *server) relist(c *connection) {
	ctx, cancel := context.WithTimeoutCause(s.open, s.limits.list, fmt.Errorf("list tools: no response within %v", s.limits.list))
	defer cancel()
	stop := context.AfterFunc(c.open, cancel)
	defer stop()
	found, err := c.list(ctx)
	if err != nil && c.endsWithin(listEnd) {
		return // the end of the connection has another reason, which follow returns
	}
	s.change(func(state *servers.State) {
		if err != nil {
			state.Error = errorText(err)
			return
		}
		state.Tools, state.Error = found.tools, found.omitted()
	})
}

func (s *server) ready(c *connection, found listing) {
	s.log.Debug("an MCP server is ready", "tools", len(found.tools))
	s.change(func(state *servers.State) {
		s.current = c
		*state = servers.State{Status: servers.Ready, Tools: found.tools, Error: found.omitted()}
	})
}

// failed sets the state of a server that has been ready for a time.
func (s *server) failed(err error, ready time.Duration) {
	if s.open.Err() == nil {
		s.log.Warn("an MCP server failed", "error", headline(errorText(err)))
	}
	s.change(func(state *servers.State) {
		s.current = nil
		if ready >= maxPause {
			s.pause = 0
		}
		s.pause = min(max(2*s.pause, minPause), maxPause)
		s.next = time.Now().Add(s.pause)
		state.Status, state.Error = servers.Failed, errorText(err)
	})
}

// change changes the state, and reports that to all uses.
func (s *server) change(f func(*servers.State)) {
	s.mu.Lock()
	f(&s.state)
	s.mu.Unlock()
	s.report()
}

// report tells all uses that the state has changed.
func (s *server) report() {
	s.mu.Lock()
	close(s.moved)
	s.moved = make(chan struct{})
	uses := make([]*use, 0, len(s.uses))
	for u := range s.uses {
		uses = append(uses, u)
	}
	s.mu.Unlock()
	for _, u := range uses {
		u.changed()
	}
}

// restart starts a server that has failed, unless it was started a moment ago.
func (s *server) restart() {
	s.mu.Lock()
	due := s.state.Status == servers.Failed && s.open.Err() == nil && !time.Now().Before(s.next)
	if due {
		s.state.Status = servers.Starting
	}
	s.mu.Unlock()
	if !due {
		return
	}
	s.report()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// connected returns the connection of the server. It waits while the server starts.
func (s *server) connected(ctx context.Context) (*connection, error) {
	for {
		s.mu.Lock()
		state, c, moved := s.state, s.current, s.moved
		s.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case state.Status == servers.Failed:
			return nil, fmt.Errorf("the MCP server %s is not running: %s", s.definition.Name, headline(state.Error))
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// use is a session's use of a server.
type use struct {
	*server
	changed func()
	release func()
}

// State implements servers.Server.
func (u *use) State() servers.State {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state
}

// Wake implements servers.Server.
func (u *use) Wake() { u.restart() }

// Call implements servers.Server.
func (u *use) Call(ctx context.Context, tool string, input json.RawMessage, progress func(string)) (servers.Result, error) {
	c, err := u.connected(ctx)
	if err != nil {
		return servers.Result{}, err
	}
	return c.call(ctx, u.limits, tool, input, progress)
}

// Release implements servers.Server.
func (u *use) Release() { u.release() }
