package events

import (
	"context"
	"io"
	"sync"
)

// maxChunk limits the text of one event in bytes, so that a frame stays below 256 KiB even if every character needs an
// escape of six bytes.
const maxChunk = 40 << 10

// Cursor is the position of one subscriber: first in the transcript, while that is replayed, then in the event log.
// The subscriber's own goroutine pulls from the cursor, so a slow subscriber delays nobody.
//
// Next belongs to that goroutine. The mailbox only sets a new position, under mu.
type Cursor struct {
	stream   *Stream
	identity *Identity
	wake     func() // tells the puller that there may be an event; must not block

	mu      sync.Mutex
	pending *position
	paused  bool     // delivers nothing until it is moved or resumed
	own     []string // messages of this subscriber
	wantOwn bool     // receives them while it is attached
	demoted bool     // receives updates only, from its position on

	// These belong to the mailbox.
	asked   uint64   // positions asked for; the newest one counts
	waiting bool     // for its position
	held    []func() // replies that must follow the events of the position

	position // belongs to the goroutine that calls Next
}

// Identity distinguishes a subscriber from others. An event refers to it rather than to the subscriber: the log outlives
// subscribers, and must not keep their connections in memory.
type Identity struct{ _ byte } // not empty: pointers to distinct zero-size variables may be equal

// Identity returns the cursor's identity, nil for a nil cursor.
func (c *Cursor) Identity() *Identity {
	if c == nil {
		return nil
	}
	return c.identity
}

// position is a cursor's place in the transcript and the log. Without one a cursor delivers nothing.
type position struct {
	set      bool
	attached bool   // receives all kinds of events
	next     uint64 // sequence number of the next event
	skipped  uint64 // first of the events before next that were not for this subscriber; 0 for none
	backlog  backlog
	progress progress
	replayed func() // called once, when the backlog was delivered or another position replaces this one; nil for nothing
}

func (p *position) endReplay() {
	if p.replayed != nil {
		p.replayed()
		p.replayed = nil
	}
}

// progress is how much of the transcript's text a subscriber has received. With it a cursor that fell off the event log
// goes on without a gap and without a repetition.
type progress struct {
	settled int64  // transcript position up to which everything was sent
	message string // sent in part
	sent           // of that message
}

// note records what e brings to the subscriber.
func (p *progress) note(e *Event) {
	if e.brings() {
		p.message, p.sent = e.Message, e.past()
	}
	p.settled = max(p.settled, e.Settled)
}

// moveTo sets the position. Only the mailbox calls it.
func (c *Cursor) moveTo(p position) {
	p.set = true
	c.mu.Lock()
	replaced := c.pending
	c.pending, c.paused, c.demoted = &p, false, false
	c.mu.Unlock()
	if replaced != nil {
		replaced.endReplay()
	}
	c.asked++
	c.release()
}

// pause stops delivery until the cursor is moved or resumed. Only the mailbox calls it. newest reports whether no other
// position was asked for since.
func (c *Cursor) pause() (newest func() bool) {
	c.mu.Lock()
	c.paused = true
	c.mu.Unlock()
	c.asked++
	c.waiting = true
	asked := c.asked
	return func() bool { return c.asked == asked }
}

// resume continues delivery at the position before the pause. Only the mailbox calls it.
func (c *Cursor) resume() {
	c.mu.Lock()
	c.paused = false
	c.mu.Unlock()
	c.release()
}

// release sends the replies that waited for the cursor's position.
func (c *Cursor) release() {
	c.waiting = false
	held := c.held
	c.held = nil
	for _, reply := range held {
		reply()
	}
	c.wake()
}

// WhenPositioned calls reply as soon as the cursor does not wait for its position: mostly at once. Only the mailbox calls
// it; c may be nil.
func (c *Cursor) WhenPositioned(reply func()) {
	if c == nil || !c.waiting {
		reply()
		return
	}
	c.held = append(c.held, reply)
}

// demote makes the cursor deliver updates only. Only the mailbox calls it.
func (c *Cursor) demote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.demoted = true
}

// maxOwn limits the messages that a cursor remembers as its subscriber's own; the oldest are forgotten first. They
// matter only to a cursor that falls off the log after so many messages.
const maxOwn = 1024

// claim notes a message of this subscriber. Only the mailbox calls it, before the message's events are appended.
func (c *Cursor) claim(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.own) == maxOwn {
		c.own = c.own[1:]
	}
	c.own = append(c.own, message)
}

// ReceiveOwn sets whether the subscriber, while it is attached, receives the messages that it has caused. It may be called
// from any goroutine, and holds for the events that are not delivered yet.
func (c *Cursor) ReceiveOwn(want bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wantOwn = want
}

func (c *Cursor) receivesOwn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attached && c.wantOwn
}

// claimed returns the messages of this subscriber, nil if it receives them.
func (c *Cursor) claimed() map[string]bool {
	if c.receivesOwn() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	own := make(map[string]bool, len(c.own))
	for _, message := range c.own {
		own[message] = true
	}
	return own
}

// Next returns the subscriber's next event, adjacent deltas merged. If no event is ready, ok is false, and e.Seq is the
// number up to which every event was delivered or is not for this subscriber. After the session's last event the error
// is io.EOF.
func (c *Cursor) Next(ctx context.Context) (e Event, ok bool, err error) {
	if !c.takePosition() {
		return Event{}, false, nil
	}
	for {
		if e, ok, err := c.backlog.next(ctx, c.stream); ok || err != nil {
			return e, ok, err
		}
		c.endReplay()
		e, state := c.stream.log.readRun(c.next, maxChunk)
		switch state {
		case readNone:
			return Event{Seq: c.next - 1}, false, nil
		case readClosed:
			return Event{}, false, io.EOF
		case readBehind:
			if err := c.resync(ctx); err != nil {
				return Event{}, false, err
			}
			continue
		}
		c.next = e.Seq + 1
		c.progress.note(&e)
		if c.receives(&e) {
			return c.cover(e), true, nil
		}
		if c.skipped == 0 {
			c.skipped = e.First
		}
	}
}

// Prompt reports whether Next has events of a page that it has read. It belongs to the goroutine that calls Next.
func (c *Cursor) Prompt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (len(c.backlog.ready) > 0 || len(c.backlog.page) > 0) && c.pending == nil
}

// cover extends an event to the earlier ones that were not for this subscriber, so that an attached client, which
// counts, finds no gap.
func (c *Cursor) cover(e Event) Event {
	if c.attached && c.skipped != 0 {
		e.First = c.skipped
	}
	c.skipped = 0
	return e
}

// takePosition adopts a new position and reports whether the cursor may deliver.
func (c *Cursor) takePosition() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		c.endReplay()
		c.position = *c.pending
		c.pending = nil
	}
	if c.demoted {
		c.attached, c.demoted = false, false
	}
	return c.set && !c.paused
}

func (c *Cursor) receives(e *Event) bool {
	if e.Origin != nil && e.Origin == c.identity {
		return e.brings() && c.receivesOwn()
	}
	return c.attached || e.Kind.Update()
}

// resync moves a cursor that fell off the log to the log's end, and makes the text that it missed its backlog.
func (c *Cursor) resync(ctx context.Context) error {
	now, err := c.stream.standing(ctx)
	if err != nil {
		return err
	}
	first := c.next
	if c.skipped != 0 {
		first = c.skipped
	}
	c.next, c.skipped = now.Seq+1, 0
	c.backlog = now.since(c.progress)
	c.backlog.own = c.claimed()
	if c.attached {
		c.backlog.last = &Event{Kind: Resynced, First: first, Seq: now.Seq}
	}
	c.progress = now.progress()
	return nil
}
