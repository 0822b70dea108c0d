package reply

import (
	"io"
	"strings"
)

// maxHeld bounds the text of several deltas that is told as one event, in bytes.
const maxHeld = 16 << 10

// held is text that was not told yet, since more of it may be joined to it. It waits only for events that have arrived:
// it is told before the network is read.
type held struct {
	reading bool // the answer is read from a heldReader
	kind    EventKind
	texts   []string // of kind, adjacent
	size    int      // of texts, in bytes
}

// tellText emits text or thinking: at once, or joined with text that has arrived after it.
func (a *Answer) tellText(kind EventKind, text string) {
	h := &a.held
	if kind != h.kind || h.size+len(text) > maxHeld {
		a.tellHeld()
	}
	a.Shown = true
	h.kind = kind
	h.texts = append(h.texts, text)
	h.size += len(text)
	if !h.reading {
		a.tellHeld()
	}
}

// tellHeld emits the held text.
func (a *Answer) tellHeld() {
	h := &a.held
	if h.size == 0 {
		return
	}
	e := Event{Kind: h.kind, Text: strings.Join(h.texts, "")}
	clear(h.texts)
	h.texts, h.size = h.texts[:0], 0
	a.On(e)
}

// heldReader emits the held text of an answer before each read, because a read may take any time.
type heldReader struct {
	io.Reader
	answer *Answer
}

func (r heldReader) Read(p []byte) (int, error) {
	r.answer.tellHeld()
	return r.Reader.Read(p)
}
