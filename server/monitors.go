package server

import (
	"context"
	"sync"
	"time"

	"strata/history"
	"strata/rpc"
	"strata/session"
)

const methodServerEvent = "_strata/server/event"

// maxWaiting bounds the sessions whose news wait for one monitor. Above it the monitor is told to list anew.
const maxWaiting = 4096

// serverEvent is the newest of one session, or the counts.
type serverEvent struct {
	Type    string       `json:"type"` // created, renamed, state, deleted, counts, reset
	ID      string       `json:"sessionId,omitempty"`
	State   string       `json:"state,omitempty"`
	Session *sessionInfo `json:"session,omitempty"`
	Counts  *counts      `json:"counts,omitempty"`
}

type counts struct {
	Connections   int   `json:"connections"`
	Sessions      int   `json:"sessionsInMemory"`
	Writing       int   `json:"writesWaiting"`
	Replies       int   `json:"repliesWaiting"`
	DatabaseBytes int64 `json:"databaseBytes"`
}

// monitor is one connection's view of all sessions. Of events of one type and session only the newest
// waits, so a slow client costs little.
type monitor struct {
	wake func()

	mu      sync.Mutex
	waiting map[eventKey]serverEvent
	order   []eventKey
}

type eventKey struct{ kind, id string }

// Next implements rpc.Source.
func (m *monitor) Next(context.Context) (rpc.Notification, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.order) == 0 {
		return rpc.Notification{}, false, nil
	}
	key := m.order[0]
	m.order = m.order[1:]
	e := m.waiting[key]
	delete(m.waiting, key)
	return notification(methodServerEvent, 0, e)
}

func (m *monitor) tell(e serverEvent) {
	m.mu.Lock()
	key := eventKey{kind: e.Type, id: e.ID}
	if _, waits := m.waiting[key]; !waits {
		if len(m.order) >= maxWaiting {
			clear(m.waiting)
			m.order = m.order[:0]
			e = serverEvent{Type: "reset"}
			key = eventKey{kind: e.Type}
		}
		m.order = append(m.order, key)
	}
	m.waiting[key] = e
	m.mu.Unlock()
	m.wake()
}

// monitors are all of them. Its lock is held while they are told, which never blocks.
type monitors struct {
	server *Server

	mu     sync.Mutex
	all    map[*monitor]struct{}
	last   counts
	states map[string]session.State // of loaded sessions that are not idle
}

func newMonitors(s *Server) *monitors {
	return &monitors{server: s, all: make(map[*monitor]struct{}), states: make(map[string]session.State)}
}

func (h *monitors) add(m *monitor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[m] = struct{}{}
}

func (h *monitors) remove(m *monitor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, m)
}

func (h *monitors) tell(e serverEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for m := range h.all {
		m.tell(e)
	}
}

func (h *monitors) created(record history.Session) {
	info := wireSession(record)
	h.tell(serverEvent{Type: "created", ID: record.ID, Session: &info})
}

func (h *monitors) renamed(record history.Session) {
	info := wireSession(record)
	h.tell(serverEvent{Type: "renamed", ID: record.ID, Session: &info})
}

func (h *monitors) deleted(id string) { h.tell(serverEvent{Type: "deleted", ID: id}) }

func (h *monitors) state(id string, state session.State) {
	h.keep(id, state)
	h.tell(serverEvent{Type: "state", ID: id, State: string(state)})
}

// keep remembers the state of a session that does something.
func (h *monitors) keep(id string, state session.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if state == session.StateIdle || state == session.StateClosed {
		delete(h.states, id)
		return
	}
	h.states[id] = state
}

// stated adds the state of a session that does something to what is listed of it.
func (h *monitors) stated(info sessionInfo) sessionInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	if state, known := h.states[info.SessionID]; known {
		info.Meta = strataMeta(map[string]string{"state": string(state)})
	}
	return info
}

// count tells the counts if they changed.
func (h *monitors) count(ctx context.Context) {
	h.mu.Lock()
	watched := len(h.all) > 0
	h.mu.Unlock()
	if !watched {
		return
	}
	now := h.server.gauges(ctx)
	h.mu.Lock()
	changed := now != h.last
	h.last = now
	h.mu.Unlock()
	if changed {
		h.tell(serverEvent{Type: "counts", Counts: &now})
	}
}

// countEvery is how often the counts are looked at for the monitors.
const countEvery = time.Second

// run tells the counts until ctx ends.
func (h *monitors) run(ctx context.Context) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.count(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// subscribeServer makes the connection a monitor, once.
func subscribeServer(p *peer, r *rpc.Request, _ struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.monitor == nil {
		m := &monitor{waiting: make(map[eventKey]serverEvent)}
		wake, err := p.conn.Attach(m)
		if err != nil {
			r.Fail(&rpc.Error{Code: rpc.CodeInvalidRequest, Message: "too many subscriptions on this connection"})
			return
		}
		m.wake = wake
		p.monitor = m
		p.server.monitors.add(m)
	}
	r.Go(func(ctx context.Context) (any, error) {
		return map[string]counts{"counts": p.server.gauges(ctx)}, nil
	})
}
