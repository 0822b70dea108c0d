package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
)

// Encoded keeps the beginning of the newest request of a conversation as it was encoded, up to its newest reply or step; if
// the thinking of the running turn is sent, up to its newest prompt, because later requests omit that thinking. The next
// request, which mostly begins with the same entries, then costs what is new. A request that begins otherwise, or goes to
// another model, is encoded as a whole. The bytes are the same in any case.
//
// It is safe for concurrent use; its lock is held while a request is encoded.
type Encoded struct {
	nothing bool   // is kept
	changed func() // is called after each request; nil for none

	size atomic.Int64 // bytes of kept

	mu   sync.Mutex
	kept beginning
}

// NewEncoded returns one that keeps nothing yet. It calls changed after each request, when Size may have changed.
func NewEncoded(changed func()) *Encoded { return &Encoded{changed: changed} }

// Size returns the approximate number of bytes that are kept, without the content of the entries. It does not block.
func (e *Encoded) Size() int { return int(e.size.Load()) }

// measure sets Size.
func (e *Encoded) measure() {
	const entry = 128 // bytes, with the place of its mark
	e.size.Store(int64(cap(e.kept.turns) + entry*cap(e.kept.entries)))
}

// Drop makes e keep nothing.
func (e *Encoded) Drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = beginning{}
	e.measure()
}

// form is what the bytes of turns depend on beside their entries.
type form struct {
	shape   shape
	dialect dialect
}

// changing returns the index of the entry after which entries can be sent in another way by a later request: the prompt of
// the running turn, or the last entry for none.
func (f form) changing(entries []Entry) int {
	if f.shape.thinking == ThinkingOfTurn {
		return runningTurn(entries)
	}
	return len(entries) - 1
}

// beginning is the encoded beginning of a request. It ends with a turn of the user that nothing can be added to, since the
// next entry begins a turn of the assistant.
type beginning struct {
	form    form
	entries []Entry // their marks do not matter
	ends    []place // by entry: where a mark at its end goes
	system  []*part // their marks do not matter
	turns   []byte  // JSON, without marks
	calls   calls
}

// beginningOf returns the kept beginning if a request begins with it, otherwise an empty one.
func (e *Encoded) beginningOf(entries []Entry, f form) *beginning {
	b := &e.kept
	n := len(b.entries)
	if b.form != f || len(entries) < n || f.changing(entries) < n-1 || !slices.EqualFunc(b.entries, entries[:n], sameEntry) {
		*b = beginning{form: f}
	}
	return b
}

// sameEntry reports whether entries have the same content: it never changes, so that the same memory has the same content.
func sameEntry(a, b Entry) bool {
	return a.Kind == b.Kind && a.Role == b.Role && a.Model == b.Model && len(a.Blocks) == len(b.Blocks) &&
		(len(a.Blocks) == 0 || &a.Blocks[0] == &b.Blocks[0])
}

// conversation lays out a request that begins with b.
func (b *beginning) conversation(entries []Entry, s shape) *conversation {
	c := &conversation{shape: s, calls: calls{before: &b.calls}}
	for _, p := range b.system {
		fresh := *p
		fresh.mark = MarkNone
		c.system = append(c.system, &fresh)
	}
	for i := range b.entries {
		last := i+1 == len(b.entries)
		if entries[i].Mark != MarkNone || last {
			c.marked = c.at(b.ends[i])
			c.mark(entries[i].Mark)
		}
	}
	slices.SortStableFunc(c.kept, func(p, q *part) int { return p.place.at - q.place.at })
	c.layOut(entries, len(b.entries))
	return c
}

// at returns the part of a kept beginning whose mark goes to a place, nil for none.
func (c *conversation) at(p place) *part {
	switch {
	case p.at < 0:
		return nil
	case p.system:
		return c.system[p.at]
	}
	if i := slices.IndexFunc(c.kept, func(q *part) bool { return q.place == p }); i >= 0 {
		return c.kept[i]
	}
	c.kept = append(c.kept, &part{place: p})
	return c.kept[len(c.kept)-1]
}

// encoding writes a request for one kind of API.
type encoding interface {
	// envelope returns the request without messages, as a value to encode.
	envelope() any
	// turn writes the messages of a turn, without marks, and sets the places of its parts.
	turn(w *writer, t *turn)
	// mark returns the JSON of a mark, which goes to the place of its part; empty for none.
	mark(m Mark) string
}

// body encodes a request. It uses the kept beginning and replaces it.
func (r *Request) body(m Model, kind Kind, d dialect, begin func(c *conversation, continued bool) encoding) ([]byte, error) {
	e := r.Encoded
	if e == nil {
		e = &Encoded{nothing: true}
	}
	if e.changed != nil {
		defer e.changed()
	}
	return e.body(r.Entries, form{shapeOf(*r, m, kind, d), d}, begin)
}

// body encodes a request. begin returns the encoding of the conversation; continued: after a kept beginning.
func (e *Encoded) body(entries []Entry, f form, begin func(c *conversation, continued bool) encoding) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.measure()
	b := e.beginningOf(entries, f)
	c := b.conversation(entries, f.shape)
	if c.joined {
		*b = beginning{form: f}
		c = b.conversation(entries, f.shape)
	}
	enc := begin(c, len(b.entries) > 0)
	keep := c.lastAnswer(f.changing(entries))
	if e.nothing {
		keep = 0
	}
	envelope, kept := newWriter(nil, f.shape.sealed), newWriter(b.turns, f.shape.sealed)
	envelope.value(enc.envelope())
	kept.turns(enc, c.turns[:keep])
	before, after, _ := bytes.Cut(envelope.out, []byte(noMessages))
	out := make([]byte, 0, len(envelope.out)+len(kept.out)+size(c.turns[keep:])+maxMarks*maxMarkBytes)
	out = append(append(out, before...), noMessages[:len(noMessages)-1]...)
	out = withMarkBytes(out, kept.out, slices.Concat(withMarks(c.kept), markedIn(c.turns[:keep])), enc)
	rest := newWriter(out, f.shape.sealed)
	rest.turns(enc, c.turns[keep:])
	if err := cmp.Or(kept.err, rest.err, envelope.err); err != nil {
		*b = beginning{}
		return nil, err
	}
	b.extend(c, entries, c.turns[:keep], kept.out)
	out = rest.out
	for _, p := range slices.Backward(markedIn(c.turns[keep:])) {
		out = slices.Insert(out, p.place.at, []byte(enc.mark(p.mark))...)
	}
	return append(append(out, ']'), after...), nil
}

// noMessages is the member of an envelope that the messages replace. Only numbers are before it.
const noMessages = `"messages":[]`

// lastAnswer returns the index of the last turn of the assistant that begins with an entry and has nothing before it that
// comes after the entry with the given index; 0 for none. It is not the first reply of a conversation that begins with one:
// the turn before that is there because of it.
func (c *conversation) lastAnswer(last int) int {
	for i := len(c.turns) - 1; i > 0; i-- {
		if i == 1 && c.turns[0].entry < 0 {
			break
		}
		if t := c.turns[i]; t.assistant && t.entry > 0 && t.entry <= last+1 {
			return i
		}
	}
	return 0
}

// extend adds turns of c to the beginning: those before the one at their end. turns is the JSON of all of them.
func (b *beginning) extend(c *conversation, entries []Entry, added []*turn, turns []byte) {
	if len(added) == 0 {
		return
	}
	from, end := len(b.entries), c.turns[len(added)].entry
	if from == 0 {
		b.system = c.system
	}
	b.entries = append(b.entries, entries[from:end]...)
	for _, p := range c.ends[:end-from] {
		if p == nil {
			b.ends = append(b.ends, place{at: -1})
		} else {
			b.ends = append(b.ends, p.place)
		}
	}
	for _, t := range added {
		b.calls.add(&t.calls)
	}
	b.turns = turns
}

// writer writes JSON. The values of a list are separated by commas.
type writer struct {
	out []byte
	err error // the first one
	enc *json.Encoder
}

// newWriter returns a writer that appends to out. html: the characters of HTML are escaped.
func newWriter(out []byte, html bool) *writer {
	w := &writer{out: out}
	w.enc = json.NewEncoder(w)
	w.enc.SetEscapeHTML(html)
	return w
}

// Write implements io.Writer for the encoder.
func (w *writer) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

func (w *writer) turns(enc encoding, turns []*turn) {
	if cap(w.out) == 0 {
		w.out = make([]byte, 0, size(turns))
	}
	for _, t := range turns {
		enc.turn(w, t)
	}
}

// text writes JSON as it is.
func (w *writer) text(s string) { w.out = append(w.out, s...) }

// comma writes a comma unless the next value is the first one.
func (w *writer) comma() {
	if n := len(w.out); n > 0 && w.out[n-1] != '[' {
		w.out = append(w.out, ',')
	}
}

// value writes a value.
func (w *writer) value(v any) {
	w.err = cmp.Or(w.err, w.enc.Encode(v))
	w.out = bytes.TrimSuffix(w.out, []byte("\n"))
}

// size returns about how many bytes turns have as JSON.
func size(turns []*turn) int {
	n := 0
	for _, t := range turns {
		for _, p := range t.parts {
			n += 64 + escaped(p.text)
			if p.block != nil {
				n += escaped(p.block.Text) + escaped(p.block.Args) + len(p.block.Data)*4/3
			}
			for _, c := range p.content {
				n += 64 + escaped(c.text)
			}
		}
	}
	return n
}

// escaped returns about how many bytes a text has as JSON. If it is too low for a result, the whole request is copied again.
func escaped(text string) int { return len(text) + len(text)/8 }

// maxMarkBytes limits the JSON of a mark.
const maxMarkBytes = 64

// withMarkBytes appends JSON with the marks of its parts, which are in order.
func withMarkBytes(out, json []byte, marked []*part, enc encoding) []byte {
	done := 0
	for _, p := range marked {
		if mark := enc.mark(p.mark); mark != "" {
			out = append(append(out, json[done:p.place.at]...), mark...)
			done = p.place.at
		}
	}
	return append(out, json[done:]...)
}
