package session

import (
	"context"

	"strata/history"
	"strata/session/accounts"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/events"
	"strata/session/mailbox"
	"strata/session/outlines"
	"strata/session/servers"
	"strata/session/workspace"
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

func (h partHost) Unsaved() *history.Turn {
	if h.session.unsaved == nil {
		return nil
	}
	return &h.session.unsaved.turn.record
}

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

func (h partHost) Arranged(edit history.Edit) { h.session.edits.applied(edit, "arranged", func() {}) }

func (h partHost) Subscribed() { h.session.subscriptions.ask() }

func (h partHost) Reconsider() { h.session.turns.asking.Reconsider() }

func (h partHost) FoldersChanged() { h.session.turns.servers.Moved() }

func (h partHost) DocumentChanged() {
	h.historyChanged("document")
	h.TellUsage()
}

func (h partHost) TellUsage() { h.session.accounts.TellUsage() }

// serversHost is a session as its MCP servers see it.
type serversHost struct{ session *Session }

// services returns the services for MCP servers, which need tools to be on.
func (h serversHost) services() servers.Services {
	s := servers.Services{Place: h.place, Notify: h.session.notify}
	if deps := h.session.deps; deps.Tools.Enabled {
		s.Directory = deps.Servers
	}
	return s
}

// place returns where the session works.
func (h serversHost) place() (servers.Place, bool) {
	record := &h.session.choices.Record
	return servers.Place{Folder: record.CWD, Roots: record.Roots}, h.session.workspace.DiskRoots() != nil
}

// workspaceHost is a session as its workspace sees it.
type workspaceHost struct{ *core }

func (h workspaceHost) Store(what string, change history.Change, then func()) mailbox.Work {
	return h.store(what, change, then)
}

func (h workspaceHost) Counter() *tokens.Counter { return h.counter() }

func (h workspaceHost) Used() { h.used() }

func (h workspaceHost) Outlined() []outlines.Shown { return h.context.Layout.Outlined() }

func (h workspaceHost) Shown() workspace.Shown { return h.state() }

// accountsHost is a session as its accounts see it.
type accountsHost struct {
	*core
	session *Session
}

func (h accountsHost) Next() (assembly.State, compacting.Rules) {
	return h.session.nextState(), h.compactionRules()
}

func (h accountsHost) Spent() (history.Totals, history.Call) {
	return h.context.Totals(), h.context.Last
}

func (h accountsHost) Edits() []history.Edit { return h.context.Log.Edits() }

func (h accountsHost) Title() string { return h.choices.Record.Title }

// requestsHost is a session as its requests see it.
type requestsHost struct{ *core }

func (h requestsHost) Context() *ContextManager { return h.context }

func (h requestsHost) Choices() *choices.Choices { return h.choices }

func (h requestsHost) CompactionRules() compacting.Rules { return h.compactionRules() }

func (h requestsHost) HistoryChanged(reason string) { h.historyChanged(reason) }

// compactionHost is a session as the driver of its compactions sees it.
type compactionHost struct {
	*core
	turns    *turns
	accounts *accounts.Accounts
}

func (h compactionHost) State() assembly.State { return h.state() }

func (h compactionHost) CompactionRules() compacting.Rules { return h.compactionRules() }

func (h compactionHost) Position() int64 { return h.context.LastSeq() }

func (h compactionHost) Edits() []history.Edit { return h.context.Log.Edits() }

func (h compactionHost) TokensWith(edit history.Edit) int { return h.context.Log.TokensWith(edit) }

func (h compactionHost) Unfinished() bool { return h.turns.unfinished() != nil }

func (h compactionHost) AfterTurn(do, drop func()) {
	h.turns.deferred = append(h.turns.deferred, deferral{do: do, drop: drop})
}

func (h compactionHost) Change(what string, begin func() (history.Change, error), then func(), fail func(error)) {
	h.mailbox.Enqueue(mailbox.Op{Fail: fail, Begin: func() (work, error) {
		change, err := begin()
		if err != nil {
			return nil, err
		}
		return h.store(what, change, func() {
			h.edited(&change)
			then()
		}), nil
	}})
}

func (h compactionHost) HistoryChanged(reason string) {
	h.historyChanged(reason)
	h.accounts.TellUsage()
}

func (h compactionHost) Ranges(edit *history.Edit) []history.Range {
	return h.context.Log.Ranges([]history.Edit{*edit})[0]
}

func (h compactionHost) StateChanged() { h.changed() }
