package events

import (
	"context"

	"strata/history"
	"strata/internal/clip"
)

// pageBytes limits what a cursor reads from the store at once. The first page of a replay is smaller, so that its first
// event does not wait for a whole page.
const (
	pageBytes      = 256 << 10
	firstPageBytes = 8 << 10
)

// Standing is everything that a session has said so far: the point at which a cursor goes on.
type Standing struct {
	Seq     uint64         // newest event
	Heads   []history.Head // transcript
	Running *Running       // nil while no reply is under way
}

// Running is the text of a reply that is not in the transcript yet.
type Running struct {
	Turn    string `json:"turnId"`
	Message string `json:"messageId"`
	Thought string `json:"thought,omitempty"`
	Text    string `json:"text"`
}

// Shortened returns the beginning of the running text: at most n bytes of the text and of the thinking, each.
func (r Running) Shortened(n int) *Running {
	r.Thought, r.Text = clip.Bytes(r.Thought, n), clip.Bytes(r.Text, n)
	return &r
}

func (r *Running) events() []Event {
	events := split(Event{Kind: Thought, Turn: r.Turn, Message: r.Message, Role: history.RoleAssistant, Text: r.Thought})
	return append(events, split(Event{Kind: Text, Turn: r.Turn, Message: r.Message, Role: history.RoleAssistant, Text: r.Text})...)
}

// progress returns the progress of a subscriber that has received all of the running text.
func (r *Running) progress() progress {
	return progress{message: r.Message, sent: sent{text: len(r.Text), thought: len(r.Thought)}}
}

// since returns everything that a subscriber with progress p has not received.
func (now Standing) since(p progress) backlog {
	b := backlog{skip: p}
	for i := len(now.Heads); i > 0 && now.Heads[i-1].Seq > p.settled; i-- {
		b.heads = now.Heads[i-1:]
	}
	if now.Running != nil {
		b.tail = now.Running.events()
	}
	return b
}

// progress returns the progress of a subscriber that has received everything.
func (now Standing) progress() progress {
	var p progress
	if now.Running != nil {
		p = now.Running.progress()
	}
	if n := len(now.Heads); n > 0 {
		p.settled = now.Heads[n-1].Seq
	}
	return p
}

// backlog is what a cursor sends from the transcript before it goes on in the event log.
type backlog struct {
	heads []history.Head  // still to be read
	begun bool            // the first page was read
	skip  progress        // sent already
	own   map[string]bool // messages that are not sent
	ready []Event         // of the page that was read
	tail  []Event         // the running reply, after all messages
	last  *Event          // ends the backlog
}

// next returns the next event of the backlog; ok is false at its end.
func (b *backlog) next(ctx context.Context, from *Stream) (e Event, ok bool, err error) {
	for {
		switch {
		case len(b.ready) > 0:
			e := b.ready[0]
			b.ready = b.ready[1:]
			if b.trim(&e) {
				return e, true, nil
			}
		case len(b.heads) > 0:
			if err := b.load(ctx, from); err != nil {
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
func (b *backlog) load(ctx context.Context, from *Stream) error {
	limit := firstPageBytes
	if b.begun {
		limit = pageBytes
	}
	seqs, rest := history.Page(b.heads, limit)
	messages, err := from.store.Messages(ctx, from.session, seqs)
	if err != nil {
		return err
	}
	b.heads, b.begun = rest, true
	for i := range messages {
		b.ready = append(b.ready, messageEvents(&messages[i])...)
	}
	return nil
}

// trim removes from e what the subscriber has received; it reports false if nothing remains.
func (b *backlog) trim(e *Event) bool {
	if e.brings() && b.own[e.Message] {
		return false
	}
	if e.Message != b.skip.message || !e.brings() {
		return true
	}
	if e.Kind == Block {
		b.skip.blocks--
		return b.skip.blocks < 0
	}
	sent := &b.skip.text
	if e.Kind == Thought {
		sent = &b.skip.thought
	}
	n := min(*sent, len(e.Text))
	*sent -= n
	e.Text = e.Text[n:]
	return e.Text != ""
}

// messageEvents returns the events of a stored message. Text and thinking of a reply become deltas, as when the reply was
// streamed.
func messageEvents(m *history.Message) []Event {
	if m.Status == history.StatusDamaged {
		return []Event{{Kind: Notice, Message: m.ID, Role: m.Role, Text: "A message of this session cannot be read; it was left as it is in the database."}}
	}
	var events []Event
	for i := range m.Blocks {
		e := Event{Kind: Block, Turn: m.Turn, Message: m.ID, Role: m.Role, Block: &m.Blocks[i]}
		if m.Role == history.RoleAssistant {
			switch e.Block.Type {
			case history.BlockText:
				e.Kind, e.Text, e.Block = Text, e.Block.Text, nil
			case history.BlockThinking:
				e.Kind, e.Text, e.Block = Thought, e.Block.Text, nil
			}
		}
		events = append(events, split(e)...)
	}
	for i := 1; i < len(events); i++ {
		events[i].at = events[i-1].past()
	}
	return events
}

// split divides an event with a long text into several with at most maxChunk bytes. Blocks of text are divided too; other
// blocks are not.
func split(e Event) []Event {
	if e.Block != nil && e.Block.Type == history.BlockText {
		var events []Event
		for _, text := range clip.Chunks(e.Block.Text, maxChunk) {
			block := *e.Block
			block.Text = text
			part := e
			part.Block = &block
			events = append(events, part)
		}
		return events
	}
	if e.Block != nil {
		return []Event{e}
	}
	var events []Event
	for _, text := range clip.Chunks(e.Text, maxChunk) {
		part := e
		part.Text = text
		events = append(events, part)
	}
	return events
}
