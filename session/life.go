package session

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"strata/history"
	"strata/session/choices"
	"strata/session/current"
	"strata/session/events"
	"strata/session/following"
	"strata/session/mailbox"
	"strata/session/saving"
)

// Done is closed when the session has ended and everything it owned has.
func (s *Session) Done() <-chan struct{} { return s.done }

// Closing reports whether the session takes no more requests.
func (s *Session) Closing() bool { return s.mailbox.IsShut() }

// main loads the session and starts its mailbox.
func (s *Session) main(prev *Session, load func(context.Context) (opening, error)) {
	if prev != nil {
		<-prev.done
	}
	err := s.deps.Host.Admit(s.mailbox.Context(), s.id, s.Epoch())
	var loaded opening
	if err == nil {
		loaded, err = load(s.mailbox.Context())
	}
	if err == nil {
		err = s.begin(loaded)
	}
	if err != nil {
		s.phase = ended
		s.release(err)
		s.over()
		return
	}
	s.mailbox.Start(s.over)
}

// over is the end of the session, after everything that it owned.
func (s *Session) over() {
	s.deps.Host.Ended(s.id, s.Epoch())
	close(s.done)
}

// begin adopts what was loaded. A new session looks at its folders while it is stored, and takes requests afterwards.
func (s *Session) begin(loaded opening) error {
	s.choices = choices.New(s.mailbox.UntilShut(), s.deps.choices(), loaded.Session)
	s.permits.Restore()
	damaged := func(err error) {
		if err != nil {
			s.choices.Notices = append(s.choices.Notices, "Some of this session's context could not be restored: "+err.Error())
		}
	}
	damaged(s.workspace.Restore(loaded.Files))
	s.OpenFolders()
	var err error
	s.context, err = current.New(s.deps.current(), &s.choices.Rules, loaded.Loaded, s.workspace)
	damaged(err)
	if len(loaded.kept) > 0 { // they are stored later, with their layouts
		s.context.Layout.Resend()
	}
	if loaded.stored != nil {
		if err := loaded.stored(); err != nil {
			return err
		}
	}
	ctx := s.mailbox.Context()
	e, err := s.unsettled(ctx, &loaded)
	failure := s.settle(ctx, e)
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return fmt.Errorf("load session %s: %w", s.id, err)
	}
	s.recoverCompaction(ctx, loaded.Compaction)
	s.events.Start(s.context.LastSeq())
	s.phase = live
	s.mailbox.Open()
	if failure != nil {
		s.keepUnsaved(e, failure)
	}
	s.deps.Host.Changed(s.id, following.Doing{State: following.StateIdle})
	return nil
}

// recoverCompaction ends a compaction that the last server left running.
func (s *Session) recoverCompaction(ctx context.Context, stored *history.Compaction) {
	end := s.compacting.Recover(stored, stored != nil && s.context.EditedSince(stored.Seq))
	if end == nil {
		return
	}
	if err := saving.Commit(ctx, s.deps.Store, history.Change{Session: s.id, Compaction: end}); err != nil {
		s.deps.Log.Warn("compaction not ended, the next load does it", slog.String("session", s.id), slog.Any("error", err))
	}
}

// The reasons for which a session is closed, for its subscribers.
const (
	ReasonClosed   = "closed"
	ReasonDeleted  = "deleted"
	ReasonIdle     = "idle"
	ReasonShutdown = "shutdown"
)

// Close ends the session: it cancels what runs, stores its result, tells the subscribers and calls then when everything that
// it owned has ended. On ReasonShutdown a running turn is stored as interrupted, otherwise as cancelled. A session that is
// closing already calls then too.
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
	s.changed()
	s.interrupt(reason == ReasonShutdown)
	s.compacting.Stop(reason == ReasonShutdown)
	if reason == ReasonClosed {
		s.forgetBuffers()
	}
	s.endIfIdle()
}

// forgetBuffers gives up the clients' unsaved texts: closing a session makes the disk count again.
func (s *Session) forgetBuffers() {
	if !s.workspace.HasBuffers() {
		return
	}
	failed := func(err error) {
		s.deps.Log.Error("unsaved texts of a closed session are still stored", slog.String("session", s.id), slog.Any("error", err))
	}
	s.mailbox.Enqueue(mailbox.Op{Fail: failed, Begin: func() (work, error) {
		s.workspace.ForgetBuffers()
		var change history.Change
		s.workspace.TakeDirty(&change)
		return s.store("give up unsaved texts", change, func() {}), nil
	}})
}

// Idle tells whether the session waits for nothing: no turn, no operation, no result that is not stored.
func (s *Session) Idle(reply func(bool, error)) {
	s.mailbox.Post(func() { reply(s.waitsForNothing(), nil) }, func(err error) { reply(true, err) })
}

// Unload closes the session if nothing needs it: no turn, no operation, no result that is not stored, no subscriber, no
// waiting request, and no use since the given time. It replies whether the session ends.
func (s *Session) Unload(since time.Time, reply func(bool)) {
	ended := func(error) { reply(true) }
	if !s.mailbox.Tell(func() {
		if s.waitsForNothing() && s.LastUsed().Before(since) && s.events.Subscribers() == 0 && s.phase == live &&
			s.deps.Host.Leave(s.id, s.Epoch(), s.mailbox.ShutIfEmpty) {
			s.close(ReasonIdle, func() {})
		}
		reply(s.phase > live)
	}, ended) {
		reply(true)
	}
}

func (s *Session) waitsForNothing() bool {
	return s.unfinished() == nil && !s.compacting.Running() && !s.mailbox.Busy()
}

// endIfIdle ends a closing session once it waits for nothing.
func (s *Session) endIfIdle() {
	if s.phase != closing || !s.waitsForNothing() {
		return
	}
	s.phase = ended
	s.deps.Host.Changed(s.id, following.Doing{State: following.StateClosed})
	s.emit(events.Event{Kind: events.Closed, Data: events.ClosedInfo{Reason: s.reason}})
	s.release(fmt.Errorf("session %s: %w", s.id, ErrClosed))
}

// release lets go of everything; requests that still wait fail with err.
func (s *Session) release(err error) {
	s.events.Close()
	s.turns.servers.Close()
	s.mailbox.End(err)
	for _, then := range s.onClose {
		s.whenDone(then)
	}
}

// tellInfo returns what there is to tell of the session.
func (s *Session) tellInfo() Info {
	c := s.choices
	i := Info{
		Session: c.Record, Config: c.Config(), Model: c.Model, State: s.doing(), Unsaved: s.unsaved != nil,
		Epoch: s.Epoch(), Seq: s.events.End(), Totals: s.context.Totals(), Messages: len(s.context.Transcript()),
		InView: len(s.context.View()), Tokens: s.historyTokens(), Files: s.workspace.Count(),
		Profiles: c.Profiles(), Phases: c.Profile.Phases, Notices: c.AllNotices(),
	}
	i.Session.Messages = i.Messages
	if s.running != nil {
		i.Running = s.running.record.ID
	}
	return i
}

// doing returns what the session is doing.
func (s *Session) doing() following.State {
	switch {
	case s.phase == closing:
		return following.StateClosing
	case s.running != nil:
		return following.StateRunning
	case s.compacting.Running():
		return following.StateCompacting
	}
	return following.StateIdle
}
