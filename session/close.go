package session

import (
	"fmt"
	"log/slog"
	"time"

	"strata/history"
)

// The reasons for which a session is closed, as its subscribers are told.
const (
	ReasonClosed   = "closed"
	ReasonDeleted  = "deleted"
	ReasonIdle     = "idle"
	ReasonShutdown = "shutdown"
)

// Close ends the session: it cancels what runs, stores its ending, tells the subscribers and calls then
// when all that it owned has ended. On ReasonShutdown a running turn is stored as interrupted, otherwise
// as cancelled. A session that is closing already calls then all the same.
func (s *Session) Close(reason string, then func()) {
	s.mailbox.Shut()
	if !s.mailbox.Tell(func() { s.close(reason, then) }, func(error) { s.whenDone(then) }) {
		s.whenDone(then)
	}
}

// whenDone calls then once the mailbox has ended. The goroutine lives for as long as that takes.
func (s *Session) whenDone(then func()) {
	go func() {
		<-s.done
		then()
	}()
}

func (s *Session) close(reason string, then func()) {
	if s.phase == ended {
		s.whenDone(then)
		return
	}
	s.onClose = append(s.onClose, then)
	if s.phase != live {
		return
	}
	s.phase = closing
	s.mailbox.Refuse()
	s.reason = reason
	close(s.stopping)
	s.deps.Changed(s.id, StateClosing)
	if t := s.turn; t != nil {
		t.stopped = reason == ReasonShutdown
		t.cancelled = !t.stopped
		t.cancel()
	}
	if s.compacting != nil {
		s.compacting.stopped = reason == ReasonShutdown
		s.compacting.cancel()
	}
	if reason == ReasonClosed {
		s.forgetBuffers()
	}
	s.endIfIdle()
}

// forgetBuffers makes the disk count again for the files that the client had not saved: closing a session
// gives its unsaved texts up.
func (s *Session) forgetBuffers() {
	if !s.context.hasBuffers() {
		return
	}
	failed := func(err error) {
		s.deps.Log.Error("unsaved texts of a closed session are still stored", slog.String("session", s.id), slog.Any("error", err))
	}
	s.enqueue(op{fail: failed, begin: func() (work, error) {
		s.context.forgetBuffers()
		put, drop := s.context.takeDirty()
		return s.store("give up unsaved texts", history.Change{PutFiles: put, DropFiles: drop}, func() {}), nil
	}})
}

// Unload closes the session if nothing needs it: no turn, no operation, no unsaved ending, no
// subscriber, no waiting request, and no use since the given time.
func (s *Session) Unload(since time.Time) {
	s.tell(func() {
		if s.idle() && s.active.Before(since) && s.events.Subscribers() == 0 && s.phase == live && s.mailbox.ShutIfEmpty() {
			s.close(ReasonIdle, func() {})
		}
	})
}

// idle reports whether the session waits for nothing.
func (s *Session) idle() bool {
	return s.turn == nil && s.unsaved == nil && s.compacting == nil && !s.mailbox.Busy()
}

// endIfIdle ends a closing session once it waits for nothing.
func (s *Session) endIfIdle() {
	if s.phase != closing || !s.idle() {
		return
	}
	s.phase = ended
	s.deps.Changed(s.id, StateClosed)
	s.emit(Event{Kind: EventClosed, Data: ClosedInfo{Reason: s.reason}})
	s.release(fmt.Errorf("session %s: %w", s.id, ErrClosed))
}

// abort ends a session that could not be loaded.
func (s *Session) abort(err error) {
	s.phase = ended
	s.release(err)
}

// release lets go of everything; jobs that still wait fail with err.
func (s *Session) release(err error) {
	s.events.Close()
	s.mailbox.End(err)
	for _, then := range s.onClose {
		s.whenDone(then)
	}
}

// How an ending that could not be stored is tried again.
const (
	retryFirst    = 250 * time.Millisecond
	retryMax      = 10 * time.Second
	shutdownGrace = 5 * time.Second // of retries at shutdown, before the recovery file
)

// keepUnsaved keeps an ending that could not be stored and tries again until it is. Until then the
// session takes no prompt, so at most one is kept, and its size is bounded by MaxAnswer.
func (s *Session) keepUnsaved(e *ending, err error) {
	s.unsaved = e
	s.deps.Log.Error("ending of a turn not saved, will be tried again",
		slog.String("session", s.id), slog.String("turn", e.turn.record.ID), slog.Any("error", err))
	s.emit(Event{Kind: EventSaveFailed, Turn: e.turn.record.ID, Data: SaveInfo{
		TurnID: e.turn.record.ID, Reason: s.deps.Describe(fmt.Errorf("%w: %w", ErrStorage, err)).Message,
	}})
	s.spawn(func() { s.retrySave(e) })
}

// retrySave runs in a goroutine of its own until the ending is stored, or put into the recovery file
// of a server that has to stop.
func (s *Session) retrySave(e *ending) {
	var grace <-chan time.Time
	stopping := s.stopping
	for wait := retryFirst; ; wait = min(2*wait, retryMax) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-stopping:
			timer.Stop()
			stopping, grace, wait = nil, time.After(shutdownGrace), retryFirst
		case <-grace:
			timer.Stop()
			s.recoverEnding(e)
			return
		}
		if err := s.deps.Store.Commit(s.ctx, e.change); err == nil {
			s.tell(func() { s.savedLate(e) })
			return
		}
	}
}

func (s *Session) recoverEnding(e *ending) {
	if err := s.deps.Recover(e.change); err != nil {
		s.deps.Log.Error("ending of a turn lost: neither the database nor the recovery file can be written",
			slog.String("session", s.id), slog.String("turn", e.turn.record.ID), slog.Any("error", err))
	}
	s.tell(func() {
		s.dropDeferred()
		s.unsaved = nil
		s.endIfIdle()
	})
}

// dropDeferred gives up what waits for an ending that this server does not store: that has its place in the transcript.
func (s *Session) dropDeferred() {
	waiting := s.deferred
	s.deferred = nil
	for _, d := range waiting {
		d.drop()
	}
	if s.compacting != nil {
		s.compacting.abandoned = true
	}
}

func (s *Session) savedLate(e *ending) {
	s.unsaved = nil
	s.saved(e)
	s.doDeferred()
	s.endIfIdle()
}
