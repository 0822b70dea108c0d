package finding

import (
	"cmp"
	"slices"
	"time"

	"strata/history"
	"strata/session/content"
	"strata/session/fit"
)

// message is what the view makes of a message.
type message struct {
	history.Visibility
	head  history.Head
	unit  []string      // of the messages that are arranged with it
	edit  *history.Edit // that led to its state; nil for none
	since time.Time
}

// messageOf returns what the view makes of a message. It belongs to the mailbox.
func messageOf(log *history.Log, id string) (message, error) {
	heads := log.Transcript()
	at := slices.IndexFunc(heads, func(h history.Head) bool { return h.ID == id })
	if at < 0 {
		return message{}, &UnknownError{ID: id}
	}
	m := message{head: heads[at], unit: log.Unit(id), Visibility: log.Visibility([]int64{heads[at].Seq})[0]}
	m.since = m.head.At
	removals := m.removals(log.Edits())
	for _, e := range slices.Backward(log.Edits()) {
		if m.InView && reverts(&e, removals) {
			m.since = e.At
			break
		}
		if m.ledBy(&e) {
			m.edit, m.since = &e, e.At
			break
		}
	}
	return m, nil
}

// removals returns the edits that removed the message from the view, as far as it was in view.
func (m *message) removals(edits []history.Edit) (all []*history.Edit) {
	for i := range edits {
		e := &edits[i]
		whole := e.Kind == history.EditClear || e.Kind == history.EditReplace
		if whole && e.Seq > m.head.Seq || !whole && !keeps(e.Kind) && slices.Contains(e.Messages, m.head.ID) {
			all = append(all, e)
		}
	}
	return all
}

// keeps reports whether edits of a kind leave their messages in view.
func keeps(kind history.EditKind) bool {
	return kind == history.EditKeep || kind == history.EditRelease || kind == history.EditUnanswered || kind == history.EditResult
}

// reverts reports whether a restore takes one of some edits back.
func reverts(e *history.Edit, edits []*history.Edit) bool {
	return e.Kind == history.EditRestore && slices.ContainsFunc(edits, func(was *history.Edit) bool {
		if e.Undoes != "" {
			return was.ID == e.Undoes
		}
		return was.Seq > e.To && was.Seq < e.Seq
	})
}

// ledBy reports whether an edit led to the state of the message. Edits are asked from the newest on.
func (m *message) ledBy(e *history.Edit) bool {
	switch {
	case m.Edit != "":
		return e.ID == m.Edit
	case !m.InView: // a restore left it behind
		return e.Kind == history.EditRestore && e.Undoes == "" && e.To < m.head.Seq && e.Seq > m.head.Seq
	case e.Kind == history.EditKeep:
		return m.Kept && slices.Contains(e.Messages, m.head.ID)
	}
	return len(m.Patches) > 0 && slices.ContainsFunc(e.Patches, func(p history.Patch) bool { return p.Message == m.head.ID })
}

// inConversation looks for a message of the conversation.
func (l *look) inConversation() Found {
	m := &l.message
	found := l.inItems(fit.MessagePrefix + m.head.ID)
	if found.State == NotIn {
		found = l.inItems(fit.MessagePrefix + m.unit[0]) // calls and their results are one item
	}
	found.Key, found.Kept, found.Since, found.Actions = fit.MessagePrefix+m.head.ID, m.Kept, m.since, m.actions()
	found.State, found.Rule = m.state()
	if m.edit != nil {
		found.EditID = m.edit.ID
	}
	found.Tokens = l.tokens()
	l.pending(&found)
	if found.State != Whole && found.State != Shortened {
		found.Tokens, found.Tier, found.Cached = 0, "", false
	}
	return found
}

// tokens returns those of the message in the view.
func (l *look) tokens() int {
	for i := range l.state.View {
		if l.state.View[i].ID == l.message.head.ID {
			return l.state.View[i].Tokens
		}
	}
	return 0
}

// pending adds what changes with the next request, because it would not fit otherwise.
func (l *look) pending(found *Found) {
	is := func(id string) bool { return id == l.message.head.ID }
	state, rule := State(""), ""
	switch c := &l.built.Changes; {
	case slices.ContainsFunc(c.Evict, func(v history.Viewed) bool { return is(v.ID) }):
		state, rule = Evicted, fit.ReasonBudget
	case slices.ContainsFunc(c.Truncate, func(p history.Patch) bool { return is(p.Message) }):
		state, rule = Shortened, fit.ReasonTruncated
	case slices.ContainsFunc(c.Dedupe, func(p history.Patch) bool { return is(p.Message) }):
		state, rule = Shortened, fit.ReasonDuplicate
	default:
		return
	}
	found.State, found.Rule, found.Next, found.Since, found.EditID = state, rule, true, time.Time{}, ""
}

// state returns how much of the message the view shows, and why.
func (m *message) state() (State, string) {
	switch {
	case m.InView && len(m.Patches) == 0:
		return Whole, ""
	case m.InView:
		last := m.Patches[len(m.Patches)-1]
		if last.Origin == fit.ReasonTruncated || content.IsPictureReason(last.Origin) {
			return Shortened, last.Origin
		}
		return Shortened, fit.ReasonDuplicate
	case m.Reason == history.HiddenSummarised:
		return Summarised, m.rule("compaction")
	case m.Reason == history.HiddenLeftOut:
		return Evicted, m.rule(fit.ReasonBudget)
	}
	return NotIn, string(m.Reason)
}

// rule returns the strategy of the compaction, or the reason of the edit, that removed the message.
func (m *message) rule(otherwise string) string {
	if m.edit == nil {
		return otherwise
	}
	if m.edit.Kind == history.EditCompact {
		return cmp.Or(m.edit.Strategy, otherwise)
	}
	return cmp.Or(m.edit.Reason, otherwise)
}

// actions returns what a user can do with the message. What a clear, a replace or a restore removed returns with its undo.
func (m *message) actions() []Action {
	switch returns := m.Reason == history.HiddenSummarised || m.Reason == history.HiddenLeftOut || m.Reason == history.HiddenTakenOut; {
	case m.InView && m.Kept:
		return []Action{Release, TakeOut}
	case m.InView:
		return []Action{Keep, TakeOut}
	case returns:
		return []Action{Keep}
	}
	return nil
}
