package server

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

// maxWaiting is the maximum number of events that wait for one monitor. A monitor that exceeds it is told to list the
// sessions again.
const maxWaiting = 4096

// monitor is a connection's subscription of the events of all sessions. Of the events of one type and session only the
// newest waits, which bounds the cost of a slow client.
type monitor struct {
	wake func()

	mu      sync.Mutex
	waiting map[eventKey]wire.ServerEvent
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
	n, err := e.Notification()
	return n, err == nil, err
}

func (m *monitor) send(e wire.ServerEvent) {
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

// monitors are the monitors of a server. Sending to a monitor never blocks, so mu is held while events are sent.
type monitors struct {
	counts  func(context.Context) wire.Counts
	storage func() string                                // why nothing can be stored, "" if it can
	folder  func(cwd string) (real string, missing bool) // last known state of a folder; must not block

	mu     sync.Mutex
	all    map[*monitor]struct{}
	last   wire.Counts
	states map[string]following.Doing // of loaded sessions that are not idle
	news   map[string]following.Doing // sessions that no client may learn of yet, see expect; what they do
}

func newMonitors(b *backend) *monitors {
	return &monitors{
		counts: b.counts, storage: b.storage, folder: b.folders.Known,
		all: make(map[*monitor]struct{}), states: make(map[string]following.Doing), news: make(map[string]following.Doing),
	}
}

// add returns a new monitor. attach makes it a source of notifications and returns how to wake its reader.
func (h *monitors) add(attach func(rpc.Source) (wake func(), err error)) (*monitor, error) {
	m := &monitor{waiting: make(map[eventKey]wire.ServerEvent)}
	var err error
	if m.wake, err = attach(m); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[m] = struct{}{}
	return m, nil
}

func (h *monitors) remove(m *monitor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, m)
}

func (h *monitors) send(e wire.ServerEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sendLocked(e)
}

// sendLocked is send with h.mu held.
func (h *monitors) sendLocked(e wire.ServerEvent) {
	for m := range h.all {
		m.send(e)
	}
}

// expect holds back the events of a session that is being made, until created or forget: its client has to learn of it
// by the response first.
func (h *monitors) expect(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.news[id] = following.Doing{}
}

// forget ends expect for a session that was not made.
func (h *monitors) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.news, id)
}

// entry returns the list entry of a session, without its state.
func (h *monitors) entry(record history.Session) wire.SessionInfo {
	info := wire.NewSessionInfo(record)
	info.SetFolder(h.folder(record.CWD))
	return info
}

// created reports a session that is new in the list. The response to the request that made it must be queued.
func (h *monitors) created(record history.Session) {
	info := h.entry(record)
	h.mu.Lock()
	defer h.mu.Unlock()
	doing := h.news[record.ID]
	delete(h.news, record.ID)
	h.sendLocked(wire.ServerEvent{Type: "created", ID: record.ID, Session: &info})
	if doing.State != "" {
		h.sendLocked(wire.StateEvent(record.ID, doing))
	}
}

// renamed reports a new title or folder.
func (h *monitors) renamed(record history.Session) {
	info := h.entry(record)
	h.send(wire.ServerEvent{Type: "renamed", ID: record.ID, Session: &info})
}

// deleted reports a session that is no longer in the list.
func (h *monitors) deleted(id string) { h.send(wire.ServerEvent{Type: "deleted", ID: id}) }

// purged reports a deleted session that can no longer be undeleted.
func (h *monitors) purged(id string) { h.send(wire.ServerEvent{Type: "purged", ID: id}) }

// doing reports what a loaded session does.
func (h *monitors) doing(id string, doing following.Doing) {
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

// working returns the ids of the sessions that do something.
func (h *monitors) working() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.states))
}

// works reports whether a session does something.
func (h *monitors) works(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, works := h.states[id]
	return works
}

// info returns the list entry of a session, with its state if it is loaded and not idle.
func (h *monitors) info(record history.Session) wire.SessionInfo {
	info := h.entry(record)
	h.mu.Lock()
	defer h.mu.Unlock()
	if doing, known := h.states[record.ID]; known {
		info.SetDoing(doing)
	}
	return info
}

// countEvery is the interval at which the counts are compared.
const countEvery = time.Second

// run reports changed counts until ctx ends.
func (h *monitors) run(ctx context.Context) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.storage() // logs a database that is gone
			h.reportCounts(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (h *monitors) reportCounts(ctx context.Context) {
	h.mu.Lock()
	watched := len(h.all) > 0
	h.mu.Unlock()
	if !watched {
		return
	}
	now := h.counts(ctx)
	h.mu.Lock()
	changed := now != h.last
	h.last = now
	h.mu.Unlock()
	if changed {
		h.send(wire.ServerEvent{Type: "counts", Counts: &now})
	}
}
