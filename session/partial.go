package session

import (
	"log/slog"
	"time"

	"strata/history"
)

// The pace at which the text of a running reply is put on disk, after its first words, which are saved at once.
const (
	partialEvery = 250 * time.Millisecond
	partialBytes = 4 << 10
)

// partial is the part of a running reply that is not on disk yet. At most one save is under way.
type partial struct {
	chunks []history.Partial // waiting; adjacent text of one kind is one chunk
	bytes  int
	n      int  // next chunk's number
	begun  bool // a save was tried
	saving bool
	failed bool // the last save failed: the next one waits for its time
	timer  *time.Timer
}

func (p *partial) stop() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// keepPartial notes text that is to be saved, and saves if there is enough of it. A chunk does not grow once a save of it
// was tried: it may be on disk although that failed.
func (t *turns) keepPartial(of *turn, kind history.BlockType, text string) {
	p := &of.partial
	if last := len(p.chunks) - 1; last >= 0 && p.chunks[last].Kind == kind && len(p.chunks[last].Text) < partialBytes && !((p.saving || p.failed) && last == 0) {
		p.chunks[last].Text += text
	} else {
		p.chunks = append(p.chunks, history.Partial{Turn: of.record.ID, N: p.n, Kind: kind, Text: text})
		p.n++
	}
	p.bytes += len(text)
	t.pacePartial(of)
}

// pacePartial saves now if enough waits, and otherwise in time.
func (t *turns) pacePartial(of *turn) {
	p := &of.partial
	switch {
	case p.saving || len(p.chunks) == 0 || of.outcome != nil:
	case !p.begun, p.bytes >= partialBytes && !p.failed:
		t.savePartial(of)
	case p.timer == nil:
		p.timer = time.AfterFunc(partialEvery, func() { t.tell(func() { t.partialDue(of) }) })
	}
}

func (t *turns) partialDue(of *turn) {
	of.partial.stop()
	if !of.partial.saving && len(of.partial.chunks) > 0 && of.outcome == nil {
		t.savePartial(of)
	}
}

// savePartial stores the oldest waiting chunk.
func (t *turns) savePartial(of *turn) {
	p := &of.partial
	p.stop()
	p.begun, p.saving = true, true
	chunk := p.chunks[0]
	t.mailbox.Spawn(func() {
		err := t.deps.Store.Commit(t.mailbox.Context(), history.Change{Session: t.id, Partial: &chunk})
		t.tell(func() { t.partialSaved(of, len(chunk.Text), err) })
	})
}

// partialSaved goes on after a save. A chunk that could not be saved is saved again when it is time for the next one.
func (t *turns) partialSaved(of *turn, size int, err error) {
	p := &of.partial
	p.saving = false
	if err == nil {
		p.chunks = p.chunks[1:]
		p.bytes -= size
	} else if of.outcome == nil && t.mailbox.Context().Err() == nil && !p.failed {
		t.deps.Log.Warn("partial reply not saved", slog.String("session", t.id), slog.String("turn", of.record.ID), slog.Any("error", err))
	}
	p.failed = err != nil
	if of.outcome != nil {
		t.finish(of)
		return
	}
	t.pacePartial(of)
}
