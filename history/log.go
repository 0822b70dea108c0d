package history

import "slices"

// Log is a session's transcript, as heads, and the edits made to its view.
// It holds no content: the bodies of messages stay in the store.
//
// A Log is not safe for concurrent use.
type Log struct {
	heads []Head
	edits []Edit
	start int // index in heads of the first message that a clear left in the view
}

// NewLog folds stored heads and edits, each in the order of their sequence numbers.
func NewLog(heads []Head, edits []Edit) *Log {
	l := &Log{heads: heads}
	for _, e := range edits {
		l.Apply(e)
	}
	return l
}

// Append adds messages at the end of the transcript and of the view.
func (l *Log) Append(heads ...Head) { l.heads = append(l.heads, heads...) }

// Apply makes an edit take effect on the view.
func (l *Log) Apply(e Edit) {
	l.edits = append(l.edits, e)
	if e.Kind == EditClear {
		l.start = l.after(e.Seq)
	}
}

// after returns the index of the first head behind seq.
func (l *Log) after(seq int64) int {
	i, _ := slices.BinarySearchFunc(l.heads, seq+1, func(h Head, seq int64) int { return int(h.Seq - seq) })
	return i
}

// Transcript returns all messages ever appended. The slice is the log's own: it must not be changed,
// and stays valid after later appends.
func (l *Log) Transcript() []Head { return l.heads[:len(l.heads):len(l.heads)] }

// View returns the messages of the working history, in order. The slice must not be changed.
func (l *Log) View() []Head { return l.heads[l.start:len(l.heads):len(l.heads)] }

// Edits returns all edits, in order. The slice must not be changed.
func (l *Log) Edits() []Edit { return l.edits[:len(l.edits):len(l.edits)] }

// InView reports whether the message with the given sequence number is part of the working history.
func (l *Log) InView(seq int64) bool {
	return l.start < len(l.heads) && seq >= l.heads[l.start].Seq
}

// Tokens returns the tokens of the working history.
func (l *Log) Tokens() int {
	sum := 0
	for _, h := range l.View() {
		sum += h.Tokens
	}
	return sum
}

// LastSeq returns the highest sequence number of a message or an edit, 0 for an empty session.
func (l *Log) LastSeq() int64 {
	last := int64(0)
	if n := len(l.heads); n > 0 {
		last = l.heads[n-1].Seq
	}
	if n := len(l.edits); n > 0 {
		last = max(last, l.edits[n-1].Seq)
	}
	return last
}
