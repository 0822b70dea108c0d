// Package monitors sends clients the events of all sessions, those of _strata/server/subscribe.
//
// It must never block on a client: of the events of one kind and session only the newest waits.
package monitors

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"strata/history"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/following"
)

// maxWaiting is the maximum number of events that wait for one monitor. A monitor that exceeds it receives a reset:
// its client lists the sessions again.
const maxWaiting = 4096

// Monitor is a connection's subscription of the events of all sessions. Of the events of one type and session only the
// newest waits, which bounds the cost of a slow client.
type Monitor struct {
	wake func()

	mu      sync.Mutex
	waiting map[eventKey]wire.ServerEvent
	order   []eventKey
}

type eventKey struct{ kind, id string }

// Next implements rpc.Source.
func (m *Monitor) Next(context.Context) (rpc.Notification, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.order) == 0 {
		return rpc.Notification{}, false, nil
	}
	key := m.order[0]
	m.order = m.order[1:]
	e := m.waiting[key]
	delete(m.waiting, key)
	n, err := e.Notification()
	return n, err == nil, err
}

func (m *Monitor) send(e wire.ServerEvent) {
	m.mu.Lock()
	key := eventKey{kind: e.Type, id: e.ID}
	if e.Budget != nil {
		key.id = e.Budget.Name
	}
	before, waits := m.waiting[key]
	e.Ended = cmp.Or(e.Ended, before.Ended)
	if !waits {
		if len(m.order) >= maxWaiting {
			clear(m.waiting)
			m.order = m.order[:0]
			e = wire.ServerEvent{Type: "reset"}
			key = eventKey{kind: e.Type}
		}
		m.order = append(m.order, key)
	}
	m.waiting[key] = e
	m.mu.Unlock()
	m.wake()
}

// Monitors are the monitors of a server. Sending to a monitor never blocks, so mu is held while events are sent.
type Monitors struct {
	sources Sources

	mu     sync.Mutex
	all    map[*Monitor]struct{}
	last   wire.Counts
	states map[string]following.Doing // of loaded sessions that are not idle
	news   map[string]following.Doing // sessions that no client may learn of yet, see expect; what they do
}

// Sources are the sources of the other events. Its functions are safe for concurrent use.
type Sources struct {
	Counts  func(context.Context) wire.Counts
	Storage func() string                                // why nothing can be stored, "" if it can
	Folder  func(cwd string) (real string, missing bool) // last known state of a folder; must not block
}

// New returns Monitors without a Monitor.
func New(sources Sources) *Monitors {
	return &Monitors{
		sources: sources,
		all:     make(map[*Monitor]struct{}), states: make(map[string]following.Doing), news: make(map[string]following.Doing),
	}
}

// Add returns a new monitor. attach makes it a source of notifications and returns how to wake its reader.
func (h *Monitors) Add(attach func(rpc.Source) (wake func(), err error)) (*Monitor, error) {
	m := &Monitor{waiting: make(map[eventKey]wire.ServerEvent)}
	var err error
	if m.wake, err = attach(m); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[m] = struct{}{}
	return m, nil
}

func (h *Monitors) Remove(m *Monitor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, m)
}

func (h *Monitors) Send(e wire.ServerEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sendLocked(e)
}

// sendLocked is send with h.mu held.
func (h *Monitors) sendLocked(e wire.ServerEvent) {
	for m := range h.all {
		m.send(e)
	}
}

// Expect holds back the events of a session that is being made, until Created or Forget: its client has to learn of it
// by the response first.
func (h *Monitors) Expect(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.news[id] = following.Doing{}
}

// Forget ends expect for a session that was not made.
func (h *Monitors) Forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.news, id)
}

// Entry returns the list entry of a session, without its state.
func (h *Monitors) Entry(record history.Session) wire.SessionInfo {
	info := wire.NewSessionInfo(record)
	info.SetFolder(h.sources.Folder(record.CWD))
	return info
}

// Created reports a session that is new in the list. The response to the request that made it must be queued.
func (h *Monitors) Created(record history.Session) {
	info := h.Entry(record)
	h.mu.Lock()
	defer h.mu.Unlock()
	doing := h.news[record.ID]
	delete(h.news, record.ID)
	h.sendLocked(wire.ServerEvent{Type: "created", ID: record.ID, Session: &info})
	if doing.State != "" {
		h.sendLocked(wire.StateEvent(record.ID, doing))
	}
}

// Renamed reports a new title or folder.
func (h *Monitors) Renamed(record history.Session) {
	info := h.Entry(record)
	h.Send(wire.ServerEvent{Type: "renamed", ID: record.ID, Session: &info})
}

// Deleted reports a session that is no longer in the list.
func (h *Monitors) Deleted(id string) { h.Send(wire.ServerEvent{Type: "deleted", ID: id}) }

// Purged reports a deleted session that can no longer be undeleted.
func (h *Monitors) Purged(id string) { h.Send(wire.ServerEvent{Type: "purged", ID: id}) }

// Doing reports what a loaded session does.
func (h *Monitors) Doing(id string, doing following.Doing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if doing.State == following.StateIdle || doing.State == following.StateClosed {
		delete(h.states, id)
	} else {
		h.states[id] = doing
	}
	if before, held := h.news[id]; held {
		doing.Ended = cmp.Or(doing.Ended, before.Ended)
		h.news[id] = doing
		return
	}
	h.sendLocked(wire.StateEvent(id, doing))
}

// Working returns the ids of the sessions that do something.
func (h *Monitors) Working() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.states))
}

// Works reports whether a session does something.
func (h *Monitors) Works(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, works := h.states[id]
	return works
}

// Info returns the list entry of a session, with its state if it is loaded and not idle.
func (h *Monitors) Info(record history.Session) wire.SessionInfo {
	info := h.Entry(record)
	h.mu.Lock()
	defer h.mu.Unlock()
	if doing, known := h.states[record.ID]; known {
		info.SetDoing(doing)
	}
	return info
}

// countEvery is the interval at which the counts are compared.
const countEvery = time.Second

// Run reports changed counts until ctx ends.
func (h *Monitors) Run(ctx context.Context) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.sources.Storage() // logs a database that is gone
			h.reportCounts(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (h *Monitors) reportCounts(ctx context.Context) {
	h.mu.Lock()
	watched := len(h.all) > 0
	h.mu.Unlock()
	if !watched {
		return
	}
	now := h.sources.Counts(ctx)
	h.mu.Lock()
	changed := now != h.last
	h.last = now
	h.mu.Unlock()
	if changed {
		h.Send(wire.ServerEvent{Type: "counts", Counts: &now})
	}
}

// Held returns the number of sessions of which no client may learn yet.
func (h *Monitors) Held() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.news)
}
