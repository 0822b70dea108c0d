package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"strata/history"
	"strata/internal/lazy"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
)

// registry holds the sessions in memory. A session has an entry, and takes requests, from the first request for it on;
// it loads itself. Safe for concurrent use.
type registry struct {
	deps     *session.Deps
	limit    int           // maximum number of sessions
	patience time.Duration // with the end of a session

	mu       sync.Mutex
	sessions map[string]*session.Session
	closed   bool
}

var errShutdown = &rpc.Error{Code: wire.CodeBusy, Message: "the server is shutting down"}

func newRegistry(deps *session.Deps, limit int) *registry {
	return &registry{deps: deps, limit: limit, patience: closeLimit, sessions: make(map[string]*session.Session)}
}

// sessionID is the form of an id. Other ids are not looked up.
var sessionID = lazy.Regexp(`^sess_[0-9A-HJKMNP-TV-Z]{26}$`)

// open returns the session with the given id. If it turns out not to exist when it loads, its methods fail with
// history.ErrNotFound. A session that is closing gets a successor, which waits for its end.
func (g *registry) open(id string) (*session.Session, error) {
	if !sessionID().MatchString(id) {
		return nil, wire.NotFound("session", wire.Clip(id))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sessions[id]
	if s != nil && !s.Closing() {
		return s, nil
	}
	if err := g.admit(s != nil); err != nil {
		return nil, err
	}
	s = session.Open(g.deps, id, s)
	g.sessions[id] = s
	return s, nil
}

// create returns a new session.
func (g *registry) create(record history.Session) (*session.Session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.admit(false); err != nil {
		return nil, err
	}
	s := session.Create(g.deps, record)
	g.sessions[s.ID()] = s
	return s, nil
}

func (g *registry) admit(replaces bool) error {
	switch {
	case g.closed:
		return errShutdown
	case !replaces && len(g.sessions) >= g.limit:
		return fmt.Errorf("%w: %d sessions are in memory; close some", session.ErrOverload, g.limit)
	}
	return nil
}

// ended removes a session. The session calls it when it ends.
func (g *registry) ended(id, epoch string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[id]; s != nil && s.Epoch() == epoch {
		delete(g.sessions, id)
	}
}

// loaded returns the session with the given id if it is in memory and not closing.
func (g *registry) loaded(id string) (*session.Session, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sessions[id]
	return s, s != nil && !s.Closing()
}

// all returns the sessions in memory, sorted by id.
func (g *registry) all() []*session.Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]*session.Session, 0, len(g.sessions))
	for _, s := range g.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *session.Session) int { return strings.Compare(a.ID(), b.ID()) })
	return all
}

func (g *registry) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sessions)
}

// closeLimit is how long the end of a session may take before its client is told that it takes longer.
const closeLimit = 15 * time.Second

// close ends the session with the given id and returns when it has ended, immediately if it is not in memory. The error is
// that of ctx, or says that the session has not ended within closeLimit; it ends later then.
func (g *registry) close(ctx context.Context, id, reason string) error {
	g.mu.Lock()
	s := g.sessions[id]
	g.mu.Unlock()
	if s == nil {
		return nil
	}
	ended := make(chan struct{})
	s.Close(reason, func() { close(ended) })
	timer := time.NewTimer(g.patience)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("session %s: %w", id, errSlowEnd)
	}
}

var errSlowEnd = &rpc.Error{Code: wire.CodeBusy, Message: fmt.Sprintf("the session has not ended within %v; it ends later", closeLimit)}

// unloadIdle unloads sessions that have not been used since the given time.
func (g *registry) unloadIdle(since time.Time) {
	for _, s := range g.all() {
		s.Unload(since)
	}
}

// shutdown ends all sessions and waits for them. After it no session is opened.
func (g *registry) shutdown() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range g.all() {
		all.Add(1)
		s.Close(session.ReasonShutdown, all.Done)
	}
	all.Wait()
}
