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
	deps                  *session.Deps
	limit                 int           // maximum number of loaded sessions
	patience              time.Duration // with the end of a session
	prepare, prepareLater func()        // do their work at the first call

	mu       sync.Mutex
	sessions map[string]*session.Session
	loaded   map[string]string        // ids of the sessions with room in memory, by epoch
	held     map[*session.Session]int // how many requests are about to reach a session, see hold
	closed   bool
}

var errShutdown = &rpc.Error{Code: wire.CodeBusy, Message: "the server is shutting down"}

func newRegistry(deps *session.Deps, limit int, prepare, prepareLater func()) *registry {
	return &registry{
		deps: deps, limit: limit, patience: closeLimit, prepare: prepare, prepareLater: prepareLater,
		sessions: make(map[string]*session.Session), loaded: make(map[string]string), held: make(map[*session.Session]int),
	}
}

// sessionID is the form of an id. Other ids are not looked up.
var sessionID = lazy.Regexp(`^sess_[0-9A-HJKMNP-TV-Z]{26}$`)

// open returns the session with the given id. If it turns out not to exist when it loads, its methods fail with
// history.ErrNotFound. A session that is closing gets a successor, which waits for its end. The session is held: it is not
// unloaded before the caller has called release.
func (g *registry) open(id string) (s *session.Session, release func(), err error) {
	if !sessionID().MatchString(id) {
		return nil, nil, wire.NotFound("session", id)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s = g.sessions[id]
	if s != nil && !s.Closing() {
		return s, g.hold(s), nil
	}
	if err := g.enter(); err != nil {
		return nil, nil, err
	}
	g.prepareLater()
	s = session.Open(g.deps, id, s)
	g.sessions[id] = s
	return s, g.hold(s), nil
}

// create returns a new session, which is held.
func (g *registry) create(record history.Session) (s *session.Session, release func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.enter(); err != nil {
		return nil, nil, err
	}
	g.prepare()
	s = session.Create(g.deps, record)
	g.sessions[s.ID()] = s
	return s, g.hold(s), nil
}

// hold keeps a session from being unloaded until release, so that a request reaches the session that was opened for it.
// g.mu is held.
func (g *registry) hold(s *session.Session) (release func()) {
	g.held[s]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.held[s]--; g.held[s] == 0 {
			delete(g.held, s)
		}
	}
}

// leave calls shut, which makes a session take no more requests, unless the session is held.
func (g *registry) leave(id, epoch string, shut func() bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[id]; s != nil && s.Epoch() == epoch && g.held[s] > 0 {
		return false
	}
	return shut()
}

// enter returns an error if there must not be another entry. Entries without room in memory wait in admit, so there are
// at most as many of them as there can be loaded sessions.
func (g *registry) enter() error {
	switch {
	case g.closed:
		return errShutdown
	case len(g.sessions) >= 2*g.limit:
		return g.errFull()
	}
	return nil
}

func (g *registry) errFull() error {
	return &rpc.Error{
		Code: wire.CodeBusy, Message: fmt.Sprintf("all %d sessions in memory are in use; close a session or the clients that watch it", g.limit),
		Data: map[string]int{"limit": g.limit},
	}
}

// admitTime bounds the wait of a session for room in memory: until an idle session has ended.
const admitTime = 10 * time.Second

// admit waits until there is room in memory for a session. If there is none, it unloads the session that has been idle for
// the longest time and that no client watches. Without such a session it fails.
func (g *registry) admit(ctx context.Context, id, epoch string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, admitTime, g.errFull())
	defer cancel()
	for {
		others, err := g.take(id, epoch)
		if err != nil || others == nil {
			return err
		}
		if err := g.makeRoom(ctx, others); err != nil {
			return err
		}
	}
}

// take gives a session room in memory, or returns those that have it, the one used last at the end.
func (g *registry) take(id, epoch string) (others []*session.Session, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, errShutdown
	case len(g.loaded) < g.limit:
		g.loaded[epoch] = id
		return nil, nil
	}
	others = []*session.Session{}
	for epoch, id := range g.loaded {
		if s := g.sessions[id]; s != nil && s.Epoch() == epoch {
			others = append(others, s)
		}
	}
	slices.SortFunc(others, func(a, b *session.Session) int { return a.LastUsed().Compare(b.LastUsed()) })
	return others, nil
}

// makeRoom unloads the first of the sessions that is idle and has no subscribers, and waits until it has ended.
func (g *registry) makeRoom(ctx context.Context, others []*session.Session) error {
	for _, s := range others {
		ends, err := wait(ctx, func(reply func(bool, error)) {
			s.Unload(anyTime, func(ends bool) { reply(ends, nil) })
		})
		if err != nil {
			return err
		}
		if !ends {
			continue
		}
		select {
		case <-s.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return g.errFull()
}

// anyTime is later than the last use of any session.
var anyTime = time.Unix(1<<40, 0)

// ended removes a session. The session calls it when it ends.
func (g *registry) ended(id, epoch string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.loaded, epoch)
	if s := g.sessions[id]; s != nil && s.Epoch() == epoch {
		delete(g.sessions, id)
	}
}

// get returns the session with the given id if it is in memory and not closing.
func (g *registry) get(id string) (*session.Session, bool) {
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
		s.Unload(since, func(bool) {})
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
