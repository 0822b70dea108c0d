package events

import (
	"context"

	"strata/history"
	"strata/internal/clip"
)

// Messages reads the messages of a session with the given sequence numbers, in the order asked for.
type Messages interface {
	Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error)
}

// Stream is the events of one session with its subscribers. Its methods belong to the session's mailbox; cursors read
// from other goroutines.
type Stream struct {
	session  string
	epoch    string
	store    Messages
	standing func(ctx context.Context) (Standing, error)
	log      *eventLog
	subs     map[*Cursor]bool // whether it is attached
}

// New returns the stream of a session without events. epoch names the stream: sequence numbers are comparable within
// one epoch only. standing returns what the session has said so far; cursors call it from their own goroutines, also
// after the session has ended.
func New(session, epoch string, store Messages, standing func(context.Context) (Standing, error)) *Stream {
	return &Stream{
		session: session, epoch: epoch, store: store, standing: standing,
		log: newEventLog(MaxEvents, MaxBytes), subs: make(map[*Cursor]bool),
	}
}

// Start sets the transcript position before the first event.
func (s *Stream) Start(settled int64) { s.log.start(settled) }

// Epoch returns the stream's epoch.
func (s *Stream) Epoch() string { return s.epoch }

// End returns the sequence number of the newest event, 0 without events.
func (s *Stream) End() uint64 { return s.log.end() }

// Close makes the newest event the last one.
func (s *Stream) Close() {
	s.log.close()
	s.wake()
}

// Emit appends an event, wakes the subscribers and returns the event's sequence number.
func (s *Stream) Emit(e Event) uint64 {
	seq := s.log.append(e)
	s.wake()
	return seq
}

// EmitAll is Emit for several events.
func (s *Stream) EmitAll(all []Event) {
	for _, e := range all {
		s.Emit(e)
	}
}

// EmitDelta appends more text or thinking of a reply, in chunks. sofar is the reply before it.
func (s *Stream) EmitDelta(kind Kind, sofar *Running, text string) {
	at := sofar.progress().sent
	for _, chunk := range clip.Chunks(text, maxChunk) {
		e := Event{Kind: kind, Turn: sofar.Turn, Message: sofar.Message, Role: history.RoleAssistant, Text: chunk, at: at}
		at = e.past()
		s.log.append(e)
	}
	s.wake()
}

// EmitCall appends the announcement of a call in a reply. sofar is the reply before it.
func (s *Stream) EmitCall(sofar *Running, call *history.Block) {
	s.log.append(Event{Kind: Block, Turn: sofar.Turn, Message: sofar.Message, Role: history.RoleAssistant, Block: call, at: sofar.progress().sent})
	s.wake()
}

// EmitChunks appends e once for each chunk of its text.
func (s *Stream) EmitChunks(e Event) {
	for _, part := range appendSplit(nil, e) {
		s.log.append(part)
	}
	s.wake()
}

// EmitMessage appends the events of a stored message. Its author, which may be nil, receives them only if it wants its own
// messages.
func (s *Stream) EmitMessage(m *history.Message, author *Cursor) {
	if author != nil {
		author.claim(m.ID)
	}
	events := appendEvents(nil, m)
	for i := range events {
		events[i].Origin = author.Identity()
	}
	if n := len(events); n > 0 {
		events[n-1].Settled = m.Seq
	}
	for _, e := range events {
		s.log.append(e)
	}
	s.wake()
}

func (s *Stream) wake() {
	for c := range s.subs {
		c.wake()
	}
}

// NewCursor returns a cursor without a position. wake is called whenever there may be an event; it must not block.
// NewCursor may be called from any goroutine.
func (s *Stream) NewCursor(wake func()) *Cursor {
	return &Cursor{stream: s, identity: new(Identity), wake: wake}
}

// Subscribers returns the number of subscribers.
func (s *Stream) Subscribers() int { return len(s.subs) }

// Attached reports whether a subscriber receives all kinds of events.
func (s *Stream) Attached() bool {
	for _, attached := range s.subs {
		if attached {
			return true
		}
	}
	return false
}

// Subscribe makes c a subscriber at the log's end, unless c is a subscriber already. c receives first before anything
// else.
func (s *Stream) Subscribe(c *Cursor, now Standing, first []Event) {
	if _, ok := s.subs[c]; ok {
		return
	}
	s.subs[c] = false
	c.moveTo(position{next: now.Seq + 1, backlog: backlog{tail: first}, progress: now.progress()})
}

// Unsubscribe ends c's subscription.
func (s *Stream) Unsubscribe(c *Cursor) { delete(s.subs, c) }

// Replay makes c a subscriber that receives the whole transcript, the running reply, then last, then all later events.
// replayed, which may be nil and must not block, is called when c has received last or is moved elsewhere; it runs on any
// goroutine.
func (s *Stream) Replay(c *Cursor, now Standing, last []Event, replayed func()) {
	attached := s.subs[c]
	s.subs[c] = attached
	all := now.since(progress{})
	all.tail = append(all.tail, last...)
	c.moveTo(position{attached: attached, next: now.Seq + 1, backlog: all, progress: now.progress(), replayed: replayed})
}

// Since says what a subscriber that attaches has received: the events of Epoch up to After. The zero value is a
// subscriber that has received nothing.
type Since struct {
	Epoch string
	After uint64
}

// Reaches reports whether the log still holds every event after since.
func (s *Stream) Reaches(since Since) bool {
	return since.Epoch == s.epoch && s.log.reaches(since.After)
}

// Continue makes c a subscriber that receives all kinds of events after since, which the log must reach. reply runs
// before c delivers any of them.
func (s *Stream) Continue(c *Cursor, since Since, reply func()) {
	s.subs[c] = true
	c.pause()
	reply()
	c.moveTo(position{attached: true, next: since.After + 1, progress: s.log.progressAt(since.After)})
}

// Hold is an attached subscriber that gets its position when a snapshot was sent.
type Hold struct {
	stream               *Stream
	cursor               *Cursor
	at                   position
	newest               func() bool
	attached, subscribed bool // before
}

// Hold makes c a subscriber that receives all kinds of events after now, but not before its snapshot was sent. Of the
// running reply the snapshot has shown.
func (s *Stream) Hold(c *Cursor, now Standing, shown *Running) *Hold {
	h := &Hold{stream: s, cursor: c, at: position{attached: true, next: now.Seq + 1, progress: now.progress()}}
	if now.Running != nil {
		h.at.backlog = Standing{Running: now.Running}.since(shown.progress())
	}
	h.attached, h.subscribed = s.subs[c]
	s.subs[c] = true
	h.newest = c.pause()
	return h
}

// Place lets the subscriber go on, unless another position was asked for since.
func (h *Hold) Place() {
	if h.newest() {
		h.at.attached = h.stream.subs[h.cursor]
		h.cursor.moveTo(h.at)
	}
}

// Abandon makes the subscriber what it was before Hold, unless another position was asked for since.
func (h *Hold) Abandon() {
	if !h.newest() {
		return
	}
	if _, still := h.stream.subs[h.cursor]; still {
		h.stream.subs[h.cursor] = h.attached
		if !h.subscribed {
			delete(h.stream.subs, h.cursor)
		}
	}
	h.cursor.resume()
}

// Detach makes an attached subscriber an ordinary one.
func (s *Stream) Detach(c *Cursor) {
	if s.subs[c] {
		s.subs[c] = false
		c.demote()
	}
}
