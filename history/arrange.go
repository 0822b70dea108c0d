package history

import "slices"

// Arranges reports whether a user arranges single messages of the view by edits of a kind.
func (k EditKind) Arranges() bool { return k == EditKeep || k == EditRelease || k == EditTakeOut }

// OriginCut is the origin of patches that truncate a block so that a request fits.
const OriginCut = "cut_to_fit"

// arrange applies an edit by which a user arranges messages. It ignores messages that the newest clear or replace removed.
func (f *fold) arrange(e *Edit) {
	f.undoable = append(f.undoable[:len(f.undoable):len(f.undoable)], e.ID)
	for _, id := range e.Messages {
		i, here := f.index[id]
		if !here {
			continue
		}
		f.messages[i].Kept = e.Kind == EditKeep
		switch e.Kind {
		case EditKeep:
			f.comeBack(i)
		case EditTakeOut:
			f.takeOut(i)
		}
	}
}

// takeOut removes message i. If it was evicted, it does not return with the other evicted messages.
func (f *fold) takeOut(i int) {
	if !f.gone[i] {
		f.remove(i)
		f.omitted++
		return
	}
	f.evicted = slices.DeleteFunc(slices.Clone(f.evicted), func(h Head) bool { return h.ID == f.messages[i].ID })
}

// comeBack returns message i to the view, whole, unless the view contains it.
func (f *fold) comeBack(i int) {
	m := &f.messages[i]
	m.Patches = slices.DeleteFunc(slices.Clone(m.Patches), func(p Patch) bool { return p.Origin == OriginCut })
	m.Tokens = f.whole[i]
	for _, p := range m.Patches {
		m.Tokens = max(m.Tokens-p.Saved, 0)
	}
	if !f.gone[i] {
		return
	}
	f.gone[i] = false
	f.link(i, f.placeOf(i))
	if f.summarised[i] {
		delete(f.summarised, i)
		f.summary.Messages = max(f.summary.Messages-1, 0)
		if m.Role == RoleUser {
			f.summary.Exchanges = max(f.summary.Exchanges-1, 0)
		}
		return
	}
	f.evicted = slices.DeleteFunc(slices.Clone(f.evicted), func(h Head) bool { return h.ID == m.ID })
	f.omitted = max(f.omitted-1, 0)
}

// placeOf returns the message after which message i, which is not in the view, returns; -1 for the start. A late result
// returns to the place after its calls.
func (f *fold) placeOf(i int) int {
	after, late := f.late[i]
	if !late || f.gone[after] {
		for after = i - 1; after >= 0; after-- {
			if _, moved := f.late[after]; !moved && !f.gone[after] {
				break
			}
		}
	}
	if after < 0 {
		return after
	}
	for next := f.next[after]; next >= 0; next = f.next[after] {
		if _, moved := f.late[next]; !moved && !(late && f.messages[next].Role == RoleTool) {
			break
		}
		after = next
	}
	return after
}

// summarises notes the messages that the summary of an edit replaces.
func (f *fold) summarises(e *Edit) {
	if e.Summary == "" {
		return
	}
	for _, id := range e.Messages {
		if i, here := f.index[id]; here && f.gone[i] {
			f.summarised[i] = true
		}
	}
}

// Unit returns the ids of the messages that are arranged together with a message: tool calls and their results. It is empty
// if the transcript does not contain the message.
func (l *Log) Unit(id string) []string {
	at := slices.IndexFunc(l.heads, func(h Head) bool { return h.ID == id })
	if at < 0 {
		return nil
	}
	calls := l.callsOf(at)
	if calls < 0 {
		return []string{id}
	}
	unit := []string{l.heads[calls].ID}
	for i := calls + 1; i < len(l.heads) && l.heads[i].Role == RoleTool; i++ {
		unit = append(unit, l.heads[i].ID)
	}
	for i := range l.edits {
		if e := &l.edits[i]; e.Kind == EditResult && e.CallsMessage == unit[0] {
			for _, late := range e.Messages {
				if !slices.Contains(unit, late) {
					unit = append(unit, late)
				}
			}
		}
	}
	return unit
}

// callsOf returns the index of the message with the calls to which a message belongs, -1 for none.
func (l *Log) callsOf(at int) int {
	for i := range l.edits {
		if e := &l.edits[i]; e.Kind == EditResult && slices.Contains(e.Messages, l.heads[at].ID) {
			return slices.IndexFunc(l.heads, func(h Head) bool { return h.ID == e.CallsMessage })
		}
	}
	for at > 0 && l.heads[at].Role == RoleTool {
		at--
	}
	if l.heads[at].HasCalls {
		return at
	}
	return -1
}
