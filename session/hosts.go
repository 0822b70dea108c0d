package session

import (
	"context"

	"strata/history"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/content"
	"strata/session/events"
	"strata/session/mailbox"
	"strata/tokens"
)

// partHost is a session as those of its parts see it that answer clients: following, frontends, record and shelf.
type partHost struct {
	*core
	session *Session
}

func (h partHost) Choices() *choices.Choices { return h.choices }

func (h partHost) Context() *ContextManager { return h.context }

func (h partHost) Counter() *tokens.Counter { return h.counter() }

func (h partHost) Info() Info { return h.session.tellInfo() }

func (h partHost) Standing() events.Standing { return h.session.saidSoFar() }

func (h partHost) Unsaved() bool { return h.session.unsaved != nil }

func (h partHost) Compacts() string { return h.session.compacting.RunningID() }

func (h partHost) Running() string {
	if h.session.running == nil {
		return ""
	}
	return h.session.running.record.ID
}

func (h partHost) Busy() error {
	if h.session.running == nil {
		return nil
	}
	return &BusyError{TurnID: h.session.running.record.ID}
}

func (h partHost) CheckDocuments() error { return h.checkDocuments() }

func (h partHost) State() assembly.State { return h.state() }

func (h partHost) NextState() assembly.State { return h.session.nextState() }

func (h partHost) Number(messages []history.Message) []history.Message { return h.number(messages) }

func (h partHost) Measured(ctx context.Context, s *assembly.State, messages []history.Message) ([]content.Late, error) {
	return measured(ctx, s, messages)
}

func (h partHost) Answered(b *assembly.Built, change *history.Change) { h.answered(b, change) }

func (h partHost) TellProgress(m *history.Message) { h.tellProgress(m) }

func (h partHost) HistoryChanged(reason string) { h.historyChanged(reason) }

func (h partHost) Store(what string, change history.Change, then func()) mailbox.Work {
	return h.store(what, change, then)
}

func (h partHost) Subscribed() { h.session.subscriptions.ask() }

func (h partHost) Reconsider() { h.session.turns.asking.Reconsider() }

func (h partHost) DocumentChanged() {
	h.historyChanged("document")
	h.TellUsage()
}

func (h partHost) TellUsage() { h.session.accounts.TellUsage() }
