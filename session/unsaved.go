package session

import (
	"fmt"
	"log/slog"

	"strata/session/events"
	"strata/session/saving"
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
	if !saving.Later(t.mailbox.Context(), t.deps.Store, e.change, t.stopping) {
		t.toRecoveryFile(e)
		return
	}
	t.dropRecoveryFile(e)
	t.tell(func() { t.savedLate(e) })
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
