package history

// UpTo returns the messages and edits up to a sequence number; folded, they give the working history at that point. They
// include the note that the last of the messages has no reply.
// The slices are shared: they must not be modified, and remain valid after later appends and edits.
func (l *Log) UpTo(seq int64) ([]Head, []Edit) {
	h, e := l.before(seq)
	if e+1 < len(l.edits) && h >= 0 && l.edits[e+1].ID == l.unanswered[l.heads[h].ID] {
		e++
	}
	return l.heads[: h+1 : h+1], l.edits[: e+1 : e+1]
}

// WithIDs returns a copy of m for another session. own maps ids.
func (m Message) WithIDs(own func(id string) string) Message {
	m.ID, m.Turn = own(m.ID), own(m.Turn)
	return m
}

// WithIDs returns a copy of e for another session. own maps its id and the ids to which it refers. It does not modify e.
func (e Edit) WithIDs(own func(id string) string) Edit {
	e.ID, e.Undoes, e.CallsMessage = own(e.ID), own(e.Undoes), own(e.CallsMessage)
	messages, patches := e.Messages, e.Patches
	e.Messages, e.Patches = nil, nil
	for _, id := range messages {
		e.Messages = append(e.Messages, own(id))
	}
	for _, p := range patches {
		p.Message = own(p.Message)
		e.Patches = append(e.Patches, p)
	}
	return e
}
