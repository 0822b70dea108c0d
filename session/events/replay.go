package events

import (
	"context"
	"slices"

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

// Running is the part of a running reply that is not in the transcript yet: the message that arrives, and what is to be told
// of the calls before it.
type Running struct {
	Turn    string `json:"turnId"`
	Message string `json:"messageId"`
	Thought string `json:"thought,omitempty"`
	Text    string `json:"text"`
	Elapsed int64  `json:"elapsedMs"` // since the turn began, in a snapshot

	Calls []*history.Block `json:"-"` // of the message: that they were announced
	Open  []Event          `json:"-"` // the present state of calls whose results are not in the transcript
}

// Shortened returns the beginning of the running text: at most n bytes of the text and of the thinking, each. It has no calls:
// a snapshot does not show them.
func (r Running) Shortened(n int) *Running {
	r.Calls = nil
	r.Thought, r.Text = clip.Bytes(r.Thought, n), clip.Bytes(r.Text, n)
	return &r
}

func (r *Running) events() []Event {
	events := appendSplit(slices.Clone(r.Open), Event{Kind: Thought, Turn: r.Turn, Message: r.Message, Role: history.RoleAssistant, Text: r.Thought})
	events = appendSplit(events, Event{Kind: Text, Turn: r.Turn, Message: r.Message, Role: history.RoleAssistant, Text: r.Text})
	for _, call := range r.Calls {
		events = append(events, Event{Kind: Block, Turn: r.Turn, Message: r.Message, Role: history.RoleAssistant, Block: call})
	}
	return events
}

// progress returns the progress of a subscriber that has received all of the running text.
func (r *Running) progress() progress {
	return progress{message: r.Message, sent: sent{text: len(r.Text), thought: len(r.Thought), blocks: len(r.Calls)}}
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
	heads []history.Head    // still to be read
	begun bool              // the first page was read
	skip  progress          // sent already
	own   map[string]bool   // messages that are not sent
	page  []history.Message // that was read
	ready []Event           // of a message of the page
	used  []Event           // memory for ready
	tail  []Event           // the running reply, after all messages
	last  *Event            // ends the backlog
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
		case len(b.page) > 0:
			b.used = appendEvents(b.used[:0], &b.page[0])
			b.ready, b.page = b.used, b.page[1:]
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
			b.ready, b.used = nil, nil // they keep a message in memory
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
	page, err := from.store.Messages(ctx, from.session, seqs)
	if err != nil {
		return err
	}
	b.page, b.heads, b.begun = page, rest, true
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

// appendEvents appends the events of a stored message. Text and thinking of a reply become deltas, as when the reply was
// streamed.
func appendEvents(to []Event, m *history.Message) []Event {
	if m.Status == history.StatusDamaged {
		return append(to, Event{Kind: Notice, Message: m.ID, Role: m.Role, Text: "A message of this session cannot be read; it was left as it is in the database."})
	}
	first := len(to)
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
		to = appendSplit(to, e)
		if shown := m.Blocks[i].Call; shown != nil && shown.Plan != nil {
			to = append(to, Event{Kind: Plan, Turn: m.Turn, Message: m.ID, Data: PlanInfo{shown.Plan}})
		}
	}
	for i := first + 1; i < len(to); i++ {
		to[i].at = to[i-1].past()
	}
	return to
}

// appendSplit appends an event, divided into several with at most maxChunk bytes if its text is long. Blocks of text are
// divided too; other blocks are not. An event without text is omitted unless it has a block of another type.
func appendSplit(to []Event, e Event) []Event {
	whole := e.Text
	switch {
	case e.Block != nil && e.Block.Type == history.BlockText:
		whole = e.Block.Text
	case e.Block != nil:
		return append(to, e)
	}
	if 0 < len(whole) && len(whole) <= maxChunk {
		return append(to, e)
	}
	for _, text := range clip.Chunks(whole, maxChunk) {
		part := e
		if e.Block != nil {
			block := *e.Block
			block.Text, part.Block = text, &block
		} else {
			part.Text = text
		}
		to = append(to, part)
	}
	return to
}
