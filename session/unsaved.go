package session

import (
	"fmt"
	"log/slog"
	"time"

	"strata/session/events"
)

// How a result that could not be stored is stored later.
const (
	retryFirst    = 250 * time.Millisecond
	retryMax      = 10 * time.Second
	shutdownGrace = 5 * time.Second // of retries at shutdown, before the recovery file
)

// keepUnsaved keeps a result that could not be stored and retries until it is. Until then the session takes no prompt, so at
// most one is kept, and its size is limited by reply.MaxAnswer.
func (t *turns) keepUnsaved(e *ending, err error) {
	t.unsaved = e
	t.deps.Log.Error("result of a turn not stored, retrying",
		slog.String("session", t.id), slog.String("turn", e.turn.record.ID), slog.Any("error", err))
	t.emit(events.Event{Kind: events.SaveFailed, Turn: e.turn.record.ID, Data: events.SaveInfo{
		TurnID: e.turn.record.ID, Reason: t.deps.Host.Describe(fmt.Errorf("%w: %w", ErrStorage, err)).Message,
	}})
	t.mailbox.Spawn(func() { t.retrySave(e) })
}

// retrySave runs in a goroutine of its own until the result is stored, or written to the recovery file of a server that has
// to stop.
func (t *turns) retrySave(e *ending) {
	var grace <-chan time.Time
	stopping := t.stopping
	for wait := retryFirst; ; wait = min(2*wait, retryMax) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-stopping:
			timer.Stop()
			stopping, grace, wait = nil, time.After(shutdownGrace), retryFirst
		case <-grace:
			timer.Stop()
			t.toRecoveryFile(e)
			return
		}
		if err := t.deps.Store.Commit(t.mailbox.Context(), e.change); err == nil {
			t.dropRecoveryFile(e)
			t.tell(func() { t.savedLate(e) })
			return
		}
	}
}

// dropRecoveryFile removes the recovery file of a stored result: to store it again has no effect but that.
func (t *turns) dropRecoveryFile(e *ending) {
	if !e.kept {
		return
	}
	if _, err := t.deps.Host.Restore(t.mailbox.Context(), t.id); err != nil {
		t.deps.Log.Warn("recovery file not removed", slog.String("session", t.id), slog.Any("error", err))
	}
}

func (t *turns) toRecoveryFile(e *ending) {
	if err := t.deps.Host.Keep(e.change); err != nil {
		t.deps.Log.Error("result of a turn lost: neither the database nor the recovery file can be written",
			slog.String("session", t.id), slog.String("turn", e.turn.record.ID), slog.Any("error", err))
	}
	t.tell(func() {
		t.dropDeferred()
		t.unsaved = nil
		t.mailbox.CheckIdle()
	})
}

func (t *turns) savedLate(e *ending) {
	t.unsaved = nil
	t.saved(e)
	t.doDeferred()
	t.mailbox.CheckIdle()
}
