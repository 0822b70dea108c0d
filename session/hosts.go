package session

import (
	"strata/history"
	"strata/session/choices"
	"strata/session/events"
	"strata/session/mailbox"
	"strata/tokens"
)

// partHost is a session as those of its parts see it that answer clients: following, record and shelf.
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
