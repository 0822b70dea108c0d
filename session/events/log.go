package events

import (
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
type eventLog struct {
	maxEvents, maxBytes int

	mu     sync.Mutex
	ring   []Event // grows up to maxEvents, then wraps
	head   int     // index in ring of the oldest event
	count  int
	bytes  int
	last   uint64 // sequence number of the newest event, 0 before the first
	closed bool

	progress progress // of a subscriber that has received all events
}

func newEventLog(maxEvents, maxBytes int) *eventLog {
	return &eventLog{maxEvents: maxEvents, maxBytes: maxBytes}
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
	for l.count > 0 && (l.count == l.maxEvents || l.bytes+e.size() > l.maxBytes) {
		l.drop()
	}
	if l.count == len(l.ring) {
		l.grow()
	}
	l.ring[(l.head+l.count)%len(l.ring)] = e
	l.count++
	l.bytes += e.size()
	return l.last
}

func (l *eventLog) drop() {
	l.bytes -= l.ring[l.head].size()
	l.ring[l.head] = Event{}
	l.head = (l.head + 1) % len(l.ring)
	l.count--
}

func (l *eventLog) grow() {
	bigger := make([]Event, min(max(4, len(l.ring)+len(l.ring)/2), l.maxEvents))
	for i := range l.count {
		bigger[i] = l.ring[(l.head+i)%len(l.ring)]
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
	return after <= l.last && after+uint64(l.count) >= l.last
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

// read returns the event with a sequence number. Without one, state says why.
func (l *eventLog) read(seq uint64) (e Event, state readState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch oldest := l.last - uint64(l.count) + 1; {
	case seq > l.last && l.closed:
		return Event{}, readClosed
	case seq > l.last:
		return Event{}, readNone
	case seq < oldest:
		return Event{}, readBehind
	default:
		return l.ring[(l.head+int(seq-oldest))%len(l.ring)], readEvent
	}
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
