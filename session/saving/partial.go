package saving

import (
	"time"

	"strata/history"
)

// The pace at which the text of a running reply is put on disk, after its first words, which are saved at once.
const (
	PartialEvery = 250 * time.Millisecond
	PartialBytes = 4 << 10
)

// Partial is the part of a running reply that is not on disk yet. At most one save is under way. The zero value is ready.
type Partial struct {
	chunks []history.Partial // waiting; adjacent text of one kind is one chunk
	bytes  int
	n      int  // next chunk's number
	begun  bool // a save was tried
	saving bool
	failed bool // the last save failed: the next one waits for its time
}

// Add adds text of a turn's reply. A chunk does not grow once a save of it was tried: it may be on disk although that failed.
func (p *Partial) Add(turn string, kind history.BlockType, text string) {
	p.bytes += len(text)
	last := len(p.chunks) - 1
	tried := (p.saving || p.failed) && last == 0
	if last >= 0 && p.chunks[last].Kind == kind && len(p.chunks[last].Text) < PartialBytes && !tried {
		p.chunks[last].Text += text
		return
	}
	p.chunks = append(p.chunks, history.Partial{Turn: turn, N: p.n, Kind: kind, Text: text})
	p.n++
}

// Saving reports whether a save is under way.
func (p *Partial) Saving() bool { return p.saving }

// Ready reports whether text waits and no save is under way.
func (p *Partial) Ready() bool { return !p.saving && len(p.chunks) > 0 }

// Urgent reports whether the text that waits is to be saved at once.
func (p *Partial) Urgent() bool { return !p.begun || p.bytes >= PartialBytes && !p.failed }

// Begin begins a save and returns the oldest chunk that waits; Ready must hold.
func (p *Partial) Begin() history.Partial {
	p.begun, p.saving = true, true
	return p.chunks[0]
}

// End ends a save. A chunk that could not be saved is saved again when it is time for the next one.
func (p *Partial) End(err error) {
	if p.saving, p.failed = false, err != nil; err == nil {
		p.bytes -= len(p.chunks[0].Text)
		p.chunks = p.chunks[1:]
	}
}

// Failed reports whether the last save failed.
func (p *Partial) Failed() bool { return p.failed }
