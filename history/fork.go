package history

// UpTo returns the messages and edits up to a sequence number, whose fold is the working history after it.
// The slices are the log's own: they must not be changed, and stay valid after later appends and edits.
func (l *Log) UpTo(seq int64) ([]Head, []Edit) {
	h, e := l.before(seq)
	return l.heads[: h+1 : h+1], l.edits[: e+1 : e+1]
}

// WithIDs returns a message of another session: with ids that own makes of those that it has.
func (m Message) WithIDs(own func(id string) string) Message {
	m.ID, m.Turn = own(m.ID), own(m.Turn)
	return m
}

// WithIDs returns an edit of another session: with ids that own makes of those that it has and names. e is
// not changed.
func (e Edit) WithIDs(own func(id string) string) Edit {
	e.ID, e.Undoes = own(e.ID), own(e.Undoes)
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
