package session

import (
	"log/slog"
	"time"

	"strata/history"
	"strata/session/saving"
)

// partial is the text of a running reply that is not on disk yet, with the timer of its next save.
type partial struct {
	saving.Partial
	timer *time.Timer
}

func (p *partial) stop() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// keepPartial notes text that is to be saved, and saves if there is enough of it.
func (t *turns) keepPartial(of *turn, kind history.BlockType, text string) {
	of.partial.Add(of.record.ID, kind, text)
	t.pacePartial(of)
}

// pacePartial saves now if enough waits, and otherwise in time.
func (t *turns) pacePartial(of *turn) {
	p := &of.partial
	switch {
	case !p.Ready() || of.outcome != nil:
	case p.Urgent():
		t.savePartial(of)
	case p.timer == nil:
		p.timer = time.AfterFunc(saving.PartialEvery, func() { t.tell(func() { t.partialDue(of) }) })
	}
}

func (t *turns) partialDue(of *turn) {
	of.partial.stop()
	if of.partial.Ready() && of.outcome == nil {
		t.savePartial(of)
	}
}

// savePartial stores the oldest waiting chunk.
func (t *turns) savePartial(of *turn) {
	of.partial.stop()
	chunk := of.partial.Begin()
	t.mailbox.Spawn(func() {
		err := t.deps.Store.Commit(t.mailbox.Context(), history.Change{Session: t.id, Partial: &chunk})
		t.tell(func() { t.partialSaved(of, err) })
	})
}

// partialSaved goes on after a save.
func (t *turns) partialSaved(of *turn, err error) {
	if err != nil && of.outcome == nil && t.mailbox.Context().Err() == nil && !of.partial.Failed() {
		t.deps.Log.Warn("partial reply not saved", slog.String("session", t.id), slog.String("turn", of.record.ID), slog.Any("error", err))
	}
	if of.partial.End(err); of.outcome != nil {
		t.finish(of)
		return
	}
	t.pacePartial(of)
}
