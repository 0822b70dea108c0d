package events

import (
	"sort"
	"strings"
	"sync"
)

// The limits of an event log. The first one that is reached drops the oldest events.
const (
	MaxEvents = 4096
	MaxBytes  = 8 << 20
)

// eventLog keeps a session's newest events. The mailbox appends; cursors read from the goroutines of their connections.
// Its lock is a leaf: nothing is called while the lock is held.
//
// Each event covers the sequence numbers after the previous event, up to its own. It covers more than its own if a passing
// event before it was removed.
type eventLog struct {
	maxEvents, maxBytes int

	mu      sync.Mutex
	ring    []Event // grows up to maxEvents, then wraps
	head    int     // index in ring of the oldest event
	count   int
	bytes   int
	last    uint64            // sequence number of the newest event, 0 before the first
	passing map[string]uint64 // sequence numbers of the passing events, by call
	closed  bool

	progress progress // of a subscriber that has received all events
}

func newEventLog(maxEvents, maxBytes int) *eventLog {
	return &eventLog{maxEvents: maxEvents, maxBytes: maxBytes, passing: make(map[string]uint64)}
}

// start sets the transcript position before the first event.
func (l *eventLog) start(settled int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress.settled = settled
}

// append gives e the next sequence number and returns it.
func (l *eventLog) append(e Event) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.First, e.Seq = l.last, l.last
	e.was = l.progress
	l.progress.note(&e)
	l.replace(&e)
	for l.count > 0 && (l.count == l.maxEvents || l.bytes+e.size() > l.maxBytes) {
		l.drop()
	}
	if l.count == len(l.ring) {
		l.grow()
	}
	*l.at(l.count) = e
	l.count++
	l.bytes += e.size()
	return l.last
}

// replace removes the passing event of the call in e. If e is passing, it records e.
func (l *eventLog) replace(e *Event) {
	if e.Call == "" {
		return
	}
	if passed, ok := l.passing[e.Call]; ok {
		l.remove(l.find(passed), e)
	}
	delete(l.passing, e.Call)
	if e.Passing {
		l.passing[e.Call] = e.Seq
	}
}

// at returns the event at an index, from the oldest one.
func (l *eventLog) at(i int) *Event { return &l.ring[(l.head+i)%len(l.ring)] }

// find returns the index of the event that covers a sequence number, which must be one of the log.
func (l *eventLog) find(seq uint64) int {
	return sort.Search(l.count, func(i int) bool { return l.at(i).Seq >= seq })
}

// remove removes the event at an index. Its successor covers its sequence numbers: next, if the removed event is the newest.
func (l *eventLog) remove(i int, next *Event) {
	l.bytes -= l.at(i).size()
	if i+1 < l.count {
		next = l.at(i + 1)
	}
	next.First = l.at(i).First
	for ; i+1 < l.count; i++ {
		*l.at(i) = *l.at(i + 1)
	}
	*l.at(i) = Event{}
	l.count--
}

func (l *eventLog) drop() {
	oldest := l.at(0)
	l.bytes -= oldest.size()
	if oldest.Passing {
		delete(l.passing, oldest.Call)
	}
	*oldest = Event{}
	l.head = (l.head + 1) % len(l.ring)
	l.count--
}

func (l *eventLog) grow() {
	bigger := make([]Event, min(max(4, len(l.ring)+len(l.ring)/2), l.maxEvents))
	for i := range l.count {
		bigger[i] = *l.at(i)
	}
	l.ring, l.head = bigger, 0
}

// end returns the newest sequence number.
func (l *eventLog) end() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// reaches reports whether the log still holds every event after a sequence number.
func (l *eventLog) reaches(after uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return after == l.last || after < l.last && l.at(0).First <= after+1
}

// progressAt returns the progress of a subscriber that has received every event up to a sequence number, which the log
// must reach.
func (l *eventLog) progressAt(after uint64) progress {
	if e, state := l.read(after + 1); state == readEvent {
		return e.was
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress
}

// close marks the newest event as the last one.
func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

type readState int

const (
	readEvent  readState = iota
	readNone             // not appended yet
	readBehind           // dropped: the cursor fell off the log
	readClosed           // the log ended before
)

// read returns the event that covers a sequence number, with this number as its first. Without an event, state is the reason.
func (l *eventLog) read(seq uint64) (e Event, state readState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case seq > l.last && l.closed:
		return Event{}, readClosed
	case seq > l.last:
		return Event{}, readNone
	case l.count == 0 || seq < l.at(0).First:
		return Event{}, readBehind
	}
	e = *l.at(l.find(seq))
	e.First = seq
	return e, readEvent
}

// readRun returns the event with a sequence number, merged with the adjacent deltas after it that continue the same
// message, up to maxText bytes of text.
func (l *eventLog) readRun(seq uint64, maxText int) (Event, readState) {
	first, state := l.read(seq)
	if state != readEvent || !first.Kind.delta() {
		return first, state
	}
	parts := []string{first.Text}
	for size := len(first.Text); size < maxText; {
		next, state := l.read(first.Seq + 1)
		if state != readEvent || next.Kind != first.Kind || next.Message != first.Message || size+len(next.Text) > maxText {
			break
		}
		first.Seq = next.Seq
		parts = append(parts, next.Text)
		size += len(next.Text)
	}
	first.Text = strings.Join(parts, "")
	return first, readEvent
}
