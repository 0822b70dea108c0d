package session

import (
	"context"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"strata/history"
)

// maxChunk bounds the text of one event in bytes, so that a frame stays below 256 KiB
// even where every character needs an escape of six.
const maxChunk = 40 << 10

// pageBytes bounds what a cursor reads from the store at once.
const pageBytes = 256 << 10

// Cursor is one subscriber's place in a session: first in the transcript, where it is being replayed,
// then in the event log. It is pulled by the subscriber's own goroutine, so that a slow one holds up nobody.
//
// Next belongs to that goroutine; the mailbox only sets a new position, under mu.
type Cursor struct {
	session *Session
	wake    func() // tells the puller that there may be something to pull; must not block

	mu      sync.Mutex
	pending *position
	paused  bool     // delivers nothing until it is placed or resumed
	own     []string // messages that came from this subscriber, which it is not sent
	demoted bool     // is to see updates only, from where it stands

	// These belong to the mailbox.
	places  uint64   // that were asked for; the newest one counts
	waiting bool     // for its place
	held    []func() // answers that must not come before what the place brings

	position // belongs to the goroutine that calls Next
}

// position is where a cursor stands. A cursor without a position has nothing to deliver.
type position struct {
	placed   bool
	attached bool   // sees all kinds of events
	next     uint64 // sequence number of the next event
	skipped  uint64 // first of the events before next that were not for this subscriber, 0 for none
	backlog  backlog
	progress progress
}

// progress is how much of the transcript's text a subscriber has been sent. It is what makes a cursor
// that fell off the event log able to go on without a gap or a repeat.
type progress struct {
	settled int64  // transcript position up to which all is sent
	message string // that was being sent when it left off
	sent           // of it
}

// NewCursor returns a cursor that has no position yet: Prompt, Replay or Attach give it one.
// wake is called whenever there may be something to pull; it must not block.
func (s *Session) NewCursor(wake func()) *Cursor { return &Cursor{session: s, wake: wake} }

// place moves the cursor. Only the mailbox calls it.
func (c *Cursor) place(p position) {
	p.placed = true
	c.mu.Lock()
	c.pending, c.paused, c.demoted = &p, false, false
	c.mu.Unlock()
	c.places++
	c.settle()
}

// pause keeps the cursor from delivering anything until it is placed or resumed. Only the mailbox calls it.
// counts tells whether no other place was asked for since.
func (c *Cursor) pause() (counts func() bool) {
	c.mu.Lock()
	c.paused = true
	c.mu.Unlock()
	c.places++
	c.waiting = true
	asked := c.places
	return func() bool { return c.places == asked }
}

// resume lets the cursor go on from where it was paused. Only the mailbox calls it.
func (c *Cursor) resume() {
	c.mu.Lock()
	c.paused = false
	c.mu.Unlock()
	c.settle()
}

// settle lets go of what waited for the cursor's place.
func (c *Cursor) settle() {
	c.waiting = false
	held := c.held
	c.held = nil
	for _, answer := range held {
		answer()
	}
	c.wake()
}

// whenPlaced calls answer once the cursor does not wait for its place. Only the mailbox calls it; c may be nil.
func (c *Cursor) whenPlaced(answer func()) {
	if c == nil || !c.waiting {
		answer()
		return
	}
	c.held = append(c.held, answer)
}

// demote makes the cursor see updates only. Only the mailbox calls it.
func (c *Cursor) demote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.demoted = true
}

// maxOwn bounds the messages of which a cursor remembers that they came from its subscriber; the oldest
// are forgotten first. They matter only to one that falls off the log behind so many.
const maxOwn = 1024

// claim notes that a message came from this subscriber. Only the mailbox calls it, before the message's
// events are appended.
func (c *Cursor) claim(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.own) == maxOwn {
		c.own = c.own[1:]
	}
	c.own = append(c.own, message)
}

// claimed returns the messages that came from this subscriber.
func (c *Cursor) claimed() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := make(map[string]bool, len(c.own))
	for _, message := range c.own {
		own[message] = true
	}
	return own
}

// Next returns the next event for the subscriber, adjacent deltas merged. Where none is ready ok is
// false, and Seq of the event is the number up to which everything was delivered or is not for this
// subscriber. After the session's last event the error is io.EOF.
func (c *Cursor) Next(ctx context.Context) (e Event, ok bool, err error) {
	if !c.takePosition() {
		return Event{}, false, nil
	}
	for {
		if e, ok, err := c.backlog.next(ctx, c.session.deps.Store); ok || err != nil {
			return e, ok, err
		}
		e, state := c.session.log.readRun(c.next, maxChunk)
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
		if c.sees(&e) {
			return c.cover(e), true, nil
		}
		if c.skipped == 0 {
			c.skipped = e.First
		}
	}
}

// cover makes an event stand for those before it that were not for this subscriber too, so that an
// attached one, which counts, finds no gap.
func (c *Cursor) cover(e Event) Event {
	if c.attached && c.skipped != 0 {
		e.First = c.skipped
	}
	c.skipped = 0
	return e
}

// takePosition takes over a new position and reports whether the cursor may deliver.
func (c *Cursor) takePosition() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		c.position = *c.pending
		c.pending = nil
	}
	if c.demoted {
		c.attached, c.demoted = false, false
	}
	return c.placed && !c.paused
}

func (c *Cursor) sees(e *Event) bool {
	return e.origin != c && (c.attached || e.Kind.update())
}

// note records what e brings to the subscriber.
func (p *progress) note(e *Event) {
	if e.brings() {
		p.message, p.sent = e.Message, e.past()
	}
	p.settled = max(p.settled, e.settled)
}

// resync gives a cursor that fell off the log a new place at its end, and the text it missed as backlog.
func (c *Cursor) resync(ctx context.Context) error {
	st, err := c.session.standing(ctx)
	if err != nil {
		return err
	}
	first := c.next
	if c.skipped != 0 {
		first = c.skipped
	}
	c.next, c.skipped = st.seq+1, 0
	c.backlog = st.since(c.progress)
	c.backlog.own = c.claimed()
	if c.attached {
		c.backlog.last = &Event{Kind: EventResynced, First: first, Seq: st.seq}
	}
	c.progress = st.progress()
	return nil
}

// standing is what a session has said so far: the point from which a cursor goes on.
type standing struct {
	session string
	seq     uint64         // newest event
	heads   []history.Head // transcript
	running *runningText   // nil while no answer is under way
}

// runningText is the text of an answer that is not in the transcript yet.
type runningText struct {
	Turn    string `json:"turnId"`
	Message string `json:"messageId"`
	Thought string `json:"thought,omitempty"`
	Text    string `json:"text"`
}

// since returns everything that a subscriber with progress p has not been sent.
func (st standing) since(p progress) backlog {
	b := backlog{session: st.session, skip: p}
	for i := len(st.heads); i > 0 && st.heads[i-1].Seq > p.settled; i-- {
		b.heads = st.heads[i-1:]
	}
	if st.running != nil {
		b.tail = st.running.events()
	}
	return b
}

// progress is what a subscriber has been sent once it was sent all that there is.
func (st standing) progress() progress {
	var p progress
	if n := len(st.heads); n > 0 {
		p.settled = st.heads[n-1].Seq
	}
	if r := st.running; r != nil {
		p.message, p.sent = r.Message, sent{text: len(r.Text), thought: len(r.Thought)}
	}
	return p
}

func (r *runningText) events() []Event {
	events := split(Event{Kind: EventThought, Turn: r.Turn, Message: r.Message, Role: history.RoleAssistant, Text: r.Thought})
	return append(events, split(Event{Kind: EventText, Turn: r.Turn, Message: r.Message, Role: history.RoleAssistant, Text: r.Text})...)
}

// backlog is what a cursor sends from the transcript before it goes on in the event log.
type backlog struct {
	session string
	heads   []history.Head  // still to be read
	skip    progress        // what was sent already
	own     map[string]bool // messages that are not sent
	ready   []Event         // of the page that was read
	tail    []Event         // the running answer, behind all messages
	last    *Event          // closes it
}

// next returns the next event of the backlog, ok false at its end.
func (b *backlog) next(ctx context.Context, store Store) (Event, bool, error) {
	for {
		switch {
		case len(b.ready) > 0:
			e := b.ready[0]
			b.ready = b.ready[1:]
			if b.trim(&e) {
				return e, true, nil
			}
		case len(b.heads) > 0:
			if err := b.load(ctx, store); err != nil {
				return Event{}, false, err
			}
		case len(b.tail) > 0:
			b.ready, b.tail = b.tail, nil
		case b.last != nil:
			e := *b.last
			b.last = nil
			return e, true, nil
		default:
			return Event{}, false, nil
		}
	}
}

// load reads the next page of messages.
func (b *backlog) load(ctx context.Context, store Store) error {
	seqs, rest := page(b.heads)
	messages, err := store.Messages(ctx, b.session, seqs)
	if err != nil {
		return err
	}
	b.heads = rest
	for i := range messages {
		b.ready = append(b.ready, messageEvents(&messages[i])...)
	}
	return nil
}

// page cuts the first messages off heads, as many as fit pageBytes but at least one.
func page(heads []history.Head) (seqs []int64, rest []history.Head) {
	size := 0
	for i, h := range heads {
		if size += h.Bytes; i > 0 && size > pageBytes {
			return seqs, heads[i:]
		}
		seqs = append(seqs, h.Seq)
	}
	return seqs, nil
}

// trim takes from e what the subscriber was sent before; false if nothing is left.
func (b *backlog) trim(e *Event) bool {
	if e.brings() && b.own[e.Message] {
		return false
	}
	if e.Message != b.skip.message || !e.brings() {
		return true
	}
	if e.Kind == EventBlock {
		b.skip.blocks--
		return b.skip.blocks < 0
	}
	sent := &b.skip.text
	if e.Kind == EventThought {
		sent = &b.skip.thought
	}
	n := min(*sent, len(e.Text))
	*sent -= n
	e.Text = e.Text[n:]
	return e.Text != ""
}

// messageEvents returns a stored message as events. Text and thinking of an answer become deltas, as
// when it was streamed.
func messageEvents(m *history.Message) []Event {
	if m.Status == history.StatusDamaged {
		return []Event{{Kind: EventNotice, Message: m.ID, Role: m.Role, Text: "A message of this session cannot be read; it was left as it is in the database."}}
	}
	var events []Event
	for i := range m.Blocks {
		e := Event{Kind: EventBlock, Turn: m.Turn, Message: m.ID, Role: m.Role, Block: &m.Blocks[i]}
		if m.Role == history.RoleAssistant {
			switch e.Block.Type {
			case history.BlockText:
				e.Kind, e.Text, e.Block = EventText, e.Block.Text, nil
			case history.BlockThinking:
				e.Kind, e.Text, e.Block = EventThought, e.Block.Text, nil
			}
		}
		events = append(events, split(e)...)
	}
	for i := 1; i < len(events); i++ {
		events[i].at = events[i-1].past()
	}
	return events
}

// split cuts an event with a long text into several with at most maxChunk bytes, on character borders.
// Blocks of text are cut too; other blocks stay whole.
func split(e Event) []Event {
	if e.Block != nil && e.Block.Type == history.BlockText {
		var events []Event
		for _, text := range cut(e.Block.Text) {
			block := *e.Block
			block.Text = text
			piece := e
			piece.Block = &block
			events = append(events, piece)
		}
		return events
	}
	if e.Block != nil {
		return []Event{e}
	}
	var events []Event
	for _, text := range cut(e.Text) {
		piece := e
		piece.Text = text
		events = append(events, piece)
	}
	return events
}

// cut divides text into pieces of at most maxChunk bytes on character borders; none for an empty text.
func cut(text string) []string {
	var pieces []string
	for len(text) > maxChunk {
		piece := cutAt(text, maxChunk)
		pieces = append(pieces, piece)
		text = text[len(piece):]
	}
	if text != "" {
		pieces = append(pieces, text)
	}
	return pieces
}

// cutAt returns the first n bytes of text, which is longer, less what would cut a character.
func cutAt(text string, n int) string {
	for low := n - utf8.UTFMax; n > low && n > 0 && !utf8.RuneStart(text[n]); n-- {
	}
	return text[:n]
}

func join(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts, "")
}
