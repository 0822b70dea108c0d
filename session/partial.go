package session

import (
	"log/slog"
	"time"

	"strata/history"
)

// The pace at which the text of a running answer is put on disk.
const (
	partialEvery = 250 * time.Millisecond
	partialBytes = 4 << 10
)

// partial is the part of a running answer that is not on disk yet. At most one save is under way.
type partial struct {
	pieces []history.Partial // waiting; adjacent text of one kind is one piece
	bytes  int
	n      int // next piece's number
	saving bool
	failed bool // the last save did: the next one waits for its time
	timer  *time.Timer
}

func (p *partial) stop() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// keepPartial notes text that is to be saved, and saves when there is enough of it or time is up.
func (s *Session) keepPartial(t *turn, kind history.BlockType, text string) {
	p := &t.partial
	if last := len(p.pieces) - 1; last >= 0 && p.pieces[last].Kind == kind && len(p.pieces[last].Text) < partialBytes && !(p.saving && last == 0) {
		p.pieces[last].Text += text
	} else {
		p.pieces = append(p.pieces, history.Partial{Turn: t.record.ID, N: p.n, Kind: kind, Text: text})
		p.n++
	}
	p.bytes += len(text)
	s.pacePartial(t)
}

// pacePartial saves now if enough waits, and sees to it that it is saved in time otherwise.
func (s *Session) pacePartial(t *turn) {
	p := &t.partial
	switch {
	case p.saving || len(p.pieces) == 0 || t.outcome != nil:
	case p.bytes >= partialBytes && !p.failed:
		s.savePartial(t)
	case p.timer == nil:
		p.timer = time.AfterFunc(partialEvery, func() { s.tell(func() { s.partialDue(t) }) })
	}
}

func (s *Session) partialDue(t *turn) {
	t.partial.stop()
	if !t.partial.saving && len(t.partial.pieces) > 0 && t.outcome == nil {
		s.savePartial(t)
	}
}

// savePartial stores the oldest waiting piece.
func (s *Session) savePartial(t *turn) {
	p := &t.partial
	p.stop()
	p.saving = true
	piece := p.pieces[0]
	s.spawn(func() {
		err := s.deps.Store.Commit(s.ctx, history.Change{Session: s.id, Partial: &piece})
		s.tell(func() { s.partialSaved(t, len(piece.Text), err) })
	})
}

// partialSaved goes on after a save. Text whose save failed stays and is tried again when it is time for the next.
func (s *Session) partialSaved(t *turn, size int, err error) {
	p := &t.partial
	p.saving = false
	if err == nil {
		p.pieces = p.pieces[1:]
		p.bytes -= size
	} else if t.outcome == nil && s.ctx.Err() == nil && !p.failed {
		s.deps.Log.Warn("partial answer not saved", slog.String("session", s.id), slog.String("turn", t.record.ID), slog.Any("error", err))
	}
	p.failed = err != nil
	if t.outcome != nil {
		s.finish(t)
		return
	}
	s.pacePartial(t)
}
